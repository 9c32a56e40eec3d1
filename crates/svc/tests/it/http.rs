//! The HTTP listener: host names, proxies, slow connections, expensive requests.

mod compute;
mod connections;
mod empty_posts;
mod hosts;
mod openapi;
mod proxies;

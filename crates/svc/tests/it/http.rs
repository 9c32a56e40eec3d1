//! The HTTP listener: host names, proxies, slow connections, expensive requests.

mod compute;
mod connections;
mod empty_posts;
mod hosts;
mod messages;
mod openapi;
mod proxies;

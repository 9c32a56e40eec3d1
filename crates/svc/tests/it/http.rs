//! The HTTP listener: host names, proxies, slow connections, expensive requests.

mod compute;
mod connections;
mod hosts;
mod messages;
mod proxies;

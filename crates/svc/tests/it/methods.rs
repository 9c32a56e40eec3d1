//! Published methods (spec 2.1, 4.1): registration, visibility, targets, method servers.

mod documents;
mod method_server;
mod paging;
mod publishing;
pub mod registration;
mod replacement;
mod serial_mode;
mod targets;
mod visibility;

//! The web interface, `web/app`, inside the binary: a table of its files, made when this crate is
//! built. A crate of its own, above the server, so that a change to a page rebuilds nothing else.

use svc_server::web::WebFile;

/// Every file, by path.
pub const FILES: &[WebFile] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

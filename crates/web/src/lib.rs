//! The files of the web interface, `web/app`, as a table inside the binary. `build.rs` writes the
//! table. This is a separate crate, so that a change to a page rebuilds only this crate and the
//! binary.

use svc_server::web::WebFile;

/// Every file, by path.
pub const FILES: &[WebFile] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The version of all files together. It is the first folder of their addresses below `/web`.
pub const VERSION: &str = include!(concat!(env!("OUT_DIR"), "/version.rs"));

// The bundler runs in the build; its tests run with the tests of this crate.
#[cfg(test)]
#[path = "../build/bundle.rs"]
mod bundle;
#[cfg(test)]
#[path = "../build/first_load.rs"]
mod first_load;
#[cfg(test)]
#[path = "../build/mask.rs"]
mod mask;
#[cfg(test)]
#[path = "../build/module.rs"]
mod module;

//! The files and the API that a server offers to its web interface. `tests/web` runs the interface
//! in a browser.

mod files;
mod pages_api;
mod parse;

//! The form of the data that crosses a process boundary: JSON-RPC, HTTP bodies, the registration
//! file. Rules are in `svc-core`, the frames between agent and server in `svc-link`.

pub mod agent_api;
pub mod api;
pub mod document;
pub mod env;
pub mod jsonrpc;
pub mod problem;
pub mod registration_file;

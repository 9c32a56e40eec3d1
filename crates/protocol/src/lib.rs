//! What crosses a process boundary, and only its form: JSON-RPC, HTTP bodies, the registration
//! file, the frames of the link between agent and server. Rules stand in `svc-core`.

pub mod agent_api;
pub mod api;
pub mod env;
pub mod jsonrpc;
pub mod link;
pub mod problem;
pub mod registration_file;

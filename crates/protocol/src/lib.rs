//! The form of the data that crosses a process boundary: JSON-RPC, MCP, HTTP bodies and heads,
//! the registration file, the frames of script workers. Rules are in `svc-core`. The frames between
//! agent and server are in `svc-link`.

pub mod agent_api;
pub mod api;
pub mod document;
pub mod env;
pub mod http_answer;
pub mod http_head;
pub mod jsonrpc;
pub mod mcp;
pub mod problem;
pub mod registration_file;
pub mod worker;

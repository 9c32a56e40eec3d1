//! Methods: which space offers which method (`registry`), which methods a caller sees
//! (`discovery`), and the routing of calls and answers (`calls`).

pub mod calls;
pub mod discovery;
pub mod ended_call;
pub mod openrpc;
pub mod provider;
pub mod publish;
pub mod registry;

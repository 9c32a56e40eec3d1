//! Spaces as users manage them: records, templates, agent tokens, and the agents that the server
//! runs itself. State transitions are in `lifecycle`.

mod access;
mod agent_tokens;
mod failing;
pub mod local;
mod logs_elsewhere;
mod owners;
mod record;
mod service;
pub mod templates;

pub use logs_elsewhere::LogsElsewhere;
pub use service::Spaces;

//! Spaces: their records, their lifecycle, and the agents the server runs itself.

mod access;
mod agent_tokens;
pub mod announce;
mod error;
pub mod lifecycle;
pub mod local;
pub mod logs;
mod owners;
mod record;
mod service;
pub mod templates;

pub use error::SpaceError;
pub use service::Spaces;

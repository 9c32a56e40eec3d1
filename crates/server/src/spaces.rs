//! Spaces: their records, their lifecycle, and the agents the server runs itself.

mod agent_tokens;
pub mod announce;
pub mod lifecycle;
pub mod local;
pub mod logs;
mod service;
pub mod templates;

pub use service::{SpaceError, Spaces};

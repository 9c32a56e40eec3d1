//! Spaces: their records, their lifecycle, and the agents the server runs itself.

mod access;
mod agent_tokens;
mod error;
pub mod local;
mod owners;
mod record;
mod service;
pub mod templates;

pub use error::SpaceError;
pub use service::Spaces;

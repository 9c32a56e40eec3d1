//! The sources and the tool scripts of all users in memory, and the activity of the sources. The tables
//! know no users: `identity::Memory` reads them again after each change.

mod activity;
mod sources;
mod tools;

pub use self::{
    sources::{KnownSource, SourceTable},
    tools::{ScriptTool, ToolTable},
};

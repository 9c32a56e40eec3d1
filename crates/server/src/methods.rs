//! Methods: who offers what (registry), what a caller sees of it (discovery), and getting a call
//! to a provider and its answer back (calls).

pub mod calls;
pub mod discovery;
pub mod openrpc;
pub mod provider;
pub mod publish;
pub mod registry;

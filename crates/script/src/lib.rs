//! The embedded Python: runs scripts in a fresh evaluator, with what the host grants and nothing
//! else.
//!
//! Cast: an [`Evaluator`] runs scripts and calls handlers; what it cannot do by itself (read a
//! file, emit an event, find a library) it asks its [`Host`]. A [`Snapshot`] is an evaluator with
//! its libraries loaded, from which a fresh one is made for every request. Scripts that are not
//! the user's own, or of which many run side by side, run in worker processes of this same
//! binary ([`worker`]), one at a time in each. The `svc` package that scripts import is the one
//! under `sdk/python` ([`package`]): the same text runs here and on CPython.
//!
//! Invariant: no type of the engine leaves this crate, and nothing a script says reaches the
//! operating system except through [`os`](crate::os) with [`Abilities::Full`].

mod error;
mod evaluator;
mod host;
mod modules;
mod os;
pub mod package;
mod rewrite;
mod setting;
mod space_host;
pub mod worker;

pub use error::{ErrorKind, Frame, RpcFault, ScriptError};
pub(crate) use evaluator::check_for_server;
pub use evaluator::{Evaluator, Snapshot, check};
pub use host::{Exception, Host, Raise, Source, Stream};
pub use modules::is_built_in;
pub use rewrite::SOURCE_BYTES_MAX;
pub use setting::{Abilities, Flavour, Limits, Setting};
pub use space_host::{AgentAccess, SpaceHost, read_registration};

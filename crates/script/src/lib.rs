//! The embedded Python: runs scripts in a fresh evaluator, with only the abilities that their
//! [`Setting`] grants.
//!
//! Main types: an [`Evaluator`] runs scripts and calls handlers. It uses its [`Host`] to get
//! libraries, emit events, call the API and start processes. A [`Snapshot`] is an evaluator with
//! its libraries loaded; a fresh evaluator is restored from it for every request. Scripts on the
//! server and handlers of a space run in worker processes of this same binary ([`worker`]), one
//! script at a time in each. The `svc` package that scripts import is the package of `sdk/python`
//! ([`package`]): the same text runs here and on CPython.
//!
//! Invariants: no type of the engine leaves this crate. A script reaches files and the environment
//! only through [`os`](crate::os), with [`Abilities::Full`], and starts processes only through its
//! host.

mod evaluator;
mod host;
mod modules;
mod os;
pub mod package;
mod rewrite;
mod space_host;
pub mod worker;

pub(crate) use evaluator::check_for_server;
pub use evaluator::{Evaluator, Snapshot, check};
pub use host::Host;
pub use modules::is_built_in;
pub use rewrite::SOURCE_BYTES_MAX;
pub use space_host::{SpaceHost, read_registration, trace_json};
pub use svc_protocol::worker::{
    Abilities, ErrorKind, Exception, Flavour, Frame, Limits, Raise, RpcFault, ScriptError, Setting,
    Source, Stream,
};

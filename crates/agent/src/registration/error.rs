//! Why registering or unregistering failed.

use svc_protocol::{problem::Problem, registration_file::FileError};
use thiserror::Error;

use crate::method_server::{CommandError, StartError};

#[derive(Debug, Error)]
pub enum RegistrationError {
    #[error("the agent is not linked to its server{}; nothing was changed", because(.0.as_deref()))]
    NotLinked(Option<String>),
    #[error("{0}")]
    File(#[from] FileError),
    #[error("registration file `{0}` must be given by its absolute path")]
    RelativePath(String),
    #[error(
        "`{0}` is a script, not a registration in TOML; run it with `svc methods register`, which sends the `registration` that the script builds"
    )]
    ScriptText(String),
    #[error("a registration is either the `text` of a TOML file or a `registration` object")]
    Contents,
    #[error("{0}")]
    Command(#[from] CommandError),
    #[error("{0}")]
    Start(#[from] StartError),
    #[error("{0}")]
    Refused(Problem),
    #[error(
        "the link was lost before the server answered; the previous registration is restored when the link is back"
    )]
    LinkLost,
    #[error("the server did not answer in time; the previous registration is restored")]
    TimedOut,
    #[error("no method with the local name `{0}` is registered; see `svc agent status`")]
    UnknownLocalName(String),
    #[error("the agent is stopping")]
    Stopping,
}

fn because(error: Option<&str>) -> String {
    error.map_or_else(String::new, |error| format!(" ({error})"))
}

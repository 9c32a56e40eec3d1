//! Registrations by a script. The script itself registers its methods, by calling
//! `server.register()`.
//!
//! Nothing here may run on a thread of an async runtime: the script's host blocks.

mod recording;

pub use recording::RecordedRegistration;

use std::path::Path;

use svc_client::Error;
use svc_protocol::agent_api::{Registered, Unregistered};
use svc_script::{
    ErrorKind, Evaluator, Host, Limits, Raise, ScriptError, Source, SpaceHost, Stream,
};

use self::recording::RecordingHost;
use super::Names;
use crate::{
    commands::{
        Shell,
        own_script::{OwnScript, print_to_stderr},
    },
    exit::{Exit, Failure},
};

/// Whether a file is a script rather than TOML.
pub fn is_script(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "py")
}

/// Reads a script and checks that the engine can run it, without running it.
pub fn read(shell: &Shell, file: &Path) -> Result<OwnScript, Failure> {
    let script = OwnScript::read(&shell.environment, file).map_err(|mut failure| {
        failure.exit = Exit::Refused;
        failure.hint("name a TOML file, or a script (.py)")
    })?;
    match svc_script::check(&script.source) {
        Ok(()) => Ok(script),
        Err(error) => Err(failed(&script, &error)),
    }
}

/// Runs a script that registers with the agent of this space. Returns its last registration.
pub fn register(
    shell: &Shell,
    script: &OwnScript,
    replace_conflicting: bool,
) -> Result<Registered, Failure> {
    let host = script
        .host(None, &shell.environment)?
        .replacing_conflicting(replace_conflicting);
    let mut host = RegisteringHost {
        host,
        registered: None,
    };
    let setting = script.setting(&shell.environment, &[], Limits::OWN);
    let ran = Evaluator::new(&setting).run(&script.source, &mut host);
    let refusal = host.host.take_refusal();
    match (ended(ran), host.registered, refusal) {
        (Ok(()), Some(registered), _) => Ok(registered),
        (Ok(()), None, Some(refusal)) => Err(refused(refusal)),
        (Ok(()), None, None) => Err(nothing(script)),
        (Err(error), registered, refusal) => {
            // A refusal is reported without a traceback, which would only point at `register()`.
            let mut failure = match refusal.filter(|refusal| is_raised_by(&error, refusal)) {
                Some(refusal) => refused(refusal),
                None => failed(script, &error),
            };
            if let Some(registered) = registered.filter(|it| !it.methods.is_empty()) {
                let names = registered.methods.join(", ");
                eprintln!("the script failed, but its methods are registered: {names}");
                failure.exit = Exit::Failure;
            }
            Err(failure)
        }
    }
}

/// `sys.exit(0)` is a success.
fn ended(ran: Result<(), ScriptError>) -> Result<(), ScriptError> {
    match ran {
        Err(error) if error.kind == ErrorKind::Exit(0) => Ok(()),
        ran => ran,
    }
}

/// Whether the script failed because of this refusal, and not because of a later error.
fn is_raised_by(error: &ScriptError, refusal: &Error) -> bool {
    let text = refusal.to_string();
    let first = text.lines().next().unwrap_or_default();
    error.kind == ErrorKind::Exception
        && error.message.lines().next() == Some(&format!("RuntimeError: {first}"))
}

/// Runs a script without an agent and returns what it would register.
pub fn record(
    shell: &Shell,
    script: &OwnScript,
    names: &Names,
) -> Result<RecordedRegistration, Failure> {
    let host = SpaceHost::new(script.path.clone(), None);
    let mut host = RecordingHost {
        host,
        names,
        recorded: None,
    };
    let setting = script.setting(&shell.environment, &[], Limits::OWN);
    let ran = Evaluator::new(&setting).run(&script.source, &mut host);
    ended(ran).map_err(|error| failed(script, &error))?;
    host.recorded.ok_or_else(|| nothing(script))
}

/// The failure of a refused registration, with exit code 6. The exit code differs if the agent or
/// the server is unreachable or does not answer in time. If the script has registered methods
/// before, [`register`] changes the exit code to 1.
pub fn refused(error: Error) -> Failure {
    let mut failure = Failure::from(error);
    if !matches!(failure.exit, Exit::Unreachable | Exit::Timeout) {
        failure.exit = Exit::Refused;
    }
    failure.doing("the registration is refused")
}

/// Prints the traceback as Python does. The returned failure does not contain it: a failure has at
/// most three lines.
fn failed(script: &OwnScript, error: &ScriptError) -> Failure {
    let name = &script.source.file;
    if let ErrorKind::Exit(code) = error.kind {
        return Failure::refused(format!("`{name}` ended with exit code {code}"));
    }
    eprintln!("{error}");
    let what = match error.kind {
        ErrorKind::Syntax | ErrorKind::Unsupported => format!("`{name}` cannot be run"),
        _ => format!("`{name}` failed"),
    };
    Failure {
        hint: error.hint.clone(),
        ..Failure::refused(what)
    }
}

fn nothing(script: &OwnScript) -> Failure {
    let name = &script.source.file;
    Failure::refused(format!(
        "`{name}` did not register anything: call server.register()"
    ))
}

fn unreadable(_: serde_json::Error) -> Raise {
    Raise::runtime(
        "cannot read the agent's answer; do the agent and this svc have the same version?",
    )
}

/// Keeps the agent's answer to the script's last registration.
struct RegisteringHost {
    host: SpaceHost,
    registered: Option<Registered>,
}

impl Host for RegisteringHost {
    fn library(&mut self, module: &str) -> Result<Option<Source>, Raise> {
        self.host.library(module)
    }

    fn call(&mut self, operation: &str, argument: &str) -> Result<String, Raise> {
        let answer = self.host.call(operation, argument)?;
        match operation {
            "register" => {
                let registered = serde_json::from_str(&answer).map_err(unreadable)?;
                self.registered = Some(registered);
            }
            "unregister" => {
                let Unregistered { remaining, .. } =
                    serde_json::from_str(&answer).map_err(unreadable)?;
                if let Some(registered) = &mut self.registered {
                    registered.methods = remaining;
                }
            }
            _ => {}
        }
        Ok(answer)
    }

    fn print(&mut self, _: Stream, text: &str) {
        print_to_stderr(text);
    }
}

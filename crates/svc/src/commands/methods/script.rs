//! Registrations made by a script: `server.register()` is what registers, not the file.
//!
//! Nothing here may run on a thread of a runtime.

use std::path::Path;

use svc_client::Error;
use svc_core::registration::Registration;
use svc_protocol::agent_api::Registered;
use svc_script::{
    ErrorKind, Evaluator, Host, Limits, Raise, ScriptError, Source, SpaceHost, Stream,
};

use crate::{
    commands::{
        Shell,
        own_script::{Aside, OwnScript},
    },
    context,
    exit::{Exit, Failure},
};

/// Whether a file is a script rather than TOML.
pub fn is_script(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "py")
}

/// Reads a script and checks that the engine can run it; it is not run.
pub fn read(shell: &Shell, file: &Path) -> Result<OwnScript, Failure> {
    let script = OwnScript::read(&shell.environment, file).map_err(refuse)?;
    match svc_script::check(&script.source) {
        Ok(()) => Ok(script),
        Err(error) => Err(failed(&script, &error)),
    }
}

/// Runs a script for what it registers with the agent of this space.
pub fn register(
    shell: &Shell,
    file: &Path,
    replace_conflicting: bool,
) -> Result<Registered, Failure> {
    let script = read(shell, file)?;
    // A fault in the file is told before the want of an agent: it is there either way.
    context::find_agent(&shell.environment)?;
    let host = script
        .host(None, &shell.environment)?
        .replacing_conflicting(replace_conflicting);
    let mut host = Aside(Registering::new(host));
    let setting = script.setting(&shell.environment, &[], Limits::OWN);
    let ran = Evaluator::new(&setting).run(&script.source, &mut host);
    let mut registering = host.0;
    let refusal = registering.host.take_refusal();
    match (ran, registering.registered, refusal) {
        (Ok(()), Some(registered), _) => Ok(registered),
        // The script's traceback would only point at its `register()`.
        (_, None, Some(refusal)) => Err(refused(refusal)),
        (Err(error), ..) => Err(failed(&script, &error)),
        (Ok(()), None, None) => Err(nothing(&script)),
    }
}

/// Runs a script without an agent for what it would register.
pub fn record(shell: &Shell, script: &OwnScript) -> Result<Registration, Failure> {
    let host = SpaceHost::new(script.path.clone(), None);
    let mut host = Aside(Recording {
        host,
        registration: None,
    });
    let setting = script.setting(&shell.environment, &[], Limits::OWN);
    Evaluator::new(&setting)
        .run(&script.source, &mut host)
        .map_err(|error| failed(script, &error))?;
    host.0.registration.ok_or_else(|| nothing(script))
}

/// Every refusal of a registration is 6, whatever the reason; only an agent or server that cannot
/// be reached or does not answer is something else.
pub fn refused(error: Error) -> Failure {
    let mut failure = Failure::from(error);
    if !matches!(failure.exit, Exit::Unreachable | Exit::Timeout) {
        failure.exit = Exit::Refused;
    }
    failure.doing("the registration is refused")
}

fn refuse(mut failure: Failure) -> Failure {
    failure.exit = Exit::Refused;
    failure
}

/// The traceback is told as Python tells it, ahead of the three lines of the failure.
fn failed(script: &OwnScript, error: &ScriptError) -> Failure {
    let name = &script.source.file;
    if let ErrorKind::Exit(code) = error.kind {
        let what = format!("`{name}` ended with exit code {code}");
        return Failure::new(Exit::Refused, what);
    }
    eprintln!("{error}");
    let failure = Failure::new(
        Exit::Refused,
        match error.kind {
            ErrorKind::Syntax | ErrorKind::Unsupported => format!("`{name}` cannot be run"),
            _ => format!("`{name}` failed"),
        },
    );
    match &error.hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn nothing(script: &OwnScript) -> Failure {
    Failure::new(
        Exit::Refused,
        format!(
            "`{}` did not register anything: call server.register()",
            script.source.file
        ),
    )
}

/// Keeps what the agent answered to the script's registration.
struct Registering {
    host: SpaceHost,
    registered: Option<Registered>,
}

impl Registering {
    fn new(host: SpaceHost) -> Self {
        Self {
            host,
            registered: None,
        }
    }
}

impl Host for Registering {
    fn library(&mut self, module: &str) -> Result<Option<Source>, Raise> {
        self.host.library(module)
    }

    fn call(&mut self, operation: &str, argument: &str) -> Result<String, Raise> {
        let answer = self.host.call(operation, argument)?;
        match operation {
            "register" => {
                let registered = serde_json::from_str(&answer)
                    .map_err(|error| Raise::runtime(format!("the agent's answer: {error}")))?;
                self.registered = Some(registered);
            }
            "unregister" => self.registered = None,
            _ => {}
        }
        Ok(answer)
    }

    fn print(&mut self, stream: Stream, text: &str) {
        self.host.print(stream, text);
    }
}

/// Keeps what the script would register; the rest is as outside of a space.
struct Recording {
    host: SpaceHost,
    registration: Option<Registration>,
}

impl Host for Recording {
    fn library(&mut self, module: &str) -> Result<Option<Source>, Raise> {
        self.host.library(module)
    }

    fn call(&mut self, operation: &str, argument: &str) -> Result<String, Raise> {
        match operation {
            "register" => {
                let registration: Registration =
                    serde_json::from_str(argument).map_err(|error| {
                        let message = format!("this is no registration: {error}");
                        Raise::new(svc_script::Exception::ValueError, message)
                    })?;
                let names: Vec<&str> = registration
                    .methods
                    .iter()
                    .map(|method| method.name.as_str())
                    .collect();
                let answer = serde_json::json!({"methods": names, "warnings": []}).to_string();
                self.registration = Some(registration);
                Ok(answer)
            }
            "unregister" => {
                self.registration = None;
                Ok(r#"{"removed":[],"remaining":[]}"#.to_owned())
            }
            _ => self.host.call(operation, argument),
        }
    }

    fn print(&mut self, stream: Stream, text: &str) {
        self.host.print(stream, text);
    }
}

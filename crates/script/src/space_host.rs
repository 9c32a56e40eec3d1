//! The host of scripts that run in a space, or on their user's own machine.
//!
//! Modules: [`libraries`] finds libraries, [`server`] sends operations to the agent or the server,
//! [`process`] starts programs. The host blocks on its own runtime, so it must never be used on a
//! thread of another runtime.

mod libraries;
mod process;
mod server;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::PathBuf,
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{json, value::RawValue};
use svc_client::Client;
use svc_core::{TraceContext, registration::Registration};
use svc_protocol::{
    agent_api::{RegisterFile, Registered},
    api, document, registration_file,
};
use tokio::runtime::{Builder, Runtime};

use self::{libraries::Libraries, server::Servers};
use crate::{Exception, Host, Raise, Source, Stream};

/// Sends the script's requests to the space's agent, or to the server if there is no agent. To
/// register methods, an agent is required. Finds libraries beside the script and among the stored
/// libraries.
pub struct SpaceHost {
    script: PathBuf,
    libraries: Libraries,
    servers: Servers,
    replace_conflicting: bool,
    registered: Option<Registered>,
    refusal: Option<svc_client::Error>,
    /// Whether this process is a worker, whose stdout carries frames. The output of programs that
    /// the script starts is then collected in `printed`.
    in_worker: bool,
    /// The trace that requests of the script continue.
    trace: Option<TraceContext>,
    printed: Vec<(Stream, String)>,
    /// Created at the first request, because many scripts make no request.
    runtime: Option<Runtime>,
}

impl SpaceHost {
    /// `script` is the absolute path of the script. Modules are searched in its folder.
    pub fn new(script: PathBuf, agent_socket: Option<PathBuf>) -> Self {
        Self {
            libraries: Libraries::beside(&script),
            servers: Servers::new(agent_socket),
            script,
            replace_conflicting: false,
            registered: None,
            refusal: None,
            in_worker: false,
            trace: None,
            printed: Vec::new(),
            runtime: None,
        }
    }

    /// Applies `--replace-conflicting` to registrations of the script.
    #[must_use]
    pub fn replacing_conflicting(mut self, replace: bool) -> Self {
        self.replace_conflicting = replace;
        self
    }

    /// Sets the server to use without an agent.
    #[must_use]
    pub fn with_server(mut self, client: Client) -> Self {
        self.servers.set_server(client);
        self
    }

    /// Configures the host for a worker process, whose stdout carries frames and whose memory is
    /// limited.
    #[must_use]
    pub(crate) fn in_worker(mut self) -> Self {
        self.in_worker = true;
        self
    }

    /// Makes the following requests of the script a part of a trace.
    pub fn set_trace(&mut self, trace: Option<TraceContext>) {
        self.servers.set_trace(trace.as_ref());
        self.trace = trace;
    }

    /// The last registration of the script.
    pub fn registered(&self) -> Option<&Registered> {
        self.registered.as_ref()
    }

    /// Why the script's last `register()` was refused. The script may have caught this error and
    /// failed with another error.
    pub fn take_refusal(&mut self) -> Option<svc_client::Error> {
        self.refusal.take()
    }

    /// Takes the collected output of programs that the script started. Empty outside a worker.
    pub(crate) fn take_printed(&mut self) -> Vec<(Stream, String)> {
        std::mem::take(&mut self.printed)
    }

    fn register(&mut self, argument: &str) -> Result<String, Raise> {
        self.refusal = None;
        let registration = read_registration(argument)?;
        let file = RegisterFile {
            path: self.script.display().to_string(),
            text: None,
            registration: Some(registration),
            replace_conflicting: self.replace_conflicting,
        };
        let agent = self.servers.agent_for_methods()?;
        let runtime = get_runtime(&mut self.runtime)?;
        let registered = match runtime.block_on(agent.register(&file)) {
            Ok(registered) => registered,
            Err(error) => {
                let raise = to_raise(&error);
                // Keep the typed error for `take_refusal`.
                self.refusal = Some(error);
                return Err(raise);
            }
        };
        let text = write(&json!({
            "methods": registered.methods,
            "warnings": registered.warnings,
        }))?;
        self.registered = Some(registered);
        Ok(text)
    }

    fn unregister(&mut self, argument: &str) -> Result<String, Raise> {
        #[derive(Deserialize)]
        struct Unregister {
            local_name: Option<String>,
        }
        let Unregister { local_name } = read("unregister", argument)?;
        let agent = self.servers.agent_for_methods()?;
        let runtime = get_runtime(&mut self.runtime)?;
        let answer = runtime.block_on(agent.unregister(local_name.as_deref()));
        write(&answer.map_err(|error| to_raise(&error))?)
    }

    fn emit(&mut self, argument: &str) -> Result<String, Raise> {
        let emit: api::Emit = read("emit", argument)?;
        let runtime = get_runtime(&mut self.runtime)?;
        let answer = runtime.block_on(self.servers.emit(&emit))?;
        write(&answer.map_err(|error| to_raise(&error))?)
    }

    fn api(&mut self, argument: &str) -> Result<String, Raise> {
        #[derive(Deserialize)]
        struct Request {
            method: String,
            path: String,
            #[serde(default)]
            body: Option<Box<RawValue>>,
        }
        let request: Request = read("api", argument)?;
        let runtime = get_runtime(&mut self.runtime)?;
        let Request { method, path, body } = &request;
        let answer = runtime.block_on(self.servers.api(method, path, body.as_deref()))?;
        write(&answer.map_err(|error| to_raise(&error))?)
    }

    fn process(&mut self, argument: &str) -> Result<String, Raise> {
        let request: process::ProcessRequest = read("process", argument)?;
        let runtime = get_runtime(&mut self.runtime)?;
        let mut done = runtime.block_on(process::run(&request, self.in_worker))?;
        // In a worker, the output that would go to the script's own streams was read instead.
        // `take_printed` returns it later.
        if request.stdout == process::Output::Inherit {
            let text = done.stdout.take();
            self.printed.extend(text.map(|text| (Stream::Stdout, text)));
        }
        if request.stderr == process::Output::Inherit {
            let text = done.stderr.take();
            self.printed.extend(text.map(|text| (Stream::Stderr, text)));
        }
        write(&done)
    }
}

fn to_raise(error: &svc_client::Error) -> Raise {
    Raise::runtime(error.to_string())
}

impl Host for SpaceHost {
    fn library(&mut self, module: &str) -> Result<Option<Source>, Raise> {
        if let Some(source) = self.libraries.find_beside(module)? {
            return Ok(Some(source));
        }
        let Some(client) = self.servers.client().filter(|_| !module.contains('.')) else {
            return Ok(None);
        };
        let runtime = get_runtime(&mut self.runtime)?;
        runtime.block_on(self.libraries.find_stored(module, client))
    }

    fn call(&mut self, operation: &str, argument: &str) -> Result<String, Raise> {
        match operation {
            "register" => self.register(argument),
            "unregister" => self.unregister(argument),
            "emit" => self.emit(argument),
            "api" => self.api(argument),
            "process" => self.process(argument),
            "trace" => Ok(trace_json(self.trace.as_ref())),
            "event" => Err(Raise::runtime(
                "event accessors are for sink scripts, which run on the server",
            )),
            "progress" => Err(Raise::runtime(
                "progress() is for a handler, while it answers a request",
            )),
            other => Err(Raise::runtime(format!("there is no operation `{other}`"))),
        }
    }

    fn print(&mut self, stream: Stream, text: &str) {
        // A closed stdout or stderr does not end the script: its exit code may still matter.
        let _ = match stream {
            Stream::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(text.as_bytes()).and_then(|()| out.flush())
            }
            Stream::Stderr => io::stderr().lock().write_all(text.as_bytes()),
        };
    }
}

/// The answer to the operation `trace`.
pub fn trace_json(trace: Option<&TraceContext>) -> String {
    let mut members = BTreeMap::new();
    if let Some(trace) = trace {
        members.insert("traceparent", trace.traceparent());
        let state = trace.tracestate().map(str::to_owned);
        members.extend(state.map(|state| ("tracestate", state)));
    }
    json!(members).to_string()
}

/// Returns the runtime. Creates it at the first call.
fn get_runtime(runtime: &mut Option<Runtime>) -> Result<&Runtime, Raise> {
    if runtime.is_none() {
        let new = Builder::new_current_thread().enable_all().build();
        let new = new.map_err(|error| {
            Raise::new(Exception::OSError, format!("cannot make requests: {error}"))
        })?;
        *runtime = Some(new);
    }
    Ok(runtime.as_ref().expect("it was created above"))
}

/// Parses a registration, with the same errors as the agent.
pub fn read_registration(argument: &str) -> Result<Registration, Raise> {
    registration_file::read_json(argument)
        .map_err(|error| Raise::runtime(format!("the registration is wrong: {error}")))
}

fn read<T: DeserializeOwned>(operation: &str, argument: &str) -> Result<T, Raise> {
    document::read_json(argument.as_bytes()).map_err(|error| {
        let text = format!("the argument of `{operation}` is invalid: {error}");
        Raise::new(Exception::ValueError, text)
    })
}

fn write(answer: &impl serde::Serialize) -> Result<String, Raise> {
    serde_json::to_string(answer)
        .map_err(|error| Raise::runtime(format!("the answer is not JSON: {error}")))
}

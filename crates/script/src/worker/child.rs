//! The worker process itself.
//!
//! The worker reads one piece of work at a time from stdin and answers on stdout. It ends as soon
//! as its parent ends, even in the middle of a script.

mod host;
mod pipe;

use std::{fs::File, io, net::TcpListener, os::fd::AsFd, path::PathBuf, process::Command, thread};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustix::event::{PollFd, PollFlags, poll};
use svc_client::{Client, Target};
use svc_core::TraceContext;
use svc_protocol::env;

use self::{
    host::{PipeHost, PrintingHost},
    pipe::Pipe,
};
use super::{
    confine::confine,
    gauge::Gauge,
    protocol::{FromWorker, Probe, SANDBOX_FRAME_BYTES_MAX, SPACE_FRAME_BYTES_MAX, ToWorker},
};
use crate::{Evaluator, ScriptError, Setting, Snapshot, Source, SpaceHost, check_for_server};

/// Stack of the thread for a user's handlers, for recursion in the engine.
const SPACE_STACK_BYTES: usize = 64 * 1024 * 1024;
/// Stack of the thread for sandboxed scripts. Dropping a syntax tree recurses as deep as its
/// longest chain (`1+1+1…`). The stack is large enough for a script that consists of one such
/// chain. Unused stack costs no memory.
const SANDBOX_STACK_BYTES: usize = 256 * 1024 * 1024;

/// The access of a worker to the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// No access: every available limit is set.
    Sandbox { memory_bytes: usize },
    /// Everything that the operating system permits to the process's user, within a memory limit.
    /// For the user's own handlers.
    Space { memory_bytes: usize },
}

impl Role {
    fn stack_bytes(self) -> usize {
        match self {
            Self::Sandbox { .. } => SANDBOX_STACK_BYTES,
            Self::Space { .. } => SPACE_STACK_BYTES,
        }
    }

    fn frame_bytes_max(self) -> usize {
        match self {
            Self::Sandbox { .. } => SANDBOX_FRAME_BYTES_MAX,
            Self::Space { .. } => SPACE_FRAME_BYTES_MAX,
        }
    }
}

/// Does the work that arrives on stdin, until stdin is closed. Returns the exit code.
pub fn main(role: Role) -> i32 {
    let served = thread::Builder::new()
        .name("script".to_owned())
        .stack_size(role.stack_bytes())
        .spawn(move || Child::start(role).and_then(Child::serve))
        .map(thread::JoinHandle::join);
    match served {
        Ok(Ok(Ok(()))) => 0,
        Ok(Ok(Err(error))) | Err(error) => {
            eprintln!("script worker: {error}");
            1
        }
        // The panic has printed its message.
        Ok(Err(_)) => 1,
    }
}

struct Child {
    role: Role,
    pipe: Pipe,
    gauge: Gauge,
    loaded: Option<LoadedSnapshot>,
}

/// The snapshot that [`ToWorker::Invoke`] uses.
struct LoadedSnapshot {
    snapshot: Snapshot,
    host: SpaceHost,
    /// The evaluator of the next request. Each evaluator serves one request. The next evaluator is
    /// restored after the answer to the previous request was sent, so that a request seldom waits
    /// for it.
    next: Option<Evaluator>,
    /// The evaluator of the previous request. Dropped after its answer was sent.
    spent: Option<Evaluator>,
}

impl LoadedSnapshot {
    fn prepare(&mut self) {
        self.spent = None;
        // On an error, the next request restores again and reports the error.
        self.next = Evaluator::restore(&self.snapshot).ok();
    }
}

impl Child {
    /// Sets the limits of the role, then reports that the worker is ready.
    fn start(role: Role) -> io::Result<Self> {
        let mut pipe = Pipe::open(role.frame_bytes_max())?;
        let gauge = Gauge::start()?;
        end_with_parent()?;
        let warning = confine(role, gauge.usage()?)?;
        pipe.send(&FromWorker::Ready { warning })?;
        Ok(Self {
            role,
            pipe,
            gauge,
            loaded: None,
        })
    }

    fn serve(mut self) -> io::Result<()> {
        while let Some(work) = self.pipe.receive()? {
            let done = self.work(work);
            self.pipe.send_done(done)?;
            if let Some(loaded) = &mut self.loaded {
                loaded.prepare();
            }
        }
        Ok(())
    }

    fn work(&mut self, work: ToWorker) -> Result<Option<String>, ScriptError> {
        match (self.role, work) {
            (
                Role::Sandbox { .. },
                ToWorker::Run {
                    setting,
                    script,
                    function,
                    params,
                },
            ) => self.run(&setting, &script, function.as_deref(), &params),
            (Role::Sandbox { .. }, ToWorker::Check { script }) => {
                check_for_server(&script).map(|()| None)
            }
            (
                Role::Space { .. },
                ToWorker::Load {
                    snapshot,
                    script,
                    agent_socket,
                },
            ) => self.load(&snapshot, script, agent_socket),
            (
                Role::Space { .. },
                ToWorker::Invoke {
                    handler,
                    params,
                    trace,
                },
            ) => {
                let trace = trace.as_deref().and_then(TraceContext::from_text);
                self.invoke(&handler, &params, trace)
            }
            (_, ToWorker::Probe) => Ok(Some(probe())),
            _ => Err(ScriptError::worker(
                "this kind of worker does not support this work",
            )),
        }
    }

    fn run(
        &mut self,
        setting: &Setting,
        script: &Source,
        function: Option<&str>,
        params: &str,
    ) -> Result<Option<String>, ScriptError> {
        let mut host = PipeHost(&mut self.pipe);
        self.gauge.measure(|| {
            let mut evaluator = Evaluator::new(setting);
            evaluator.share_time();
            evaluator.run(script, &mut host)?;
            function
                .map(|function| evaluator.call(&format!("__main__.{function}"), params, &mut host))
                .transpose()
        })
    }

    fn load(
        &mut self,
        snapshot: &str,
        script: String,
        agent_socket: Option<String>,
    ) -> Result<Option<String>, ScriptError> {
        let bytes = STANDARD
            .decode(snapshot)
            .map_err(|error| ScriptError::worker(format!("the snapshot is damaged: {error}")))?;
        let snapshot = Snapshot::from_bytes(&bytes)?;
        let mut host = SpaceHost::new(script.into(), agent_socket.map(PathBuf::from)).in_worker();
        if let Some(server) = server_of_environment() {
            host = host.with_server(server);
        }
        self.loaded = Some(LoadedSnapshot {
            snapshot,
            host,
            next: None,
            spent: None,
        });
        Ok(None)
    }

    fn invoke(
        &mut self,
        handler: &str,
        params: &str,
        trace: Option<TraceContext>,
    ) -> Result<Option<String>, ScriptError> {
        let Some(loaded) = &mut self.loaded else {
            return Err(ScriptError::worker("no snapshot was loaded"));
        };
        loaded.host.set_trace(trace);
        let mut evaluator = match loaded.next.take() {
            Some(next) => next,
            None => Evaluator::restore(&loaded.snapshot)?,
        };
        let mut host = PrintingHost {
            host: &mut loaded.host,
            pipe: &mut self.pipe,
        };
        let call = || evaluator.call(handler, params, &mut host).map(Some);
        let done = self.gauge.measure(call);
        loaded.spent = Some(evaluator);
        done
    }
}

/// Ends the process as soon as the other end of stdin is closed.
fn end_with_parent() -> io::Result<()> {
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    let leads_group = rustix::process::getpgrp() == rustix::process::getpid();
    thread::Builder::new()
        .name("parent".to_owned())
        .stack_size(128 * 1024)
        .spawn(move || {
            // No events requested, so that poll returns only at the end of the pipe.
            let mut ends = [PollFd::new(&stdin, PollFlags::empty())];
            loop {
                match poll(&mut ends, None) {
                    Err(rustix::io::Errno::INTR) | Ok(0) => {}
                    _ => end(leads_group),
                }
            }
        })
        .map(drop)
}

/// Ends this process. If it leads a process group, kills the processes of its scripts too.
fn end(leads_group: bool) -> ! {
    if leads_group {
        // On an error, only this process ends, below.
        let _ = rustix::process::kill_current_process_group(rustix::process::Signal::KILL);
    }
    std::process::exit(0)
}

/// The server that `svc.api` and `svc.event` of a handler use if there is no agent.
fn server_of_environment() -> Option<Client> {
    let ca_file = std::env::var_os(env::CA_FILE).map(PathBuf::from);
    let target = Target::parse_first(&std::env::var(env::URL).ok()?, ca_file.as_deref()).ok()?;
    Some(Client::new(target).with_token(std::env::var(env::TOKEN).ok()?))
}

/// Tries operations that a sandboxed worker must not be able to do.
fn probe() -> String {
    let probe = Probe {
        open_file: File::open("/proc/self/status").is_ok(),
        open_socket: TcpListener::bind("127.0.0.1:0").is_ok(),
        start_process: Command::new("/bin/sh").args(["-c", ":"]).status().is_ok(),
    };
    serde_json::to_string(&probe).unwrap_or_default()
}

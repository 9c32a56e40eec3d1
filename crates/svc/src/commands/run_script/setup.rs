//! Runs the setup script, which assigns a handler to each method, and takes a snapshot of its
//! state.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::Engine as _;
use svc_script::{Evaluator, Limits, ScriptError, worker::protocol::ToWorker};

use super::Bounds;
use crate::{
    commands::own_script::{self, OwnScript, PrintToStderr},
    environment::Environment,
    exit::{Exit, Failure},
};

/// Time that the setup script may take, unless `--timeout` is longer.
const SETUP_TIMEOUT: Duration = Duration::from_secs(30);

/// The routes and the snapshot that every worker uses.
pub struct Program {
    /// The handler of each local name.
    pub routes: HashMap<String, String>,
    /// The message that loads the snapshot into a worker.
    pub load: ToWorker,
}

/// The setup script and its inputs. With `--watch` the script runs again after each change.
pub struct Setup {
    pub file: PathBuf,
    pub args: Vec<String>,
    pub context: Option<String>,
    pub environment: Environment,
    pub bounds: Bounds,
}

/// The result of one run of the setup.
pub struct SetupRun {
    pub outcome: Result<Program, SetupError>,
    /// The files that the run loaded, even if the run failed.
    pub files: Vec<PathBuf>,
}

#[derive(Debug)]
pub enum SetupError {
    Failure(Failure),
    Script(ScriptError),
}

impl From<Failure> for SetupError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl SetupError {
    /// Prints the error on stderr. Returns the exit code of the process.
    pub fn report(&self) -> Exit {
        match self {
            Self::Failure(failure) => {
                eprintln!("{failure}");
                failure.exit
            }
            Self::Script(error) => match own_script::report(error) {
                // A library that calls `sys.exit(0)` while a route imports it is a failure too: its
                // handler cannot be called.
                Exit::Script(0) | Exit::Ok => Exit::Failure,
                exit => exit,
            },
        }
    }
}

impl Setup {
    /// The folder that is searched for modules first.
    pub fn folder(&self) -> PathBuf {
        let file = self.environment.absolute(&self.file);
        file.parent().map_or(file.clone(), Path::to_owned)
    }

    /// Runs the setup on this thread, which must not belong to an async runtime.
    pub fn run(&self) -> SetupRun {
        let mut files = vec![self.environment.absolute(&self.file)];
        let outcome = self.program(&mut files);
        files.sort();
        files.dedup();
        SetupRun { outcome, files }
    }

    fn program(&self, files: &mut Vec<PathBuf>) -> Result<Program, SetupError> {
        let context = self.context.as_deref();
        let script = OwnScript::read(&self.environment, &self.file)?;
        let host = script.host(context, &self.environment)?;
        let limits = Limits {
            // The limit is part of the snapshot and also applies to requests. It must not be
            // shorter than `--timeout`, which `Seat` enforces for each request.
            time: Some(SETUP_TIMEOUT.max(self.bounds.timeout())),
            memory_bytes: Some(self.bounds.memory_bytes()),
            ..Limits::OWN
        };
        let setting = script.setting(&self.environment, &self.args, limits);
        let mut evaluator = Evaluator::new(&setting);
        let mut host = PrintToStderr(host);
        let ran = evaluator
            .run(&script.source, &mut host)
            .and_then(|()| evaluator.load_routes(&mut host));
        let loaded = evaluator.files();
        let loaded = loaded.iter().map(Path::new);
        files.extend(loaded.map(|file| self.environment.absolute(file)));
        ran.map_err(SetupError::Script)?;
        if evaluator.routes().is_empty() {
            let what = format!("`{}` assigns no methods", script.source.file);
            let hint = "from svc import jsonrpc; jsonrpc.method(\"add\", \"library.function\")";
            return Err(Failure::failed(what).hint(hint).into());
        }
        let snapshot = evaluator.snapshot().map_err(SetupError::Script)?.to_bytes();
        let socket = own_script::find_agent_socket(context, &self.environment);
        Ok(Program {
            routes: evaluator.routes().iter().cloned().collect(),
            load: ToWorker::Load {
                snapshot: base64::engine::general_purpose::STANDARD.encode(snapshot),
                script: script.path.display().to_string(),
                agent_socket: socket.map(|socket| socket.display().to_string()),
            },
        })
    }
}

//! The setup script: it says which handler each method has, and is frozen once it has run.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::Engine as _;
use svc_script::{Evaluator, Limits, ScriptError, worker::protocol::ToWorker};

use super::Bounds;
use crate::{
    commands::own_script::{self, Aside, OwnScript},
    environment::Environment,
    exit::{Exit, Failure},
};

/// What the setup script itself may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(30);

/// What requests are served with: the same for every worker.
pub struct Program {
    /// Handler of each local name.
    pub routes: HashMap<String, String>,
    /// What a worker is to take before its first request.
    pub load: ToWorker,
}

/// How the setup is run, as often as needed.
pub struct Setup {
    pub file: PathBuf,
    pub args: Vec<String>,
    pub context: Option<String>,
    pub environment: Environment,
    pub bounds: Bounds,
}

/// How a run of it ended.
pub struct Ran {
    pub outcome: Result<Program, SetupError>,
    /// Files it loaded, as far as it came.
    pub files: Vec<PathBuf>,
}

#[derive(Debug)]
pub enum SetupError {
    Failure(Failure),
    Script(ScriptError),
}

impl SetupError {
    /// Tells of it on stderr; how a process ends that cannot begin.
    pub fn report(&self) -> Exit {
        match self {
            Self::Failure(failure) => {
                eprintln!("{failure}");
                failure.exit
            }
            Self::Script(error) => match own_script::report(error) {
                // Without its routes it cannot serve, however well it ended.
                Exit::Script(0) | Exit::Ok => Exit::Failure,
                exit => exit,
            },
        }
    }
}

impl Setup {
    /// Where modules are looked for first.
    pub fn folder(&self) -> PathBuf {
        let file = self.environment.absolute(&self.file);
        file.parent().map_or(file.clone(), Path::to_owned)
    }

    /// Runs it on this thread, which must not be a runtime's.
    pub fn run(&self) -> Ran {
        let mut files = vec![self.environment.absolute(&self.file)];
        let outcome = self.program(&mut files);
        files.sort();
        files.dedup();
        Ran { outcome, files }
    }

    fn program(&self, files: &mut Vec<PathBuf>) -> Result<Program, SetupError> {
        let context = self.context.as_deref();
        let script = OwnScript::read(&self.environment, &self.file).map_err(SetupError::Failure)?;
        let host = script
            .host(context, &self.environment)
            .map_err(SetupError::Failure)?;
        let limits = Limits {
            // It holds for each request too, where `--timeout` is kept by the seat.
            time: Some(SETUP_TIMEOUT.max(self.bounds.timeout())),
            memory_bytes: Some(self.bounds.memory_bytes()),
            ..Limits::OWN
        };
        let setting = script.setting(&self.environment, &self.args, limits);
        let mut evaluator = Evaluator::new(&setting);
        let mut host = Aside(host);
        let ran = evaluator
            .run(&script.source, &mut host)
            .and_then(|()| evaluator.load_routes(&mut host));
        let loaded = evaluator.files();
        files.extend(
            loaded
                .iter()
                .map(|file| self.environment.absolute(Path::new(file))),
        );
        ran.map_err(SetupError::Script)?;
        if evaluator.routes().is_empty() {
            return Err(SetupError::Failure(
                Failure::new(
                    Exit::Failure,
                    format!("`{}` routes no method", script.source.file),
                )
                .hint("from svc import jsonrpc; jsonrpc.method(\"add\", \"library.function\")"),
            ));
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

//! What an agent does once, at its first link: it runs the space's startup script, then registers
//! its methods file. Neither ever stops the agent (spec 4.3).

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use svc_protocol::{
    agent_api::{FOLDER, RegisterFile},
    api::Script,
    link::SpaceIdentity,
};
use tokio::{sync::watch, time::sleep};

use crate::{
    link::LinkStatus,
    log::SpaceLog,
    policy::Policy,
    private,
    registration::{Registrar, RegistrationError, is_script},
    script::ScriptRunner,
    server_api::{ServerApi, ServerApiError},
};

/// Where the startup script lies while it runs, in [`FOLDER`].
const SCRIPT_FILE: &str = "startup.py";
/// `svc methods register` exits with this when the agent is not linked: nothing was decided.
const EXIT_UNREACHABLE: i32 = 7;

pub struct Startup {
    pub methods_file: Option<PathBuf>,
    pub working_folder: PathBuf,
    pub server: Arc<ServerApi>,
    pub runner: ScriptRunner,
    pub registrar: Arc<Registrar>,
    pub link: watch::Receiver<LinkStatus>,
    pub log: Arc<SpaceLog>,
    pub policy: Arc<Policy>,
}

impl Startup {
    pub async fn run(mut self) {
        self.run_startup_script().await;
        let Some(file) = self.methods_file.take() else {
            return;
        };
        if is_script(&file) {
            self.run_methods_file(&file).await;
        } else {
            self.register_methods_file(&file).await;
        }
    }

    /// The number of the link, once there is one; `None` when the agent links no more.
    async fn linked(&mut self) -> Option<(u64, SpaceIdentity)> {
        let is_up = |status: &LinkStatus| status.link.is_some() && status.space.is_some();
        let status = self.link.wait_for(is_up).await.ok()?;
        status.link.zip(status.space.clone())
    }

    async fn run_startup_script(&mut self) {
        let Some((_, space)) = self.linked().await else {
            return;
        };
        let script = match self.find_startup_script(&space).await {
            Ok(Some(script)) => script,
            Ok(None) => return,
            Err(error) => {
                return self.log.agent_error(&format!(
                    "the startup script could not be read from the server\n{error}"
                ));
            }
        };
        let name = &script.name;
        let file = match ScriptFile::write(&self.working_folder, &script) {
            Ok(file) => file,
            Err(error) => {
                return self.log.agent_error(&format!(
                    "the startup script `{name}` could not be written: {error}"
                ));
            }
        };
        self.log
            .agent(&format!("the startup script `{name}` is run"));
        let args = [OsStr::new("run-script"), file.shown.as_os_str()];
        let limit = self.policy.startup_script;
        let running = self.runner.run(&args, &self.working_folder, &space, limit);
        match running.await {
            Ok(()) => self
                .log
                .agent(&format!("the startup script `{name}` is done")),
            Err(failure) => self
                .log
                .agent_error(&format!("the startup script `{name}`: {failure}")),
        }
    }

    async fn find_startup_script(
        &mut self,
        space: &SpaceIdentity,
    ) -> Result<Option<Script>, ServerApiError> {
        let mut delays = self.policy.reregister.delays();
        let mut tries = 1;
        loop {
            match self.server.find_startup_script(space.id).await {
                Err(error) if error.is_passing() && tries < self.policy.startup_script_tries => {
                    tracing::warn!(%error, "the startup script is asked for once more");
                }
                answer => return answer,
            }
            tries += 1;
            sleep(delays.next_jittered()).await;
            if self.linked().await.is_none() {
                return Ok(None);
            }
        }
    }

    async fn run_methods_file(&mut self, file: &Path) {
        let folder = file.parent().unwrap_or(&self.working_folder).to_owned();
        let args = ["methods", "register"].map(OsStr::new);
        let args = [args[0], args[1], file.as_os_str()];
        while let Some((link, space)) = self.linked().await {
            let limit = self.policy.registration_script;
            let Err(failure) = self.runner.run(&args, &folder, &space, limit).await else {
                return;
            };
            // The server has not decided: this is still the first time.
            let is_undecided = failure.exit_code() == Some(EXIT_UNREACHABLE);
            if !is_undecided || self.link.borrow().link == Some(link) {
                return self.not_registered(file, &failure.to_string());
            }
        }
    }

    async fn register_methods_file(&mut self, file: &Path) {
        while self.linked().await.is_some() {
            let text = match tokio::fs::read_to_string(file).await {
                Ok(text) => text,
                Err(error) => return self.not_registered(file, &error.to_string()),
            };
            let registering = self.registrar.register(RegisterFile {
                path: file.display().to_string(),
                text: Some(text),
                registration: None,
                replace_conflicting: false,
            });
            match registering.await {
                Ok(registered) => {
                    for warning in &registered.warnings {
                        tracing::warn!("{warning}");
                    }
                    return;
                }
                // The server has not decided yet: this is still the first time.
                Err(RegistrationError::NotLinked(_) | RegistrationError::LinkLost) => {}
                Err(error) => return self.not_registered(file, &error.to_string()),
            }
        }
    }

    fn not_registered(&self, file: &Path, error: &str) {
        self.log.agent_error(&format!(
            "the methods file `{}` was not registered\n{error}",
            file.display()
        ));
    }
}

/// The startup script in a file; dropped, it is removed.
struct ScriptFile {
    path: PathBuf,
    /// As tracebacks show it: from the space's folder, where it runs.
    shown: PathBuf,
}

impl ScriptFile {
    fn write(working_folder: &Path, script: &Script) -> io::Result<Self> {
        let shown = Path::new(FOLDER).join(SCRIPT_FILE);
        let path = working_folder.join(&shown);
        private::write_file(&path, script.source.as_bytes())?;
        Ok(Self { path, shown })
    }
}

impl Drop for ScriptFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, file = %self.path.display(), "a file could not be removed");
        }
    }
}

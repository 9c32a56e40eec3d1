//! The work of an agent at its first link: it runs the space's startup script, then registers the
//! methods file. A failed script does not stop the agent, and a failed registration only if the
//! methods are required (spec 4.3). A slow startup script delays the registration only for a limited time.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use svc_link::SpaceIdentity;
use svc_private::OwnFolder;
use svc_protocol::{
    agent_api::{FOLDER, RegisterFile},
    api::Script,
};
use tokio::{
    sync::{oneshot, watch},
    time::{sleep, timeout},
};

use crate::{
    discovery::agent_folder,
    link_status::LinkStatus,
    registration::{Registrar, RegistrationError, is_script},
    script::ScriptRunner,
    server_api::{ServerApi, ServerApiError},
};

/// Name of the file in [`FOLDER`] that holds the startup script while the script runs.
const SCRIPT_FILE: &str = "startup.py";
/// Exit code of `svc methods register` if the agent is not linked. In this case the server has
/// neither accepted nor refused the registration.
const EXIT_UNREACHABLE: i32 = 7;

pub struct Startup {
    pub methods_file: Option<PathBuf>,
    /// Whether the registration removes conflicting methods of the owner's other spaces.
    pub replace_conflicting: bool,
    /// Takes the reason if the methods file registers no methods. `None` if the agent may run
    /// without methods.
    pub no_methods: Option<oneshot::Sender<String>>,
    pub working_folder: PathBuf,
    pub server: Arc<ServerApi>,
    pub runner: Arc<ScriptRunner>,
    pub registrar: Arc<Registrar>,
    pub link: watch::Receiver<LinkStatus>,
}

impl Startup {
    pub async fn run(mut self) {
        let script = self.prepare_startup_script().await;
        let running = async {
            if let Some(script) = script {
                script.run().await;
            }
        };
        tokio::pin!(running);
        let wait = self.runner.services.policy.startup_script_wait;
        if timeout(wait, &mut running).await.is_ok() {
            return self.publish().await;
        }
        if self.methods_file.is_some() {
            self.runner.services.log.agent(&format!(
                "the startup script is still running after {} s; the methods file is registered without waiting for its end",
                wait.as_secs_f64()
            ));
        }
        tokio::join!(running, self.publish());
    }

    async fn publish(&mut self) {
        let Some(file) = self.methods_file.take() else {
            return self.registrar.end_startup();
        };
        match is_script(&file) {
            true => self.run_methods_file(&file).await,
            false => self.register_methods_file(&file).await,
        }
        self.registrar.end_startup();
        if self.registrar.methods().is_empty()
            && let Some(no_methods) = self.no_methods.take()
        {
            let refused = self.registrar.error();
            let why = refused.unwrap_or_else(|| {
                let name = file.display();
                format!("the methods file `{name}` left no methods registered")
            });
            // An error means that the agent is ending already.
            let _ = no_methods.send(why);
        }
    }

    /// Waits for a link and returns its number and space. `None` if the agent has stopped
    /// reconnecting.
    async fn linked(&mut self) -> Option<(u64, SpaceIdentity)> {
        let is_up = |status: &LinkStatus| status.link.is_some() && status.space.is_some();
        let status = self.link.wait_for(is_up).await.ok()?;
        status.link.zip(status.space.clone())
    }

    async fn prepare_startup_script(&mut self) -> Option<StartupScript> {
        let (_, space) = self.linked().await?;
        let script = match self.find_startup_script(&space).await {
            Ok(script) => script?,
            Err(error) => {
                self.runner.services.log.agent_error(&format!(
                    "the startup script could not be read from the server\n{error}"
                ));
                return None;
            }
        };
        match ScriptFile::write(&self.working_folder, &script) {
            Ok(file) => Some(StartupScript {
                name: script.name,
                file,
                folder: self.working_folder.clone(),
                space,
                runner: Arc::clone(&self.runner),
            }),
            Err(error) => {
                let name = &script.name;
                self.runner.services.log.agent_error(&format!(
                    "the startup script `{name}` could not be written: {error}"
                ));
                None
            }
        }
    }

    async fn find_startup_script(
        &mut self,
        space: &SpaceIdentity,
    ) -> Result<Option<Script>, ServerApiError> {
        let mut delays = self.runner.services.policy.reregister.delays();
        let mut tries = 1;
        loop {
            match self.server.find_startup_script(space.id).await {
                Err(error)
                    if error.is_temporary()
                        && tries < self.runner.services.policy.startup_script_tries =>
                {
                    tracing::warn!(%error, "cannot read the startup script from the server; it is retried");
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
        // Quiet, because `log_success` logs one sentence instead of the list of methods.
        let [methods, register, quiet] = ["methods", "register", "--quiet"].map(OsStr::new);
        let mut args = vec![methods, register, file.as_os_str(), quiet];
        if self.replace_conflicting {
            args.push(OsStr::new("--replace-conflicting"));
        }
        while let Some((link, space)) = self.linked().await {
            let limit = self.runner.services.policy.registration_script;
            let Err(failure) = self.runner.run(&args, &folder, &space, limit).await else {
                return self.log_success(file);
            };
            // If the link was lost before the server answered, try again on the next link.
            let is_undecided = failure.exit_code() == Some(EXIT_UNREACHABLE);
            if !is_undecided || self.link.borrow().link == Some(link) {
                return self
                    .report_failure(file, &failure.to_string(), &failure.output)
                    .await;
            }
        }
    }

    async fn register_methods_file(&mut self, file: &Path) {
        while self.linked().await.is_some() {
            let text = match tokio::fs::read_to_string(file).await {
                Ok(text) => text,
                Err(error) => return self.report_failure(file, &error.to_string(), "").await,
            };
            let registering = self.registrar.register(RegisterFile {
                path: file.display().to_string(),
                text: Some(text),
                registration: None,
                replace_conflicting: self.replace_conflicting,
            });
            match registering.await {
                Ok(registered) => {
                    for warning in &registered.warnings {
                        tracing::warn!("{warning}");
                    }
                    return;
                }
                // No answer of the server arrived: try again on the next link.
                Err(RegistrationError::NotLinked(_) | RegistrationError::LinkLost) => {}
                Err(error) => return self.report_failure(file, &error.to_string(), "").await,
            }
        }
    }

    fn log_success(&self, file: &Path) {
        let name = file.display();
        self.runner
            .services
            .log
            .agent(&if self.registrar.is_from(file) {
                let count = self.registrar.methods().len();
                format!("the methods file `{name}` is registered; methods: {count}")
            } else {
                format!("the methods file `{name}` was run, and left no methods registered")
            });
    }

    /// Reports a failed methods file. If the file is a script that fails after its `register()`,
    /// its methods stay registered. Otherwise the space's record shows the refusal.
    async fn report_failure(&self, file: &Path, error: &str, output: &str) {
        let name = file.display();
        let text = if self.registrar.is_from(file) {
            format!(
                "the methods file `{name}` failed after its methods were registered; they stay registered\n{error}"
            )
        } else {
            let text = format!("the methods file `{name}` was not registered\n{error}");
            let refusal = format!("{text}\n{output}");
            let refusal = refusal.trim_end().to_owned();
            self.registrar.report_refusal(refusal).await;
            text
        };
        self.runner.services.log.script_failure(&text, output);
    }
}

/// The space's startup script, written to its file.
struct StartupScript {
    name: String,
    file: ScriptFile,
    folder: PathBuf,
    space: SpaceIdentity,
    runner: Arc<ScriptRunner>,
}

impl StartupScript {
    async fn run(self) {
        let Self { name, runner, .. } = &self;
        let log = &runner.services.log;
        log.agent(&format!("the startup script `{name}` starts"));
        let args = [OsStr::new("run-script"), self.file.shown.as_os_str()];
        let limit = runner.services.policy.startup_script;
        match runner.run(&args, &self.folder, &self.space, limit).await {
            Ok(()) => log.agent(&format!("the startup script `{name}` is done")),
            Err(failure) => {
                let text = format!("the startup script `{name}`: {failure}");
                log.script_failure(&text, &failure.output);
            }
        }
    }
}

/// The file of the startup script. Dropping this value removes the file.
struct ScriptFile {
    folder: OwnFolder,
    /// The path relative to the space's folder, as tracebacks show it.
    shown: PathBuf,
}

impl ScriptFile {
    fn write(working_folder: &Path, script: &Script) -> io::Result<Self> {
        let shown = Path::new(FOLDER).join(SCRIPT_FILE);
        let folder = agent_folder(working_folder)?;
        folder.write(SCRIPT_FILE, script.source.as_bytes())?;
        Ok(Self { folder, shown })
    }
}

impl Drop for ScriptFile {
    fn drop(&mut self) {
        if let Err(error) = self.folder.remove(SCRIPT_FILE) {
            let file = self.shown.display();
            tracing::warn!(%error, %file, "cannot remove the startup script's file");
        }
    }
}

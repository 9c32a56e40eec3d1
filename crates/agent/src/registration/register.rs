//! Replaces the registration: new process, the server's word, then the old one's end.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use svc_core::registration::{CheckedRegistration, Mode};
use svc_protocol::{
    agent_api::{RegisterFile, Registered},
    env,
    link::{Register, SpaceIdentity},
    registration_file,
};

use super::{Current, Registrar, RegistrationError};
use crate::method_server::{Launch, MethodServer, Setup};

impl Registrar {
    pub(super) async fn register_now(
        &self,
        file: &RegisterFile,
    ) -> Result<Registered, RegistrationError> {
        let mut change = self.open_change().await?;
        let (link, space) = self.linked()?;
        let path = Path::new(&file.path);
        let folder = path
            .parent()
            .filter(|_| path.is_absolute())
            .ok_or_else(|| RegistrationError::RelativePath(file.path.clone()))?;
        if path.extension().is_some_and(|extension| extension == "py") {
            return Err(RegistrationError::Script(file.path.clone()));
        }
        let registration = registration_file::parse(&file.path, &file.text)?;
        let checked = registration
            .clone()
            .check(&space.name, &space.owner)
            .map_err(|violations| registration_file::locate(&file.path, &file.text, &violations))?;
        let old = change.current.as_ref().map(|old| Arc::clone(&old.server));
        let server = self.start(&checked, folder, &space, old.as_deref()).await?;
        change.generation += 1;
        let generation = change.generation;
        let asked = Register {
            registration,
            generation,
            replace_conflicting: file.replace_conflicting,
            place: None,
        };
        // Before the server knows of it: calls may follow its answer at once.
        self.routes.add(generation, Arc::clone(&server));
        let accepted = match self.ask(&asked).await {
            Ok(accepted) => accepted,
            Err(error) => {
                self.routes.remove(generation);
                server.stop().await;
                return Err(error);
            }
        };
        let names = names(&checked);
        let methods: Vec<_> = names.iter().map(|(name, _)| name.clone()).collect();
        let mut warnings = checked.warnings;
        warnings.extend(accepted.warnings);
        warnings.dedup();
        let current = Current {
            registration: asked.registration,
            names,
            generation,
            place: accepted.place,
            server: Arc::clone(&server),
        };
        self.replace(&mut change, Some(current), link);
        server.make_current();
        match old {
            Some(old) => self.retire(old, server),
            None => server.release(),
        }
        tracing::info!(methods = methods.len(), generation, "registered");
        Ok(Registered { methods, warnings })
    }

    async fn start(
        &self,
        checked: &CheckedRegistration,
        folder: &Path,
        space: &SpaceIdentity,
        old: Option<&MethodServer>,
    ) -> Result<Arc<MethodServer>, RegistrationError> {
        let definition = &checked.server;
        let env = BTreeMap::from([
            (env::AGENT_URL, self.addresses.url.clone()),
            (
                env::AGENT_SOCKET,
                self.addresses.socket.display().to_string(),
            ),
            (env::SPACE_ID, space.id.to_string()),
            (env::SPACE_NAME, space.name.to_string()),
        ]);
        let env = env.into_iter().map(|(key, value)| (key.to_owned(), value));
        let serial =
            definition.mode == Mode::Serial || old.is_some_and(|old| old.mode() == Mode::Serial);
        let setup = Setup {
            launch: Launch::new(definition, folder, env.collect())?,
            command: shown_command(&definition.command, &definition.args),
            mode: definition.mode,
            timeout: Duration::from_secs(definition.timeout.into()),
            held: serial,
        };
        let server = MethodServer::start(setup, self.around.clone()).await?;
        Ok(Arc::new(server))
    }

    /// Lets a replaced method server finish its calls, then stops it. Its successor, if that
    /// had to wait, begins as soon as the old one can no longer be at work.
    fn retire(&self, old: Arc<MethodServer>, successor: Arc<MethodServer>) {
        let routes = Arc::clone(&self.routes);
        let stopping = self.stopping.clone();
        old.step_back();
        self.tasks.spawn(async move {
            let drained = async {
                // Its own predecessor may still be at work: then so is the space.
                old.released().await;
                old.drain(old.timeout()).await;
            };
            tokio::select! {
                () = drained => {}
                () = stopping.cancelled() => {}
            }
            if old.is_idle() {
                successor.release();
                old.stop().await;
            } else {
                old.stop().await;
                successor.release();
            }
            routes.remove_server(&old);
        });
    }
}

fn names(checked: &CheckedRegistration) -> Vec<(String, String)> {
    checked
        .methods
        .iter()
        .map(|method| (method.name.to_string(), method.local_name.clone()))
        .collect()
}

fn shown_command(command: &str, args: &[String]) -> String {
    std::iter::once(command)
        .chain(args.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join(" ")
}

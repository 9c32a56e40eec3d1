//! Replaces the registration of the space: starts the new method server, asks the home server to
//! accept the registration, then retires the old method server.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use svc_core::registration::{CheckedRegistration, Registration};
use svc_link::SpaceIdentity;
use svc_protocol::{
    agent_api::{FOLDER, RegisterFile, Registered},
    registration_file,
};
use tokio::time::sleep;

use super::{CurrentRegistration, Registrar, RegistrationError};
use crate::method_server::{Launch, MethodServer, Setup};

impl Registrar {
    pub(super) async fn register_now(
        self: &Arc<Self>,
        file: &RegisterFile,
    ) -> Result<Registered, RegistrationError> {
        let mut change = self.open_change().await?;
        let (link, space) = self.linked()?;
        let folder = self.folder_of(&file.path)?;
        let (registration, checked) = read(file, &space)?;
        let old = change.current.as_ref().map(|old| Arc::clone(&old.server));
        let server = self.start(&checked, &folder, &space).await?;
        change.generation += 1;
        let mut current = CurrentRegistration {
            registration,
            names: names(&checked),
            generation: change.generation,
            place: None,
            ticket: None,
            server: Arc::clone(&server),
        };
        let methods = current.canonical_names();
        // Add the route before asking the home server: calls may arrive together with its answer.
        self.routes.add(current.generation, Arc::clone(&server));
        let accepted = match self.ask(&mut current, file.replace_conflicting).await {
            Ok(accepted) => accepted,
            Err(error) => {
                self.routes.remove(current.generation);
                server.stop().await;
                return Err(error);
            }
        };
        // The server makes the same check, so most of its warnings are repetitions.
        let mut warnings = checked.warnings;
        for warning in accepted {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        let generation = current.generation;
        self.replace(&mut change, Some(current), link);
        *self.last_file.lock() = Some(PathBuf::from(&file.path));
        server.make_current();
        match old {
            Some(old) => self.retire(old, server),
            None => self.release_in_turn(server),
        }
        tracing::info!(methods = methods.len(), generation, "registered");
        Ok(Registered { methods, warnings })
    }

    /// The working folder of the method server: the folder of the registration file. If the file is
    /// in the agent's own folder, like a startup script, the working folder is the space's folder.
    fn folder_of(&self, file: &str) -> Result<PathBuf, RegistrationError> {
        let path = Path::new(file);
        let folder = path
            .parent()
            .filter(|_| path.is_absolute())
            .ok_or_else(|| RegistrationError::RelativePath(file.to_owned()))?;
        let real = |folder: &Path| folder.canonicalize().ok();
        let own = self.working_folder.join(FOLDER);
        let is_own = folder == own || real(folder).is_some_and(|it| Some(it) == real(&own));
        Ok(if is_own { &self.working_folder } else { folder }.to_owned())
    }

    async fn start(
        &self,
        checked: &CheckedRegistration,
        folder: &Path,
        space: &SpaceIdentity,
    ) -> Result<Arc<MethodServer>, RegistrationError> {
        let definition = &checked.server;
        let services = &self.services;
        services
            .packages
            .refresh_within(services.policy.packages_wait)
            .await;
        let held = self.routes.must_wait(definition);
        #[cfg(test)]
        let held = held && !services.forgets_to_hold();
        let setup = Setup {
            launch: Launch::new(definition, folder, self.addresses.env(space))?,
            definition: definition.clone(),
            held,
        };
        // The start of a script server may take long. `Registrar::stop` waits for this registration.
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => Err(RegistrationError::Stopping),
            server = MethodServer::start(setup, services.clone()) => Ok(Arc::new(server?)),
        }
    }

    /// Lets a replaced method server finish its calls, then stops it. A held successor queues its
    /// calls until the old method server has no more calls or was stopped.
    fn retire(self: &Arc<Self>, old: Arc<MethodServer>, successor: Arc<MethodServer>) {
        let registrar = Arc::clone(self);
        old.mark_replaced();
        self.tasks.spawn(async move {
            let drained = async {
                // Side links lead to the servers of the zone that are not the home server. Such a
                // server sends calls to `old` until it has the new registration.
                let limit = registrar.services.policy.side_takeover;
                registrar.sides.wait(limit).await;
                // While `old` is held itself, its own predecessor may have calls, even if `old`
                // has none.
                old.released().await;
                old.drain(old.timeout()).await;
                registrar.wait_for_older(&successor, Some(&old)).await;
            };
            tokio::select! {
                biased;
                () = drained => {}
                () = registrar.stopping.cancelled() => {}
            }
            if old.is_idle() {
                successor.release();
                old.stop().await;
            } else {
                old.stop().await;
                successor.release();
            }
            registrar.routes.remove_server(&old);
        });
    }

    /// Releases a method server that replaces none. If it is held, older method servers finish
    /// their calls first.
    fn release_in_turn(self: &Arc<Self>, server: Arc<MethodServer>) {
        if server.is_released() {
            return;
        }
        let registrar = Arc::clone(self);
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = registrar.wait_for_older(&server, None) => server.release(),
                () = registrar.stopping.cancelled() => {}
            }
        });
    }

    /// If a method server is held, waits until all older method servers except `old` are idle. Each
    /// of them has its own limit of time.
    async fn wait_for_older(&self, held: &Arc<MethodServer>, old: Option<&Arc<MethodServer>>) {
        while !held.is_released() && self.routes.has_calls_before(held, old) {
            sleep(self.services.policy.tick).await;
        }
    }
}

/// Reads the registration of a request. Returns it as written, and as checked.
fn read(
    file: &RegisterFile,
    space: &SpaceIdentity,
) -> Result<(Registration, CheckedRegistration), RegistrationError> {
    let path = &file.path;
    match (&file.text, &file.registration) {
        (Some(_), None) if is_script(Path::new(path)) => {
            Err(RegistrationError::ScriptText(path.clone()))
        }
        (Some(text), None) => {
            let read = registration_file::read_file(path, text, &space.name, &space.owner)?;
            Ok(read)
        }
        (None, Some(registration)) => {
            let checked = registration.clone().check(&space.name, &space.owner);
            let checked =
                checked.map_err(|violations| registration_file::without_text(path, &violations))?;
            Ok((registration.clone(), checked))
        }
        (Some(_), Some(_)) | (None, None) => Err(RegistrationError::Contents),
    }
}

/// Whether a registration file is a Python script, which is run and not parsed.
pub fn is_script(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "py")
}

fn names(checked: &CheckedRegistration) -> Vec<(String, String)> {
    checked
        .methods
        .iter()
        .map(|method| (method.name.to_string(), method.local_name.clone()))
        .collect()
}

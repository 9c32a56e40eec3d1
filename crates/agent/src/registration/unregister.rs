//! Unregisters methods: one local name, all, or those that another space has taken over.

use std::sync::Arc;

use svc_link::{Control, Register};
use svc_protocol::agent_api::Unregistered;
use tokio::sync::mpsc;

use super::{Change, CurrentRegistration, Registrar, RegistrationError};

impl Registrar {
    pub(super) async fn unregister_now(
        &self,
        local_name: Option<&str>,
    ) -> Result<Unregistered, RegistrationError> {
        let mut change = self.open_change().await?;
        let (link, _) = self.linked()?;
        let names = change
            .current
            .as_ref()
            .map_or_else(Vec::new, |current| current.names.clone());
        let goes = |local: &str| local_name.is_none_or(|name| name == local);
        let (removed, remaining): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|(_, local)| goes(local));
        if let (Some(name), true) = (local_name, removed.is_empty()) {
            return Err(RegistrationError::UnknownLocalName(name.to_owned()));
        }
        let canonical =
            |names: &[(String, String)]| names.iter().map(|(name, _)| name.clone()).collect();
        let answer = Unregistered {
            removed: canonical(&removed),
            remaining: canonical(&remaining),
        };
        if remaining.is_empty() {
            self.remove_all(&mut change, link).await?;
        } else {
            self.reduce(&mut change, remaining, link).await?;
        }
        Ok(answer)
    }

    /// Registers only the remaining methods. The process keeps running under the old and a new
    /// generation, so that calls of the old generation still reach it.
    async fn reduce(
        &self,
        change: &mut Change,
        remaining: Vec<(String, String)>,
        link: u64,
    ) -> Result<(), RegistrationError> {
        let generation = change.generation + 1;
        let Some(current) = change.current.as_ref() else {
            return Ok(());
        };
        let mut registration = current.registration.clone();
        let mut kept = current.names.iter().map(|name| remaining.contains(name));
        registration
            .methods
            .retain(|_| kept.next().unwrap_or_default());
        let asked = Register {
            registration,
            generation,
            replace_conflicting: false,
            place: Some(current.place),
        };
        let server = Arc::clone(&current.server);
        self.routes.add(generation, Arc::clone(&server));
        change.generation = generation;
        let accepted = match self.ask(&asked).await {
            Ok(accepted) => accepted,
            Err(error) => {
                self.routes.remove(generation);
                return Err(error);
            }
        };
        let reduced = CurrentRegistration {
            registration: asked.registration,
            names: remaining,
            generation,
            place: accepted.place,
            server,
        };
        let server = Arc::clone(&reduced.server);
        self.replace(change, Some(reduced), link);
        // The server assumes a running method server after a registration. Report the real state.
        server.report();
        Ok(())
    }

    /// Removes methods that another space has taken over. A registration that still had them would be
    /// refused on the next link. Runs until the link ends.
    pub async fn remove_displaced(&self, mut taken_over: mpsc::UnboundedReceiver<Vec<String>>) {
        while let Some(methods) = taken_over.recv().await {
            let mut change = self.change.lock().await;
            let Some(mut current) = change.current.take() else {
                continue;
            };
            let mut kept = current
                .names
                .iter()
                .map(|(name, _)| !methods.contains(name));
            current
                .registration
                .methods
                .retain(|_| kept.next().unwrap_or_default());
            current.names.retain(|(name, _)| !methods.contains(name));
            tracing::warn!(
                ?methods,
                "another space has taken over methods of this space"
            );
            let link = change.accepted_on.unwrap_or_default();
            if current.names.is_empty() {
                self.replace(&mut change, None, link);
                current.server.stop().await;
                self.routes.remove_server(&current.server);
            } else {
                self.replace(&mut change, Some(current), link);
            }
        }
    }

    async fn remove_all(&self, change: &mut Change, link: u64) -> Result<(), RegistrationError> {
        self.request(&Control::Unregister).await?;
        let old = change.current.take();
        self.replace(change, None, link);
        if let Some(old) = old {
            old.server.drain(self.services.policy.shutdown_drain).await;
            old.server.stop().await;
            self.routes.remove_server(&old.server);
            tracing::info!("unregistered");
        }
        Ok(())
    }
}

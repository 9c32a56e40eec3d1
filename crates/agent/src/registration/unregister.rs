//! Unregisters the methods with one local name, all methods, or the methods that another space has
//! taken over.

use std::sync::Arc;

use svc_link::Control;
use svc_protocol::agent_api::Unregistered;

use super::{Change, CurrentRegistration, Registrar, RegistrationError};
use crate::method_server::MethodServer;

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
            self.reduce(&mut change, &remaining, link).await?;
        }
        Ok(answer)
    }

    /// Registers only the remaining methods, as a new generation. Both generations are routed to
    /// the same process, so that calls of the old generation still reach it.
    async fn reduce(
        &self,
        change: &mut Change,
        remaining: &[(String, String)],
        link: u64,
    ) -> Result<(), RegistrationError> {
        let Some(current) = change.current.as_ref() else {
            return Ok(());
        };
        change.generation += 1;
        let mut reduced = current.clone();
        reduced.keep_methods(|name| remaining.contains(name));
        reduced.generation = change.generation;
        reduced.ticket = None;
        self.routes
            .add(reduced.generation, Arc::clone(&reduced.server));
        if let Err(error) = self.ask(&mut reduced, false).await {
            self.routes.remove(reduced.generation);
            return Err(error);
        }
        let server = Arc::clone(&reduced.server);
        self.replace(change, Some(reduced), link);
        // After a registration, the server assumes that the method server runs. Report the real
        // state.
        server.report();
        Ok(())
    }

    /// Removes methods that another space has taken over. Otherwise the server would refuse the
    /// registration on the next link.
    pub fn remove_displaced(self: &Arc<Self>, methods: Vec<String>) {
        let registrar = Arc::clone(self);
        self.tasks
            .spawn(async move { registrar.remove_displaced_now(&methods).await });
    }

    async fn remove_displaced_now(&self, methods: &[String]) {
        let mut change = self.change.lock().await;
        let Some(current) = change.current.as_ref() else {
            return;
        };
        // Several servers may report the same methods.
        if !current.names.iter().any(|(name, _)| methods.contains(name)) {
            return;
        }
        tracing::warn!(
            ?methods,
            "another space has taken over methods of this space"
        );
        let link = change.accepted_on.unwrap_or_default();
        let names = current.names.iter();
        let remaining: Vec<_> = names
            .filter(|(name, _)| !methods.contains(name))
            .cloned()
            .collect();
        // With a ticket, other servers of the zone may have the registration too. The report may
        // come from one of them, so tell the home server, which issues a new ticket.
        if current.ticket.is_some() {
            let told = match remaining.is_empty() {
                true => self.remove_all(&mut change, link).await,
                false => self.reduce(&mut change, &remaining, link).await,
            };
            match told {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, "cannot update the registration"),
            }
        }
        let Some(mut current) = change.current.take() else {
            return;
        };
        current.keep_methods(|name| remaining.contains(name));
        current.ticket = None;
        if current.names.is_empty() {
            self.replace(&mut change, None, link);
            self.end(&current.server).await;
        } else {
            self.replace(&mut change, Some(current), link);
        }
    }

    async fn remove_all(&self, change: &mut Change, link: u64) -> Result<(), RegistrationError> {
        match self.request(&Control::Unregister).await? {
            Control::Unregistered => {}
            other => return Err(self.unexpected_answer(&other)),
        }
        let old = change.current.take();
        self.replace(change, None, link);
        if let Some(old) = old {
            let limit = self.services.policy.side_takeover;
            self.sides.wait(limit).await;
            self.end(&old.server).await;
            tracing::info!("unregistered");
        }
        Ok(())
    }

    /// Stops a method server that has no methods any more. Before that, waits a limited time for
    /// its calls to finish.
    async fn end(&self, server: &Arc<MethodServer>) {
        server.drain(self.services.policy.shutdown_drain).await;
        server.stop().await;
        self.routes.remove_server(server);
    }
}

impl CurrentRegistration {
    fn keep_methods(&mut self, is_kept: impl Fn(&(String, String)) -> bool) {
        let mut kept = self.names.iter().map(&is_kept);
        self.registration
            .methods
            .retain(|_| kept.next().unwrap_or_default());
        self.names.retain(is_kept);
    }
}

//! What an agent says besides answers: registrations, its method server's state, health, logs.

use std::{collections::BTreeMap, sync::Arc};

use svc_core::{CanonicalName, SpaceId};
use svc_protocol::link::{Control, Goodbye, MethodServerState, Register};
use tokio::sync::mpsc;
use tracing::{info, warn};

use super::{Availability, Link, Links, LiveSpace};
use crate::methods::publish::{CheckedPublication, Refused};

/// Bytes of an agent's own words that are kept.
const REASON_BYTES_MAX: usize = 4 * 1024;

impl Links {
    /// Handles an agent's control messages one after the other, until its link ends.
    pub(super) async fn handle_control(
        self: Arc<Self>,
        live: Arc<LiveSpace>,
        link: Arc<Link>,
        mut messages: mpsc::Receiver<Box<(u64, Control)>>,
    ) {
        while let Some(message) = messages.recv().await {
            let (id, message) = *message;
            // What takes much room is made when it is needed: most links are idle most of the time.
            match message {
                Control::Register(register) => {
                    Box::pin(self.register(&live, &link, id, *register)).await;
                }
                Control::Log { lines, dropped } => self.logs.append(live.id, lines, dropped),
                Control::Goodbye { reason } => {
                    link.set_agent_goodbye(reason);
                    link.ending().cancel();
                }
                message => {
                    // What a replaced link still says is no news of the space.
                    let _transition = live.transition.lock().await;
                    if live.is_current(&link) {
                        Box::pin(self.hear(&live, &link, id, message)).await;
                    }
                }
            }
        }
    }

    /// Handles news of the space, its transitions held still.
    async fn hear(&self, live: &Arc<LiveSpace>, link: &Arc<Link>, id: u64, message: Control) {
        match message {
            Control::Unregister => {
                self.unregister(live).await;
                let _ = link.control(id, &Control::Unregistered);
            }
            Control::RegistrationLost { error } => {
                let error = error[..error.floor_char_boundary(REASON_BYTES_MAX)].to_owned();
                warn!(space.id = %live.id, "re-registration refused: {error}");
                self.unregister(live).await;
                live.set_registration_error(Some(error));
            }
            Control::MethodServer { state, restarts } => {
                self.method_server_changed(live, state, restarts);
            }
            Control::Health {
                current,
                consecutive_failures,
                checked_at,
            } => {
                let changed = self
                    .lifecycle
                    .health_changed(live.id, current, consecutive_failures, checked_at)
                    .await;
                if let Err(error) = changed {
                    warn!(space.id = %live.id, "health not recorded: {error}");
                }
            }
            other => {
                warn!(space.id = %live.id, message = ?std::mem::discriminant(&other), "unexpected control message");
                link.end(Goodbye::Protocol);
            }
        }
    }

    async fn register(&self, live: &Arc<LiveSpace>, link: &Arc<Link>, id: u64, register: Register) {
        let registered = match self.publisher.check(live, register).await {
            Ok(checked) => self.publish(live, link, id, checked).await,
            Err(refused) => Err(refused),
        };
        match registered {
            Ok(displaced) => self.displace(displaced).await,
            Err(refused) => {
                info!(space.id = %live.id, space.name = %live.name, "registration refused: {refused}");
                let problem = refused.to_problem();
                let _ = link.control(id, &Control::RegisterRefused { problem });
            }
        }
    }

    /// Lets a checked registration stand: its subscriptions in the store first, then its methods.
    async fn publish(
        &self,
        live: &Arc<LiveSpace>,
        link: &Arc<Link>,
        id: u64,
        checked: CheckedPublication,
    ) -> Result<Vec<(SpaceId, CanonicalName)>, Refused> {
        let _transition = live.transition.lock().await;
        if !live.is_current(link) || link.ending().is_cancelled() {
            return Ok(Vec::new());
        }
        self.publisher.check_conflicts(&checked)?;
        let lanes = self.declare(live, checked.subscriptions()).await?;
        // The answer is queued before anyone can pick the new providers, so an agent never sees a
        // call of a registration it does not yet know to stand.
        let published = self.publisher.publish(checked, |accepted| {
            live.set_registration_error(None);
            let _ = link.control(id, &Control::Registered(accepted));
            live.set_availability(Availability::Ready);
        });
        match published {
            Ok(displaced) => {
                info!(space.id = %live.id, space.name = %live.name, "registered");
                self.wake(lanes);
                Ok(displaced)
            }
            Err(refused) => {
                // Another space came first, in the moment of the writing: what stood, stands.
                self.declare(live, self.registry.subscriptions_of(live.id))
                    .await?;
                Err(refused)
            }
        }
    }

    /// Tells the agents whose methods another space has taken over.
    async fn displace(&self, displaced: Vec<(SpaceId, CanonicalName)>) {
        let mut by_space: BTreeMap<SpaceId, Vec<String>> = BTreeMap::new();
        for (space, name) in displaced {
            by_space.entry(space).or_default().push(name.to_string());
        }
        for (space, methods) in by_space {
            info!(space.id = %space, ?methods, "methods taken over by another space");
            let Some(live) = self.find(space) else {
                continue;
            };
            let _transition = live.transition.lock().await;
            if let Err(error) = self
                .declare(&live, self.registry.subscriptions_of(space))
                .await
            {
                warn!(space.id = %space, "subscriptions not withdrawn: {error}");
            }
            if let Some(link) = live.link() {
                let _ = link.control(0, &Control::Displaced { methods });
            }
        }
    }

    async fn unregister(&self, live: &Arc<LiveSpace>) {
        if let Err(error) = self.declare(live, Vec::new()).await {
            warn!(space.id = %live.id, "subscriptions not withdrawn: {error}");
        }
        let methods = self.registry.withdraw(live.id);
        live.set_registration_error(None);
        info!(space.id = %live.id, space.name = %live.name, methods, "unregistered");
    }

    fn method_server_changed(
        &self,
        live: &Arc<LiveSpace>,
        state: MethodServerState,
        restarts: u64,
    ) {
        self.metrics
            .method_server_restarts(live.note_restarts(restarts));
        // Before it has registered on this link, nothing of this space can take calls.
        if live.availability() != Availability::Unlinked {
            live.set_availability(match state {
                MethodServerState::Running => Availability::Ready,
                MethodServerState::Restarting => Availability::Restarting,
            });
        }
    }
}

//! What an agent says besides answers: registrations, its method server's state, health, logs.

use std::sync::Arc;

use svc_protocol::link::{Control, Goodbye, MethodServerState, Register};
use tokio::sync::mpsc;
use tracing::{info, warn};

use super::{Availability, Link, Links, LiveSpace};

impl Links {
    /// Handles an agent's control messages one after the other, until its link ends.
    pub(super) async fn handle_control(
        self: Arc<Self>,
        live: Arc<LiveSpace>,
        link: Arc<Link>,
        mut messages: mpsc::Receiver<(u64, Control)>,
    ) {
        while let Some((id, message)) = messages.recv().await {
            match message {
                Control::Register(register) => self.register(&live, &link, id, *register).await,
                Control::Unregister => {
                    self.unregister(&live, &link).await;
                    let _ = link.control(id, &Control::Unregistered);
                }
                Control::RegistrationLost { error } => {
                    warn!(space.id = %live.id, "re-registration refused: {error}");
                    self.unregister(&live, &link).await;
                    live.set_registration_error(Some(error));
                }
                Control::MethodServer { state, restarts } => {
                    self.method_server_changed(&live, &link, state, restarts);
                }
                Control::Health { current, consecutive_failures, checked_at } => {
                    let changed = self
                        .lifecycle
                        .health_changed(live.id, current, consecutive_failures, checked_at)
                        .await;
                    if let Err(error) = changed {
                        warn!(space.id = %live.id, "health not recorded: {error}");
                    }
                }
                Control::Log { lines, dropped } => self.logs.append(live.id, lines, dropped),
                Control::Goodbye { reason } => {
                    live.set_agent_goodbye(reason);
                    link.ending().cancel();
                }
                other => {
                    warn!(space.id = %live.id, message = ?std::mem::discriminant(&other), "unexpected control message");
                    link.end(Goodbye::Protocol);
                }
            }
        }
    }

    async fn register(&self, live: &Arc<LiveSpace>, link: &Arc<Link>, id: u64, register: Register) {
        let _transition = live.transition.lock().await;
        if !live.is_current(link) {
            return;
        }
        // The answer is queued before anyone can pick the new providers, so an agent never sees
        // a call of a registration it does not yet know to stand.
        let answer = |accepted| {
            live.set_registration_error(None);
            let _ = link.control(id, &Control::Registered(accepted));
            live.set_availability(Availability::Ready);
        };
        match self.publisher.publish(live, register, answer) {
            Ok(methods) => info!(space.id = %live.id, space.name = %live.name, methods, "registered"),
            Err(refused) => {
                info!(space.id = %live.id, space.name = %live.name, "registration refused: {refused}");
                let problem = refused.to_problem();
                let _ = link.control(id, &Control::RegisterRefused { problem });
            }
        }
    }

    async fn unregister(&self, live: &Arc<LiveSpace>, link: &Arc<Link>) {
        let _transition = live.transition.lock().await;
        if live.is_current(link) {
            let methods = self.registry.withdraw(live.id);
            live.set_registration_error(None);
            info!(space.id = %live.id, space.name = %live.name, methods, "unregistered");
        }
    }

    fn method_server_changed(
        &self,
        live: &Arc<LiveSpace>,
        link: &Arc<Link>,
        state: MethodServerState,
        restarts: u64,
    ) {
        self.metrics.method_server_restarts(live.note_restarts(restarts));
        // Before it has registered on this link, nothing of this space can take calls.
        if live.is_current(link) && live.availability() != Availability::Unlinked {
            live.set_availability(match state {
                MethodServerState::Running => Availability::Ready,
                MethodServerState::Restarting => Availability::Restarting,
            });
        }
    }
}

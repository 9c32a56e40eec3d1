//! Handles the control messages of an agent: registrations, state of the method server, health,
//! logs.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use svc_core::{
    CanonicalName, SpaceId,
    text::{LOGGED_BYTES_MAX, shorten},
};
use svc_link::{Control, Goodbye, Register};
use svc_protocol::agent_api::MethodServerState;
use tokio::{sync::mpsc, time::timeout_at};
use tracing::{info, warn};

use super::{Links, tickets::AcceptedClaim};
use crate::{
    live::{Availability, HealthReport, Link, LiveSpace},
    methods::publish::RegistrationRejected,
};

/// The maximum number of bytes that are kept of an error text from an agent.
const REASON_BYTES_MAX: usize = 4 * 1024;

/// The newest health report, and when it may be recorded.
struct PostponedReport {
    report: HealthReport,
    until: Instant,
}

impl Links {
    /// Handles the control messages of an agent in order, until its link ends.
    pub(super) async fn handle_control(
        self: Arc<Self>,
        live: Arc<LiveSpace>,
        link: Arc<Link>,
        mut messages: mpsc::Receiver<Box<(u64, Control)>>,
    ) {
        let mut postponed = None;
        while let Some(message) = self
            .next_message(&live, &link, &mut messages, &mut postponed)
            .await
        {
            let (id, message) = *message;
            // Large futures are boxed, so that idle links need little memory.
            match message {
                Control::Goodbye { reason } => {
                    link.set_agent_goodbye(reason);
                    link.closing().end_silently();
                }
                Control::Register(register) => {
                    Box::pin(self.register(&live, &link, id, *register)).await;
                }
                message if link.is_side() && !is_of_side_link(&message) => {
                    Self::reject_on_side(&live, &link, &message);
                }
                Control::Log { lines, dropped } => {
                    self.logs.append((live.owner, live.id), lines, dropped);
                }
                Control::FlushLog => {
                    let _ = link.control(id, &Control::LogFlushed);
                }
                Control::Health {
                    current,
                    consecutive_failures,
                    checked_at,
                } => {
                    let report = HealthReport {
                        current,
                        consecutive_failures,
                        checked_at,
                    };
                    Box::pin(self.pace_health(&live, &link, report, &mut postponed)).await;
                }
                message => {
                    // Messages of a replaced link are stale and are ignored.
                    let _transition = live.transition.lock().await;
                    if live.is_current(&link) {
                        Box::pin(self.handle_change(&live, &link, id, message)).await;
                    }
                }
            }
        }
    }

    /// Handles a message that changes the space. The caller holds the transition lock.
    async fn handle_change(
        &self,
        live: &Arc<LiveSpace>,
        link: &Arc<Link>,
        id: u64,
        message: Control,
    ) {
        match message {
            Control::Unregister => {
                if link.is_side() {
                    self.registry.withdraw(live.id);
                } else {
                    self.unregister(live).await;
                }
                let _ = link.control(id, &Control::Unregistered);
            }
            Control::RegistrationLost { error } => {
                let error = shorten(&error, REASON_BYTES_MAX).into_owned();
                // Otherwise the agent only repeats itself.
                if live.registration_error().is_none() || self.has_registration(live) {
                    let shown = shorten(&error, LOGGED_BYTES_MAX);
                    warn!(owner.id = %live.owner, space.id = %live.id, "the space has no registration: {shown}");
                }
                self.unregister(live).await;
                live.set_registration_error(Some(error));
            }
            Control::MethodServer { state, restarts } => {
                if !link.is_side() {
                    let restarts = live.note_restarts(restarts);
                    self.metrics.method_server_restarts(restarts);
                }
                // A space takes no calls before it has registered on this link.
                if live.availability() != Availability::Unlinked {
                    live.set_availability(match state {
                        MethodServerState::Running => Availability::Ready,
                        MethodServerState::Restarting => Availability::Restarting,
                    });
                }
            }
            other => {
                warn!(owner.id = %live.owner, space.id = %live.id, message = ?std::mem::discriminant(&other), "unexpected control message");
                link.closing().end(Goodbye::Protocol);
            }
        }
    }

    /// Waits for the next message, and records a postponed health report when it is due.
    async fn next_message(
        &self,
        live: &Arc<LiveSpace>,
        link: &Arc<Link>,
        messages: &mut mpsc::Receiver<Box<(u64, Control)>>,
        postponed: &mut Option<Box<PostponedReport>>,
    ) -> Option<Box<(u64, Control)>> {
        while let Some(PostponedReport { report, until }) = postponed.as_deref() {
            // Boxed: most links never wait here.
            let waiting = Box::pin(timeout_at((*until).into(), messages.recv()));
            if let Ok(message) = waiting.await {
                return message;
            }
            let report = *report;
            *postponed = None;
            Box::pin(self.pace_health(live, link, report, postponed)).await;
        }
        messages.recv().await
    }

    /// Records a health report, or postpones it if the space has announced many changes. Only the
    /// newest report waits, so the last recorded health is correct, and every recorded change has
    /// its event.
    async fn pace_health(
        &self,
        live: &Arc<LiveSpace>,
        link: &Arc<Link>,
        report: HealthReport,
        postponed: &mut Option<Box<PostponedReport>>,
    ) {
        if let Some(waiting) = postponed {
            waiting.report = report;
            return;
        }
        let now = Instant::now();
        if let Err(wait) = self.health_pace.take(live.id, now) {
            let until = now + wait;
            *postponed = Some(Box::new(PostponedReport { report, until }));
            return;
        }
        let _transition = live.transition.lock().await;
        if !live.is_current(link) {
            return;
        }
        if let Err(error) = self.lifecycle.health_changed(live.id, report).await {
            warn!(owner.id = %live.owner, space.id = %live.id, "cannot record the health of a space: {error}");
        }
    }

    /// Registers methods, and handles those that the registration displaced
    /// ([`displace`](Self::displace)), or reports to the agent that the registration is refused.
    async fn register(&self, live: &Arc<LiveSpace>, link: &Arc<Link>, id: u64, register: Register) {
        let registered = match link.is_side() {
            true => self.take_over(live, link, id, register).await,
            false => self.publish(live, link, id, register).await,
        };
        match registered {
            Ok(displaced) => self.displace(displaced).await,
            Err(refused) => {
                // Beyond the limit, an agent decides how many lines there would be.
                if !matches!(refused, RegistrationRejected::TooMany(_)) {
                    let refused = refused.to_string();
                    let shown = shorten(&refused, LOGGED_BYTES_MAX);
                    info!(owner.id = %live.owner, space.id = %live.id, space.name = %live.name, is_side = link.is_side(), "registration refused: {shown}");
                }
                let problem = refused.to_problem();
                let _ = link.control(id, &Control::RegisterRefused { problem });
            }
        }
    }

    /// Publishes a registration: first its subscriptions in the store, then its methods.
    async fn publish(
        &self,
        live: &Arc<LiveSpace>,
        link: &Arc<Link>,
        id: u64,
        register: Register,
    ) -> Result<Vec<(SpaceId, CanonicalName)>, RegistrationRejected> {
        self.publisher.admit(live, link)?;
        let checked = self.publisher.check(live, register).await?;
        let _transition = live.transition.lock().await;
        if !live.is_current(link) || link.closing().is_ended() {
            return Ok(Vec::new());
        }
        self.publisher.check_conflicts(&checked)?;
        let quotas = Some(checked.quotas());
        let lanes = self.declare(live, checked.subscriptions(), quotas).await?;
        // The answer is queued before any caller can pick the new providers, so the acceptance
        // reaches the agent before any call of the new registration.
        let (generation, replaces) = (checked.generation(), checked.replaces());
        let digest = *checked.digest();
        let published = self.publisher.publish(checked, |mut accepted| {
            live.set_registration_error(None);
            accepted.ticket = self.lifecycle.store.is_shared().then(|| {
                self.keys.issue(AcceptedClaim {
                    space: live.id,
                    instance: &link.instance,
                    generation,
                    place: accepted.place,
                    replaces,
                    digest: &digest,
                })
            });
            let _ = link.control(id, &Control::Registered(accepted));
            live.set_availability(Availability::Ready);
        });
        match published {
            Ok(displaced) => {
                info!(owner.id = %live.owner, space.id = %live.id, space.name = %live.name, "registered");
                self.wake(lanes);
                Ok(displaced)
            }
            Err(refused) => {
                // Another space registered a conflicting method during the write: the old
                // registration stays.
                self.declare(live, self.registry.subscriptions_of(live.id), None)
                    .await?;
                Err(refused)
            }
        }
    }

    /// Removes the stored subscriptions of methods that another space replaced, and sends the names
    /// of these methods to the agents that offered them.
    async fn displace(&self, displaced: Vec<(SpaceId, CanonicalName)>) {
        let mut by_space: BTreeMap<SpaceId, Vec<String>> = BTreeMap::new();
        for (space, name) in displaced {
            by_space.entry(space).or_default().push(name.to_string());
        }
        for (space, methods) in by_space {
            let Some(live) = self.find(space) else {
                continue;
            };
            info!(owner.id = %live.owner, space.id = %space, methods = methods.len(), "methods taken over by another space");
            let _transition = live.transition.lock().await;
            // For a side link, the home server changes the subscriptions when the agent registers
            // the remaining methods there.
            if !live.is_side()
                && let Err(error) = self
                    .declare(&live, self.registry.subscriptions_of(space), None)
                    .await
            {
                warn!(owner.id = %live.owner, space.id = %space, "cannot remove the subscriptions of a space: {error}");
            }
            if let Some(link) = live.link() {
                let _ = link.control(0, &Control::Displaced { methods });
            }
        }
    }

    fn has_registration(&self, live: &LiveSpace) -> bool {
        self.registry.count_of(live.id) > 0 || self.declares(live.id)
    }

    async fn unregister(&self, live: &Arc<LiveSpace>) {
        let had_registration = self.has_registration(live);
        if let Err(error) = self.declare(live, Vec::new(), None).await {
            warn!(owner.id = %live.owner, space.id = %live.id, "cannot remove the subscriptions of a space: {error}");
        }
        let methods = self.registry.withdraw(live.id);
        live.set_registration_error(None);
        if had_registration {
            info!(owner.id = %live.owner, space.id = %live.id, space.name = %live.name, methods, "unregistered");
        }
    }
}

/// Whether an agent may send a message over a side link.
fn is_of_side_link(message: &Control) -> bool {
    matches!(message, Control::Unregister | Control::MethodServer { .. })
}

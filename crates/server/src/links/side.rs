//! Side links: links of agents whose home link is at another server of the zone.
//!
//! A side link carries calls, and the registration that the home server has accepted. It must never
//! change the state of the space, its health, its log, its subscriptions or the audit log.

use std::{sync::Arc, time::Duration};

use svc_core::{
    CanonicalName, ServerId, SpaceId,
    space::{State, StopReason},
};
use svc_link::{
    AcceptedRegistration, Control, Goodbye, Hello, OutboxReader, Refusal, RefusalCode, Register,
    SideLink,
};
use svc_store::spaces::SpaceRow;
use tracing::{debug, warn};

use super::{
    Links,
    refusals::{denial, draining, link_refusal, log_refusal},
    tickets::AcceptedClaim,
};
use crate::{
    identity::Caller,
    lifecycle::LinkRefused,
    live::{Availability, Link, LinkSetup, LiveSpace},
    methods::publish::RegistrationRejected,
};

/// The minimum time that a link stays after another link of its agent has replaced it: callers that
/// chose the old link just before still send on it.
const REPLACED_LINGER: Duration = Duration::from_millis(250);
const IDLE_CHECK: Duration = Duration::from_millis(10);

impl Links {
    /// Decides whether to accept a side link, and attaches it to the space.
    pub(super) async fn admit_side(
        self: &Arc<Self>,
        hello: &Hello,
        side: &SideLink,
        caller: Caller,
        space: SpaceId,
    ) -> Result<(Arc<LiveSpace>, Arc<Link>, OutboxReader), Refusal> {
        if self.shutdown.is_cancelled() {
            return Err(draining());
        }
        let identity = self.lifecycle.identity_of(space).await;
        let identity = identity.map_err(|refused| log_refusal(caller.user.id, refused))?;
        let (live, _transition) = self.enter_locked(identity, space).await;
        let checked = self.check_side(hello, &caller, space).await;
        let home = checked.inspect_err(|refusal| {
            // A space that never had a link here was added to memory for this link only.
            if live.link_number() == 0 && refusal.code != RefusalCode::HomeHere {
                self.forget(space);
            }
        })?;
        let (link, outgoing) = Link::new(LinkSetup {
            instance: hello.instance.clone(),
            caller,
            home: Some(home),
            user_key: self.keys.users_of(space),
            budgets: self.budgets.clone(),
        });
        let welcome = self.welcome(&live, Default::default(), None);
        let _ = link.control(0, &Control::Welcome(Box::new(welcome)));
        let old = live.attach(Arc::clone(&link));
        self.replace(&live, &link, old);
        debug!(space.id = %space, space.name = %live.name, home.id = %side.home, "side link");
        Ok((Arc::clone(&live), link, outgoing))
    }

    /// Returns the server of the agent's home link.
    async fn check_side(
        &self,
        hello: &Hello,
        caller: &Caller,
        space: SpaceId,
    ) -> Result<ServerId, Refusal> {
        let directory = &self.publisher.directory;
        directory
            .recheck(caller, svc_clock::now())
            .map_err(denial)?;
        let read = self.lifecycle.find_with_instance(space).await;
        let (row, instance) =
            read.map_err(|error| log_refusal(caller.user.id, LinkRefused::Store(error)))?;
        let is_same_agent = instance.as_ref() == Some(&hello.instance);
        check_home(row.as_ref(), is_same_agent, self.server_id)
    }

    /// Takes over a registration that the agent's home server has accepted.
    pub(super) async fn take_over(
        &self,
        live: &Arc<LiveSpace>,
        link: &Arc<Link>,
        id: u64,
        register: Register,
    ) -> Result<Vec<(SpaceId, CanonicalName)>, RegistrationRejected> {
        let ticket = register
            .ticket
            .clone()
            .ok_or(RegistrationRejected::Ticket)?;
        self.publisher.admit(live, link)?;
        let place = register.place.ok_or(RegistrationRejected::Ticket)?;
        let checked = self.publisher.check_accepted(live, register).await?;
        let generation = checked.generation();
        let claim = AcceptedClaim {
            space: live.id,
            instance: &link.instance,
            generation,
            place,
            replaces: checked.replaces(),
            digest: checked.digest(),
        };
        if !self.keys.is_valid(&ticket, claim) {
            return Err(RegistrationRejected::Ticket);
        }
        let _transition = live.transition.lock().await;
        if !live.is_current(link) || link.closing().is_ended() {
            return Ok(Vec::new());
        }
        if !live.may_take_over(&link.instance, generation) {
            return Err(RegistrationRejected::Outdated);
        }
        self.publisher.publish(checked, |accepted| {
            live.note_taken_over(&link.instance, generation);
            live.set_registration_error(None);
            // The home server has already sent the warnings.
            let accepted = AcceptedRegistration {
                warnings: Vec::new(),
                ..accepted
            };
            let _ = link.control(id, &Control::Registered(accepted));
            live.set_availability(Availability::Ready);
        })
    }

    /// Ends the link that a new link has replaced.
    pub(super) fn replace(
        self: &Arc<Self>,
        live: &Arc<LiveSpace>,
        link: &Arc<Link>,
        old: Option<Arc<Link>>,
    ) {
        match old {
            Some(old) if old.instance != link.instance => old.closing().end(Goodbye::Replaced),
            // The agent makes this server its home, or another one. Calls in flight on the old link
            // finish.
            Some(old) if old.is_side() != link.is_side() => self.retire(old),
            // The agent does not use the old link any more.
            Some(old) => old.closing().end(Goodbye::Reconnect),
            None => {}
        }
        // Check again: a revocation that happened before `attach` did not find this link.
        if let Some(reason) = self.find_denial(live) {
            link.closing().end(reason);
        }
        self.expect_registration(live);
    }

    /// Lets the calls of a replaced link finish, then ends the link.
    fn retire(&self, old: Arc<Link>) {
        let limit = self.policy.drain;
        self.tasks.spawn(async move {
            let finished = async {
                tokio::time::sleep(REPLACED_LINGER).await;
                while !old.is_idle() && !old.closing().is_ended() {
                    tokio::time::sleep(IDLE_CHECK).await;
                }
            };
            let _ = tokio::time::timeout(limit.max(REPLACED_LINGER), finished).await;
            old.closing().end(Goodbye::Reconnect);
        });
    }

    /// Ends a side link after a message that only a home link may carry.
    pub(super) fn reject_on_side(live: &LiveSpace, link: &Link, message: &Control) {
        warn!(owner.id = %live.owner, space.id = %live.id, message = ?std::mem::discriminant(message), "unexpected control message on a side link");
        link.closing().end(Goodbye::Protocol);
    }

    /// Removes the methods of a lost side link unless a new link comes within the grace period.
    pub(super) fn expect_side(self: &Arc<Self>, live: &Arc<LiveSpace>) {
        debug!(space.id = %live.id, space.name = %live.name, "side link lost");
        self.after_grace(live, async |links, live| {
            if live.link().is_none() {
                links.remove_side(&live);
            }
        });
    }

    /// Removes a space without a link, whose last link was a side link.
    pub(super) fn remove_side(&self, live: &LiveSpace) {
        self.registry.withdraw(live.id);
        self.forget(live.id);
    }
}

/// Whether the agent may have a side link here: it must be the agent that has the home link of the
/// space, and the home link must be at another server.
fn check_home(
    row: Option<&SpaceRow>,
    is_same_agent: bool,
    here: ServerId,
) -> Result<ServerId, Refusal> {
    let Some(row) = row.filter(|row| row.state != State::Deleted) else {
        return Err(link_refusal(LinkRefused::Gone));
    };
    if row.stop_reason == Some(StopReason::Requested) {
        return Err(link_refusal(LinkRefused::Stopped));
    }
    let home = row.node_id.filter(|_| row.state == State::Deployed);
    let Some(home) = home.filter(|_| is_same_agent) else {
        let detail = "this agent has no home link; a side link needs one";
        return Err(Refusal::new(RefusalCode::NoHome, detail, true));
    };
    if home == here {
        let detail = "the home link of the space is at this server";
        return Err(Refusal::new(RefusalCode::HomeHere, detail, true));
    }
    Ok(home)
}

/// The goodbye to a side link after a change of the space; `None` if the link may stay.
pub(super) fn side_goodbye(row: Option<&SpaceRow>, is_same_agent: bool) -> Option<Goodbye> {
    let Some(row) = row else {
        return Some(Goodbye::Revoked);
    };
    if row.stop_reason == Some(StopReason::Requested) {
        return Some(Goodbye::SpaceStopped);
    }
    if row.state != State::Deployed {
        return Some(Goodbye::Reconnect);
    }
    (!is_same_agent).then_some(Goodbye::Replaced)
}

#[cfg(test)]
mod tests;

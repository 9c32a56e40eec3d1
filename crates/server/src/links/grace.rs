//! After a link is lost: its space waits for a new one within the grace period, then stops.

use std::{sync::Arc, time::Duration};

use svc_core::{SpaceId, UserId, space::StopReason};
use svc_link::{Goodbye, SpaceIdentity};
use svc_store::StoreError;
use tracing::{error, info};

use super::Links;
use crate::live::{Availability, Link, LiveSpace};

/// Between attempts to write while the database cannot be reached.
const AGAIN: Duration = Duration::from_millis(500);

impl Links {
    /// Takes a link out of its space.
    pub(super) async fn part(self: &Arc<Self>, live: Arc<LiveSpace>, link: &Arc<Link>) {
        let _transition = live.transition.lock().await;
        if !live.detach(link) {
            return; // Another link has taken its place.
        }
        if link.agent_goodbye() == Some(Goodbye::AgentStopping) {
            self.stop(&live, StopReason::AgentStopped).await;
            self.withdraw_subscriptions_later(live.id);
        } else if !self.shutdown.is_cancelled() {
            info!(space.id = %live.id, space.name = %live.name, "link lost");
            self.wait_for(Arc::clone(&live));
        }
    }

    /// Every space that was deployed when the server last ran waits for its agent.
    pub async fn expect_deployed(self: &Arc<Self>) -> Result<(), StoreError> {
        for (owner, identity) in self.lifecycle.deployed().await? {
            self.expect(owner, identity);
        }
        for space in self.lifecycle.subscribed().await? {
            self.note_declaring(space, true);
            self.withdraw_subscriptions_later(space);
        }
        Ok(())
    }

    /// At start, every deployed space gets a whole grace period.
    fn expect(self: &Arc<Self>, owner: UserId, identity: SpaceIdentity) {
        let space = identity.id;
        let live = self.enter(|| LiveSpace::new(owner, identity), space);
        self.wait_for(live);
    }

    fn wait_for(self: &Arc<Self>, live: Arc<LiveSpace>) {
        let links = Arc::clone(self);
        let lost = live.link_number();
        self.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(links.policy.grace) => {}
                () = links.shutdown.cancelled() => return,
            }
            let _transition = live.transition.lock().await;
            if live.link().is_some() || live.link_number() != lost {
                return;
            }
            // Without the database no agent could reconnect: the wait starts again.
            if links.lifecycle.is_away().await {
                links.wait_for(Arc::clone(&live));
            } else {
                links.stop(&live, StopReason::LinkLost).await;
            }
        });
    }

    /// An agent that went away by itself may be restarted: its space's subscriptions wait for it,
    /// and lose no event.
    fn withdraw_subscriptions_later(self: &Arc<Self>, space: SpaceId) {
        let links = Arc::clone(self);
        self.tasks.spawn(async move {
            // The wait belongs to this stop: a space that comes back and stops again has another.
            let stopped_at = links.insist(|| links.lifecycle.stopped_at(space)).await;
            let Ok(Some(stopped_at)) = stopped_at else {
                return;
            };
            tokio::select! {
                () = tokio::time::sleep(links.policy.grace) => {}
                () = links.shutdown.cancelled() => return,
            }
            let withdrawn = links
                .insist(|| links.lifecycle.withdraw_subscriptions(space, stopped_at))
                .await;
            if let Err(error) = withdrawn {
                error!(space.id = %space, "subscriptions not withdrawn: {error}");
            }
        });
    }

    /// A new link has the grace period to register the space's methods again; then they are
    /// removed. A new agent, for example, may not register them.
    pub(super) fn expect_registration(self: &Arc<Self>, live: &Arc<LiveSpace>) {
        if self.registry.count_of(live.id) == 0 && !self.declares(live.id) {
            return;
        }
        let (links, live, expected) = (Arc::clone(self), Arc::clone(live), live.link_number());
        self.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(links.policy.grace) => {}
                () = links.shutdown.cancelled() => return,
            }
            let _transition = live.transition.lock().await;
            // A link that was lost again has a grace period of its own.
            let waits = live.link().is_some() && live.availability() == Availability::Unlinked;
            if live.link_number() == expected && waits {
                let methods = links.registry.withdraw(live.id);
                if let Err(error) = links.declare(&live, Vec::new()).await {
                    error!(space.id = %live.id, "subscriptions not withdrawn: {error}");
                }
                info!(space.id = %live.id, methods, "methods that did not come back are removed");
            }
        });
    }

    async fn stop(&self, live: &Arc<LiveSpace>, reason: StopReason) {
        self.registry.withdraw(live.id);
        match self
            .insist(|| self.lifecycle.stopped(live.id, reason))
            .await
        {
            Ok(()) => info!(space.id = %live.id, space.name = %live.name, %reason, "space stopped"),
            Err(error) => error!(space.id = %live.id, "space not marked as stopped: {error}"),
        }
        self.forget(live.id);
    }

    /// Retries until the database can be reached: no other task would write this later.
    async fn insist<T, F>(&self, write: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        loop {
            match write().await {
                Err(StoreError::Unavailable(_)) if !self.shutdown.is_cancelled() => {
                    tokio::select! {
                        () = tokio::time::sleep(AGAIN) => {}
                        () = self.shutdown.cancelled() => {}
                    }
                }
                done => return done,
            }
        }
    }
}

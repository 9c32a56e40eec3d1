//! Handles lost links: a space waits for a new link during the grace period, and is stopped if none
//! is opened.

use std::{sync::Arc, time::Duration};

use svc_core::{SpaceId, space::StopReason};
use svc_link::Goodbye;
use svc_store::{StoreError, lanes};
use tracing::{error, info};

use super::Links;
use crate::live::{Availability, Link, LiveSpace};

/// Delay between attempts to use the database while it is unreachable.
const RETRY_DELAY: Duration = Duration::from_millis(500);

impl Links {
    /// Removes an ended link from its space, and starts the grace period or stops the space.
    pub(super) async fn part(self: &Arc<Self>, live: Arc<LiveSpace>, link: &Arc<Link>) {
        let _transition = live.transition.lock().await;
        if !live.detach(link) {
            return; // Another link has replaced this one.
        }
        let is_stopping = link.agent_goodbye() == Some(Goodbye::AgentStopping);
        match (is_stopping, link.is_side()) {
            (true, true) => self.remove_side(&live),
            (true, false) => {
                self.stop(&live, StopReason::AgentStopped).await;
                self.withdraw_subscriptions_later(live.id);
            }
            (false, _) if self.shutdown.is_cancelled() => {}
            (false, true) => self.expect_side(&live),
            (false, false) => {
                info!(owner.id = %live.owner, space.id = %live.id, space.name = %live.name, "link lost");
                self.wait_for(&live);
            }
        }
    }

    /// Starts the wait for the agent of each space that was deployed when the server last ran.
    pub async fn expect_deployed(self: &Arc<Self>) -> Result<(), StoreError> {
        // After a server start, every deployed space gets a whole grace period.
        for (owner, identity) in self.lifecycle.deployed().await? {
            self.wait_for(&self.enter(owner, identity));
        }
        let store = &self.lifecycle.store;
        for space in store.read_table(lanes::list_declaring_spaces).await? {
            self.note_declaring(space, true);
            self.withdraw_subscriptions_later(space);
        }
        Ok(())
    }

    fn wait_for(self: &Arc<Self>, live: &Arc<LiveSpace>) {
        self.after_grace(live, async |links, live| {
            if live.link().is_some() {
                return;
            }
            // Without the database no agent could reconnect: the wait starts again.
            if links.lifecycle.is_unreachable().await {
                links.wait_for(&live);
            } else {
                links.stop(&live, StopReason::LinkLost).await;
            }
        });
    }

    /// Removes the subscriptions of a stopped space after the grace period. Until then they keep
    /// collecting events, because the agent may be restarted.
    fn withdraw_subscriptions_later(self: &Arc<Self>, space: SpaceId) {
        let links = Arc::clone(self);
        self.tasks.spawn(async move {
            // Identifies this stop: if the space starts and stops again, that stop has a wait of
            // its own.
            let stopped_at = links
                .retry_outage(|| links.lifecycle.stopped_at(space))
                .await;
            let Ok(Some(stopped_at)) = stopped_at else {
                return;
            };
            if !links.wait_grace().await {
                return;
            }
            let withdrawn = links
                .retry_outage(|| links.lifecycle.withdraw_subscriptions(space, stopped_at))
                .await;
            if let Err(error) = withdrawn {
                error!(space.id = %space, "cannot remove the subscriptions of a space: {error}");
            }
        });
    }

    /// Removes the methods of the previous link unless the agent registers on the new link within
    /// the grace period. The new link may be of another agent, which may never register. A side
    /// link changes no subscriptions.
    pub(super) fn expect_registration(self: &Arc<Self>, live: &Arc<LiveSpace>) {
        let declares = !live.is_side() && self.declares(live.id);
        if self.registry.count_of(live.id) == 0 && !declares {
            return;
        }
        self.after_grace(live, async |links, live| {
            // A link that was lost again has a grace period of its own.
            if live.link().is_none() || live.availability() != Availability::Unlinked {
                return;
            }
            let methods = links.registry.withdraw(live.id);
            if live.is_side() {
                return;
            }
            if let Err(error) = links.withdraw_absent(&live).await {
                error!(owner.id = %live.owner, space.id = %live.id, "cannot remove the subscriptions of a space: {error}");
            }
            info!(owner.id = %live.owner, space.id = %live.id, methods, "removed the methods of a space that did not register again");
        });
    }

    /// Runs `work` after the grace period, with the transition lock of the space, unless the space
    /// has got another link or the server stops.
    pub(super) fn after_grace<F>(
        self: &Arc<Self>,
        live: &Arc<LiveSpace>,
        work: impl FnOnce(Arc<Self>, Arc<LiveSpace>) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let (links, live, number) = (Arc::clone(self), Arc::clone(live), live.link_number());
        self.tasks.spawn(async move {
            if !links.wait_grace().await {
                return;
            }
            let _transition = live.transition.lock().await;
            if live.link_number() == number {
                work(links, Arc::clone(&live)).await;
            }
        });
    }

    async fn stop(&self, live: &Arc<LiveSpace>, reason: StopReason) {
        self.registry.withdraw(live.id);
        match self
            .retry_outage(|| self.lifecycle.stopped(live.id, reason))
            .await
        {
            Ok(()) => {
                info!(owner.id = %live.owner, space.id = %live.id, space.name = %live.name, %reason, "space stopped")
            }
            Err(error) => {
                error!(owner.id = %live.owner, space.id = %live.id, "cannot record that a space stopped: {error}")
            }
        }
        self.forget(live.id);
    }

    /// Waits for the grace period. Returns `false` if the server stops before its end.
    async fn wait_grace(&self) -> bool {
        tokio::select! {
            () = tokio::time::sleep(self.policy.grace) => true,
            () = self.shutdown.cancelled() => false,
        }
    }

    /// Repeats the operation while the database is unreachable: no other task would do it later.
    async fn retry_outage<T, F>(&self, write: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        loop {
            match write().await {
                Err(error) if error.is_outage() && !self.shutdown.is_cancelled() => {
                    tokio::select! {
                        () = tokio::time::sleep(RETRY_DELAY) => {}
                        () = self.shutdown.cancelled() => {}
                    }
                }
                done => return done,
            }
        }
    }
}

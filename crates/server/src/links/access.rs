//! Ends links whose user was deactivated or whose agent token was revoked.

use std::sync::Arc;

use svc_core::SpaceId;
use svc_link::Goodbye;
use tokio::sync::broadcast::error::RecvError;
use tracing::error;

use super::Links;
use crate::{identity::DirectoryChange, live::LiveSpace};

impl Links {
    /// Follows the directory until the server stops.
    pub async fn watch_directory(self: Arc<Self>) {
        let mut changes = self.publisher.directory.subscribe();
        // Changes from before the subscription.
        self.recheck_all().await;
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = self.shutdown.cancelled() => return,
            };
            match change {
                Ok(DirectoryChange::UserDeactivated(user)) => {
                    self.cut_user(user, Goodbye::Revoked).await;
                }
                Ok(DirectoryChange::AgentTokensRevoked(space)) => self.recheck(space).await,
                Ok(DirectoryChange::SpaceSettled(space)) => {
                    if let Err(error) = self.follow(space).await {
                        error!(space.id = %space, "cannot read a space after its health check or agent token was removed: {error}");
                    }
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => self.recheck_all().await,
                Err(RecvError::Closed) => return,
            }
        }
    }

    async fn recheck(&self, space: SpaceId) {
        if self.find(space).is_some_and(|live| self.is_denied(&live)) {
            self.cut(space, Goodbye::Revoked).await;
        }
    }

    async fn recheck_all(&self) {
        let live: Vec<_> = self.live.read().values().cloned().collect();
        for live in live.iter().filter(|live| self.is_denied(live)) {
            self.cut(live.id, Goodbye::Revoked).await;
        }
    }

    pub(super) fn is_denied(&self, live: &LiveSpace) -> bool {
        let directory = &self.publisher.directory;
        live.link()
            .is_some_and(|link| directory.recheck(&link.caller, svc_clock::now()).is_err())
    }
}

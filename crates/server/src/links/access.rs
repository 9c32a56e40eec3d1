//! Ends links whose user was deactivated or whose agent token was revoked.

use std::sync::Arc;

use svc_core::SpaceId;
use svc_link::Goodbye;
use tracing::error;

use super::Links;
use crate::{identity::DirectoryChange, live::LiveSpace};

impl Links {
    /// Follows the directory until the server stops.
    pub async fn watch_directory(self: Arc<Self>) {
        let mut changes = self.publisher.directory.watch(&self.shutdown);
        while let Some(change) = changes.next().await {
            match change {
                Some(DirectoryChange::UserDeactivated(user)) => {
                    self.cut_user(user, Goodbye::Revoked).await;
                }
                Some(DirectoryChange::AgentTokensRevoked(space)) => self.recheck(space).await,
                Some(DirectoryChange::SpaceSettled(space)) => {
                    if let Err(error) = self.follow(space).await {
                        error!(space.id = %space, "cannot read a space after its health check or agent token was removed: {error}");
                    }
                }
                Some(_) => {}
                None => self.recheck_all().await,
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

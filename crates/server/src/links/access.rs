//! Follows changes of the directory: ends links whose user was deactivated or whose agent token was
//! revoked, and reads a space again after its health check or agent token was removed.

use std::sync::Arc;

use svc_core::SpaceId;
use svc_link::Goodbye;
use tracing::error;

use super::Links;
use crate::{
    identity::{AccessDenied, DirectoryChange},
    live::LiveSpace,
};

impl Links {
    /// Runs until the server stops.
    pub async fn watch_directory(self: Arc<Self>) {
        let mut changes = self.publisher.directory.watch(&self.shutdown);
        while let Some(change) = changes.next().await {
            match change {
                Some(DirectoryChange::UserDeactivated(user)) => {
                    self.cut_user(user, goodbye(AccessDenied::UserInactive))
                        .await;
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
        let denied = self.find(space).and_then(|live| self.find_denial(&live));
        if let Some(reason) = denied {
            self.cut(space, reason).await;
        }
    }

    async fn recheck_all(&self) {
        let live: Vec<_> = self.live.read().values().cloned().collect();
        for live in live {
            if let Some(reason) = self.find_denial(&live) {
                self.cut(live.id, reason).await;
            }
        }
    }

    /// The goodbye to send if the agent token of the link is not valid any more; `None` if it is
    /// valid.
    pub(super) fn find_denial(&self, live: &LiveSpace) -> Option<Goodbye> {
        let link = live.link()?;
        let directory = &self.publisher.directory;
        let denied = directory.recheck(&link.caller, svc_clock::now()).err()?;
        Some(goodbye(denied))
    }
}

/// The agent of a deactivated user reconnects, is refused with the reason, and retries until the
/// user is active again. Without a valid token, the agent ends.
fn goodbye(denied: AccessDenied) -> Goodbye {
    match denied {
        AccessDenied::UserInactive => Goodbye::Reconnect,
        AccessDenied::Unknown | AccessDenied::Expired | AccessDenied::TwoSessions => {
            Goodbye::Revoked
        }
    }
}

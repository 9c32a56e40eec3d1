//! Streams that notify a client when its user's list of tools has changed.
//!
//! A change of any method or script wakes all streams. Each stream compares the digest of its
//! user's list with the digest at the last check, and sends a notification only if they differ.

use std::{sync::Arc, time::Duration};

use svc_core::Permission;
use svc_pool::PoolError;
use tokio::{
    sync::{
        broadcast::{self, error::RecvError},
        watch,
    },
    time::{Instant, Interval, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{Mode, era::Era, modern, view::Views};
use crate::{
    identity::{Caller, Directory, DirectoryChange},
    metrics::GaugeGuard,
    streams::{OpenStream, recheck_interval},
};

/// Changes within this time cause one notification.
const SETTLE: Duration = Duration::from_millis(100);

/// The sources of changes that a stream watches.
pub struct Sources {
    pub views: Arc<Views>,
    pub directory: Arc<Directory>,
    pub methods: watch::Receiver<u64>,
    pub scripts: watch::Receiver<u64>,
    pub shutdown: CancellationToken,
}

/// The options that the client requested.
pub struct StreamRequest {
    pub era: Era,
    pub mode: Mode,
    /// Whether to notify of changes of the list.
    pub list_changed: bool,
    /// The id of the request that opened a modern stream.
    pub subscription: Option<String>,
}

pub struct Stream {
    sources: Sources,
    users: broadcast::Receiver<DirectoryChange>,
    caller: Caller,
    request: StreamRequest,
    recheck: Interval,
    /// When to check the list again.
    check_at: Option<Instant>,
    /// The digest of the list at the last check.
    digest: u64,
    state: State,
    _open: OpenStream,
    _counted: GaugeGuard,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Opening,
    Open,
    Ended,
}

impl Stream {
    pub async fn open(
        sources: Sources,
        caller: Caller,
        request: StreamRequest,
        open: OpenStream,
        counted: GaugeGuard,
    ) -> Result<Self, PoolError> {
        // Subscribe before reading the list, so that no later change is missed.
        let users = sources.directory.subscribe();
        let view = sources.views.get(&caller.user).await?;
        let digest = view.list(request.era).digest();
        let state = match request.subscription {
            Some(_) => State::Opening,
            None => State::Open,
        };
        Ok(Self {
            sources,
            users,
            caller,
            request,
            recheck: recheck_interval(),
            check_at: None,
            digest,
            state,
            _open: open,
            _counted: counted,
        })
    }

    /// The next message as JSON; `None` after the credential was rejected or the server stopped.
    pub async fn next(&mut self) -> Option<String> {
        match self.state {
            State::Ended => return None,
            State::Opening => {
                self.state = State::Open;
                let subscription = self.request.subscription.as_deref();
                return subscription
                    .map(|id| modern::acknowledgement(id, self.request.list_changed));
            }
            State::Open => {}
        }
        if self.next_change().await {
            return Some(modern::list_changed(self.request.subscription.as_deref()));
        }
        self.state = State::Ended;
        let subscription = self.request.subscription.as_deref();
        subscription.map(modern::subscription_ended)
    }

    /// Waits until the list has changed; false at the end of the stream.
    async fn next_change(&mut self) -> bool {
        loop {
            let check_at = self.check_at.unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                () = self.sources.shutdown.cancelled() => return false,
                _ = self.recheck.tick() => {
                    if !self.is_admitted() {
                        return false;
                    }
                }
                () = sleep_until(check_at), if self.check_at.is_some() => {
                    self.check_at = None;
                    if !self.is_admitted() {
                        return false;
                    }
                    if self.has_changed().await {
                        // Building the list may have taken long, so check the credential again.
                        return self.is_admitted();
                    }
                }
                // Never an error: the views hold the senders.
                Ok(()) = self.sources.methods.changed() => self.schedule_check(),
                Ok(()) = self.sources.scripts.changed() => self.schedule_check(),
                change = self.users.recv() => {
                    match change {
                        Ok(change) if !self.concerns(change) => {}
                        Ok(_) | Err(RecvError::Lagged(_)) => self.schedule_check(),
                        Err(RecvError::Closed) => return false,
                    }
                }
            }
        }
    }

    fn schedule_check(&mut self) {
        let soon = Instant::now() + SETTLE;
        self.check_at.get_or_insert(soon);
    }

    fn concerns(&self, change: DirectoryChange) -> bool {
        match change {
            DirectoryChange::UserChanged(user)
            | DirectoryChange::UserDeactivated(user)
            | DirectoryChange::CredentialsRevoked(user) => user == self.caller.user.id,
            DirectoryChange::AgentTokensRevoked(_) | DirectoryChange::GroupsChanged => true,
            DirectoryChange::SpaceSettled(_) => false,
        }
    }

    /// Resolves the caller again; false if the caller may no longer use MCP.
    fn is_admitted(&mut self) -> bool {
        match self
            .sources
            .directory
            .readmit(&self.caller, svc_clock::now())
        {
            Ok(caller) if caller.may(Permission::UseMcp) => {
                self.caller = caller;
                true
            }
            _ => false,
        }
    }

    async fn has_changed(&mut self) -> bool {
        if !self.request.list_changed || self.request.mode == Mode::Search {
            return false;
        }
        let Ok(view) = self.sources.views.get(&self.caller.user).await else {
            // The user or the server has too many computations in progress: try again later.
            self.schedule_check();
            return false;
        };
        let digest = view.list(self.request.era).digest();
        std::mem::replace(&mut self.digest, digest) != digest
    }
}

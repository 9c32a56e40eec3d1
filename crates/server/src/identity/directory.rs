//! Users, groups and credentials in memory, because every request needs them.
//!
//! The directory is a copy of records of the store and is updated only from the store. Only the
//! times of last use are set here first and written to the store later. Finding the caller of a
//! request takes one read lock and two hash look-ups. No function here waits for IO.

mod credentials;
mod snapshot;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::RwLock;
use svc_core::{GroupId, SpaceId, Timestamp, UserId, UserName};
use svc_protocol::api::Group;
use svc_store::{Hash, agent_tokens::OwnedAgentToken};
use thiserror::Error;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;

use super::{
    caller::{Caller, Credential, User},
    secret::presented_key,
};
use crate::{
    random_key::RandomKeyMap,
    records::{RecordError, Result, UNAUTHORIZED},
};
use credentials::{Credentials, Record};

pub(super) use credentials::{LastUseUpdate, write_used};
pub(super) use snapshot::{Snapshot, UserRecords};

/// Changes buffered for a slow listener. A listener that falls further behind gets `Lagged`.
const CHANGES_KEPT: usize = 1_024;

/// A change that links and streams react to. A listener that lagged must assume that any record
/// changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirectoryChange {
    /// The record of the user changed (for example roles, groups or quotas), or the user is new or
    /// active again.
    UserChanged(UserId),
    /// The user was deactivated or deleted: their methods, links and streams end.
    UserDeactivated(UserId),
    /// A token or session of the user, or a token of one of the user's apps, has ended; streams
    /// check their credential again.
    CredentialsRevoked(UserId),
    /// An agent token of the space has ended.
    AgentTokensRevoked(SpaceId),
    /// A health check or agent token that another user made for the space was removed.
    SpaceSettled(SpaceId),
    /// A group was created, renamed or deleted, or all groups were read again.
    GroupsChanged,
}

/// Why a credential is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum AccessDenied {
    /// Mistyped, never issued, or revoked.
    #[error("the credential is not known; it may have been revoked")]
    Unknown,
    #[error("the credential has expired")]
    Expired,
    #[error("the user is not active")]
    UserInactive,
    #[error("the request has two session cookies; log in again")]
    TwoSessions,
}

impl From<AccessDenied> for RecordError {
    fn from(denied: AccessDenied) -> Self {
        Self::new(UNAUTHORIZED, denied.to_string())
    }
}

pub struct Directory {
    state: RwLock<State>,
    version: Version,
    changes: broadcast::Sender<DirectoryChange>,
}

/// A counter of the directory's changes. Every call reads it. It has a cache line of its own: on
/// the cache line of the lock, each read would wait for writes to the lock.
#[derive(Default)]
#[repr(align(128))]
struct Version(AtomicU64);

#[derive(Default)]
struct State {
    users: RandomKeyMap<UserId, Arc<User>>,
    user_ids: HashMap<UserName, UserId>,
    groups: HashMap<GroupId, String>,
    group_ids: HashMap<String, GroupId>,
    credentials: Credentials,
}

impl Directory {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        let mut state = State::default();
        state.set_groups(snapshot.groups);
        for records in snapshot.users {
            let records_of_user = Record::of_user(&records);
            state.credentials.set_of_user(records.id, records_of_user);
            state.set_user(records.id, records.profile.map(User::from));
        }
        for (space, tokens) in snapshot.agent_tokens {
            state
                .credentials
                .set_of_space(space, Record::of_space(&tokens));
        }
        Self {
            state: RwLock::new(state),
            version: Version::default(),
            changes: broadcast::Sender::new(CHANGES_KEPT),
        }
    }

    /// A directory without users.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        Self::new(Snapshot {
            users: Vec::new(),
            groups: Vec::new(),
            agent_tokens: HashMap::new(),
        })
    }

    /// Finds the caller by the secret of a credential.
    pub fn authenticate(&self, presented: &str, now: Timestamp) -> Result<Caller, AccessDenied> {
        self.find_caller(presented_key(presented)?, now)
    }

    /// Authenticates a caller again, for links and streams that stay open.
    pub fn recheck(&self, caller: &Caller, now: Timestamp) -> Result<Caller, AccessDenied> {
        let found = match caller.credential {
            Credential::Process => return Ok(caller.clone()),
            Credential::Script => self.script_caller(caller.user.id)?,
            _ => self.find_caller(caller.key, now)?,
        };
        Ok(Caller {
            needs: caller.needs,
            trace: caller.trace.clone(),
            ..found
        })
    }

    /// Repeats all checks of a caller: the credential, the user, the state of an agent token's
    /// space and the permission of the route.
    pub fn readmit(&self, caller: &Caller, now: Timestamp) -> Result<Caller> {
        let caller = self.recheck(caller, now)?;
        caller.check_admission()?;
        Ok(caller)
    }

    /// Whether the directory changed since the caller was resolved. Expiry is not a change: after
    /// a long wait, call [`readmit`](Self::readmit).
    pub fn has_changed_since(&self, caller: &Caller) -> bool {
        self.version.0.load(Ordering::Acquire) != caller.version
    }

    /// The caller for a script that the server runs for this user.
    pub fn script_caller(&self, user: UserId) -> Result<Caller, AccessDenied> {
        let state = self.state.read();
        let user = state.users.get(&user).filter(|user| user.active);
        let user = user.ok_or(AccessDenied::UserInactive)?.clone();
        Ok(Caller {
            version: self.version.0.load(Ordering::Acquire),
            ..Caller::script(user)
        })
    }

    /// Finds the caller by the key of a credential ([`presented_key`]).
    pub fn find_caller(&self, key: Hash, now: Timestamp) -> Result<Caller, AccessDenied> {
        let state = self.state.read();
        let record = state.credentials.find(&key).ok_or(AccessDenied::Unknown)?;
        if record.is_expired(now) {
            return Err(AccessDenied::Expired);
        }
        let user = state
            .users
            .get(&record.user_id)
            .ok_or(AccessDenied::Unknown)?;
        if !user.active {
            return Err(AccessDenied::UserInactive);
        }
        record.mark_used(now);
        Ok(Caller {
            user: user.clone(),
            credential: record.credential.clone(),
            key,
            needs: &[],
            version: self.version.0.load(Ordering::Acquire),
            trace: None,
        })
    }

    /// Whether the server has no users.
    pub fn is_empty(&self) -> bool {
        self.state.read().users.is_empty()
    }

    pub fn find_user(&self, id: UserId) -> Option<Arc<User>> {
        self.state.read().users.get(&id).cloned()
    }

    pub fn find_user_by_name(&self, name: &str) -> Option<Arc<User>> {
        let state = self.state.read();
        let id = state.user_ids.get(name)?;
        state.users.get(id).cloned()
    }

    /// The id of the active user with this name.
    pub fn find_active_user(&self, name: &str) -> Option<UserId> {
        let state = self.state.read();
        let id = state.user_ids.get(name)?;
        let user = state.users.get(id)?;
        user.active.then_some(user.id)
    }

    /// The group with this name, or else with this id.
    pub fn resolve_group(&self, name_or_id: &str) -> Option<GroupId> {
        let state = self.state.read();
        state.group_ids.get(name_or_id).copied().or_else(|| {
            let id = name_or_id.parse().ok()?;
            state.groups.contains_key(&id).then_some(id)
        })
    }

    pub fn group_name(&self, id: GroupId) -> Option<String> {
        self.state.read().groups.get(&id).cloned()
    }

    pub fn subscribe(&self) -> broadcast::Receiver<DirectoryChange> {
        self.changes.subscribe()
    }

    /// Watches for changes until the server stops.
    pub fn watch(&self, shutdown: &CancellationToken) -> DirectoryWatch {
        DirectoryWatch {
            changes: self.subscribe(),
            shutdown: shutdown.clone(),
            is_stale: true,
        }
    }

    /// Replaces a user, their tokens and sessions by those read from the store.
    pub(super) fn apply_user(&self, records: UserRecords) {
        let id = records.id;
        let credentials = Record::of_user(&records);
        let (revoked, before, after) = {
            let mut state = self.state.write();
            let revoked = state.credentials.set_of_user(id, credentials);
            let before = state.users.get(&id).cloned();
            let after = state.set_user(id, records.profile.map(User::from));
            self.note_change();
            (revoked, before, after)
        };
        let active = |user: &Option<Arc<User>>| user.as_ref().is_some_and(|user| user.active);
        if active(&before) && !active(&after) {
            self.announce(DirectoryChange::UserDeactivated(id));
        } else if before != after {
            self.announce(DirectoryChange::UserChanged(id));
        }
        if revoked {
            self.announce(DirectoryChange::CredentialsRevoked(id));
        }
    }

    /// Replaces all records by those read from the store.
    pub(super) fn replace(&self, snapshot: Snapshot) {
        self.apply_groups(snapshot.groups);
        let (users, spaces) = {
            let state = self.state.read();
            let users: Vec<_> = state.users.keys().copied().collect();
            (users, state.credentials.spaces())
        };
        let kept: HashSet<_> = snapshot.users.iter().map(|records| records.id).collect();
        // Deleted users first: another user may have their name by now.
        users
            .into_iter()
            .filter(|id| !kept.contains(id))
            .for_each(|id| self.apply_user(UserRecords::deleted(id)));
        for records in snapshot.users {
            self.apply_user(records);
        }
        for id in spaces {
            if !snapshot.agent_tokens.contains_key(&id) {
                self.apply_space(id, &[]);
            }
        }
        for (id, tokens) in &snapshot.agent_tokens {
            self.apply_space(*id, tokens);
        }
    }

    /// Replaces the agent tokens of a space by those read from the store.
    pub(super) fn apply_space(&self, id: SpaceId, tokens: &[OwnedAgentToken]) {
        let records = Record::of_space(tokens);
        let revoked = {
            let mut state = self.state.write();
            let revoked = state.credentials.set_of_space(id, records);
            self.note_change();
            revoked
        };
        if revoked {
            self.announce(DirectoryChange::AgentTokensRevoked(id));
        }
    }

    pub(super) fn apply_groups(&self, groups: Vec<Group>) {
        {
            let mut state = self.state.write();
            state.set_groups(groups);
            self.note_change();
        }
        self.announce(DirectoryChange::GroupsChanged);
    }

    /// Returns the times of last use that are not stored yet, and marks them as stored.
    pub(super) fn take_used(&self) -> Vec<LastUseUpdate> {
        self.state.read().credentials.take_used()
    }

    pub(super) fn put_back_used(&self, used: &[LastUseUpdate]) {
        self.state.read().credentials.put_back_used(used);
    }

    /// When a credential was last used, even if the time is not stored yet.
    pub(super) fn last_used(&self, key: &Hash) -> Option<Timestamp> {
        self.state.read().credentials.find(key)?.last_used()
    }

    /// Call under the write lock, so that the version of a look-up belongs to the records that the
    /// look-up read.
    fn note_change(&self) {
        self.version.0.fetch_add(1, Ordering::Release);
    }

    pub(super) fn announce(&self, change: DirectoryChange) {
        // `send` fails only if there are no listeners.
        let _ = self.changes.send(change);
    }
}

pub struct DirectoryWatch {
    changes: broadcast::Receiver<DirectoryChange>,
    shutdown: CancellationToken,
    /// Whether changes may have been missed.
    is_stale: bool,
}

impl DirectoryWatch {
    /// The next change; `None` once the server stops. `Some(None)` means that any record may have
    /// changed: at the start, and after changes were missed because of a lag.
    pub async fn next(&mut self) -> Option<Option<DirectoryChange>> {
        if std::mem::take(&mut self.is_stale) {
            return Some(None);
        }
        let change = tokio::select! {
            change = self.changes.recv() => change,
            () = self.shutdown.cancelled() => return None,
        };
        match change {
            Ok(change) => Some(Some(change)),
            Err(RecvError::Lagged(_)) => Some(None),
            Err(RecvError::Closed) => None,
        }
    }
}

impl State {
    fn set_user(&mut self, id: UserId, user: Option<User>) -> Option<Arc<User>> {
        let Some(user) = user.map(Arc::new) else {
            if let Some(gone) = self.users.remove(&id) {
                self.user_ids.remove(&gone.name);
            }
            return None;
        };
        self.user_ids.insert(user.name.clone(), id);
        self.users.insert(id, user.clone());
        Some(user)
    }

    fn set_groups(&mut self, groups: Vec<Group>) {
        self.group_ids = groups
            .iter()
            .map(|group| (group.name.clone(), group.id))
            .collect();
        self.groups = groups
            .into_iter()
            .map(|group| (group.id, group.name))
            .collect();
    }
}

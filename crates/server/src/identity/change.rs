//! Changes of records: one transaction each, then the copies in memory. The caller gets the answer
//! after both.
//!
//! Time passes between the authentication of a caller and the commit of their change: the body
//! arrives, a password is hashed, a script is checked, other writes come first. Meanwhile an
//! administrator may have deactivated the user, revoked the credential or removed a role. So every
//! change that a caller requests through the API, except an emit, runs in [`Writer::change`], which
//! reads the caller again inside the transaction ([`resolve`]). The closure must check the caller
//! that it gets as an argument, never the caller of the request. The audit entries of the change are
//! charged to the caller ([`audit_budget`]).

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use serde_json::Value;
use svc_clock::Clock;
use svc_core::{Quotas, SpaceId, Timestamp, UserId};
use svc_store::{
    Store, StoreError, Tx, UserPermits,
    audit::{self, Entry},
    zone_changes::ZoneChange,
};
use tokio_util::task::TaskTracker;

use super::{
    audit_budget,
    authority::resolve,
    caller::Caller,
    memory::{Affected, Memory},
};
use crate::records::{RecordError, Result, tell_zone};

/// The maximum number of changes that wait for the writer of the store or run, of one user and of
/// all users. The store runs writes in the order of their arrival, so a user with hundreds of
/// requests at once would delay the writes of all others.
const CHANGES_PER_USER_MAX: usize = 8;
const CHANGES_MAX: usize = 512;

/// A change in progress: its transaction, and what it affects.
pub struct Change<'a, 'tx> {
    tx: &'a mut Tx<'tx>,
    pub now: Timestamp,
    affected: Affected,
}

impl<'tx> Deref for Change<'_, 'tx> {
    type Target = Tx<'tx>;

    fn deref(&self) -> &Tx<'tx> {
        self.tx
    }
}

impl<'tx> DerefMut for Change<'_, 'tx> {
    fn deref_mut(&mut self) -> &mut Tx<'tx> {
        self.tx
    }
}

impl Change<'_, '_> {
    /// Servers read the records again after the commit.
    pub fn affects(&mut self, change: ZoneChange) {
        self.affected.records.insert(change);
    }

    /// [`Self::affects`] for users, their tokens and sessions.
    pub fn affects_users(&mut self, users: impl IntoIterator<Item = UserId>) {
        let users = users.into_iter().map(ZoneChange::User);
        self.affected.records.extend(users);
    }

    /// [`Self::affects`] for spaces that lost a health check or agent token made by a user other
    /// than the owner.
    pub(super) fn affects_lapsed(&mut self, spaces: Vec<SpaceId>) {
        let changes = spaces.iter().copied().map(ZoneChange::Space);
        self.affected.records.extend(changes);
        self.affected.lapsed.extend(spaces);
    }

    /// Appends an audit entry about an action of the caller.
    pub fn audit(
        &mut self,
        caller: &Caller,
        action: &'static str,
        target: (&'static str, impl ToString),
        detail: Value,
    ) -> Result<(), StoreError> {
        self.audit_by(caller.user.name.as_str(), action, target, detail)
    }

    pub fn audit_by(
        &mut self,
        actor: &str,
        action: &'static str,
        target: (&'static str, impl ToString),
        detail: Value,
    ) -> Result<(), StoreError> {
        let entry = Entry::by(self.now, actor, action, target, detail);
        audit::append(self.tx, &entry)
    }
}

/// Makes changes. Cheap to clone.
#[derive(Clone)]
pub struct Writer {
    store: Store,
    pub memory: Arc<Memory>,
    clock: Clock,
    /// The quotas of users without overrides.
    quotas: Quotas,
    /// Changes in progress. They complete even if their request is dropped.
    changes: TaskTracker,
    permits: Arc<UserPermits>,
}

impl Writer {
    pub fn new(store: Store, memory: Arc<Memory>, clock: Clock, quotas: Quotas) -> Self {
        Self {
            store,
            memory,
            clock,
            quotas,
            changes: TaskTracker::new(),
            permits: Arc::new(UserPermits::new(CHANGES_PER_USER_MAX, CHANGES_MAX)),
        }
    }

    /// The quotas of users without overrides.
    pub fn quotas(&self) -> Quotas {
        self.quotas
    }

    /// Makes a change on behalf of a caller. `work` is one transaction. When this returns `Ok`, the
    /// change is durable, and in effect on this server. Waits while many changes of the user wait
    /// for the store.
    pub async fn change<T: Send + 'static>(
        &self,
        caller: &Caller,
        work: impl FnOnce(&mut Change<'_, '_>, &Caller) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (caller, quotas) = (caller.clone(), self.quotas);
        let permit = self.permits.enter(caller.user.id).await?;
        self.change_as_server(move |change| {
            let _permit = permit;
            let now = change.now;
            let caller = resolve(change, &caller, now)?;
            let done = work(change, &caller)?;
            audit_budget::charge(change, &caller, &quotas, now)?;
            Ok::<_, RecordError>(done)
        })
        .await
    }

    /// Makes a change without a caller, such as a login.
    ///
    /// The change completes even if the request is dropped. Otherwise the directory would still
    /// accept a credential whose revocation is committed.
    pub async fn change_as_server<T, E>(
        &self,
        work: impl FnOnce(&mut Change<'_, '_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let writer = self.clone();
        let change = self.changes.spawn(async move {
            let clock = writer.clock.clone();
            let writing = move |tx: &mut Tx<'_>| {
                let mut change = Change {
                    tx,
                    now: clock.now(),
                    affected: Affected::default(),
                };
                let answer = work(&mut change)?;
                let affected = change.affected;
                tell_zone(tx, &affected.records)?;
                Ok::<_, E>((answer, affected))
            };
            let (answer, affected) = writer.store.try_write(writing).await?;
            writer.memory.apply(affected).await?;
            Ok(answer)
        });
        change
            .await
            .unwrap_or_else(|_| Err(StoreError::Panicked.into()))
    }

    /// Waits for the changes in progress, including changes whose requests were dropped.
    pub async fn close(&self) {
        self.changes.close();
        self.changes.wait().await;
    }
}

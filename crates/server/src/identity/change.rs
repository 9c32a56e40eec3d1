//! Changes users, groups, tokens and sessions: first in the database, then in the directory, which
//! holds them in memory. The caller gets the answer after both.

use svc_core::{SpaceId, UserId};
use svc_protocol::api::Group;
use svc_store::{
    StoreError, Tx, agent_tokens, records,
    zone_changes::{self, ZoneChange},
};

use super::{
    Identity,
    directory::{DirectoryChange, Snapshot, UserRecords},
};

/// The records of the directory that a change affects.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AffectedRecords {
    users: Vec<UserId>,
    spaces: Vec<SpaceId>,
    /// The subset of `spaces` that lost a health check or agent token made by a user other than the
    /// owner.
    lapsed: Vec<SpaceId>,
    groups: bool,
}

impl AffectedRecords {
    /// No record of the directory.
    pub fn none() -> Self {
        Self::default()
    }

    /// A user, their tokens and sessions.
    pub fn user(id: UserId) -> Self {
        Self::users(vec![id])
    }

    pub fn users(users: Vec<UserId>) -> Self {
        Self {
            users,
            ..Self::default()
        }
    }

    /// A space's agent tokens.
    pub fn space(id: SpaceId) -> Self {
        Self {
            spaces: vec![id],
            ..Self::default()
        }
    }

    /// The list of groups, and these members.
    pub fn groups(members: Vec<UserId>) -> Self {
        Self {
            users: members,
            groups: true,
            ..Self::default()
        }
    }

    /// Adds spaces that lost a health check or agent token made by a user other than the owner.
    pub fn and_lapsed(mut self, spaces: Vec<SpaceId>) -> Self {
        self.spaces.extend(&spaces);
        self.lapsed.extend(spaces);
        self
    }

    /// The entries for the other servers of the zone.
    fn zone_changes(&self) -> impl Iterator<Item = ZoneChange> {
        let users = self.users.iter().map(|&id| ZoneChange::User(id));
        let spaces = self.spaces.iter().map(|&id| ZoneChange::Space(id));
        let groups = self.groups.then_some(ZoneChange::Groups);
        users.chain(spaces).chain(groups)
    }

    fn merge(&mut self, other: Self) {
        self.users.extend(other.users);
        self.spaces.extend(other.spaces);
        self.lapsed.extend(other.lapsed);
        self.groups |= other.groups;
        self.users.sort_unstable();
        self.users.dedup();
        self.spaces.sort_unstable();
        self.spaces.dedup();
    }
}

impl FromIterator<ZoneChange> for AffectedRecords {
    fn from_iter<I: IntoIterator<Item = ZoneChange>>(changes: I) -> Self {
        let mut affected = Self::none();
        for change in changes {
            affected.merge(match change {
                ZoneChange::User(id) => Self::user(id),
                ZoneChange::Space(id) => Self::space(id),
                ZoneChange::Groups => Self::groups(Vec::new()),
                ZoneChange::Tools(_)
                | ZoneChange::Servers
                | ZoneChange::LogRequest(_)
                | ZoneChange::Sources(_)
                | ZoneChange::Schedules => Self::none(),
            });
        }
        affected
    }
}

impl Identity {
    /// Reads the whole directory again, for a server that missed entries of the change log.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let _refreshing = self.refreshing.lock().await;
        let snapshot = self.store.read_table(Snapshot::read).await?;
        self.directory.replace(snapshot);
        Ok(())
    }

    /// Makes a change without a caller, such as a login; changes of callers use
    /// [`change_as`](Self::change_as). `work` is one transaction and returns the affected records
    /// of the directory. When this returns `Ok`, the change is durable, and in effect on this server.
    ///
    /// The change completes even if the request is dropped. Otherwise the directory would still
    /// accept a credential whose revocation is committed.
    pub async fn change<T, E>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<(T, AffectedRecords), E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let identity = self.clone();
        let change = self.changes.spawn(async move {
            let telling = move |tx: &mut Tx<'_>| {
                let (answer, affected) = work(tx)?;
                for change in affected.zone_changes() {
                    zone_changes::append(tx, &change)?;
                }
                Ok::<_, E>((answer, affected))
            };
            let (answer, affected) = identity.store.try_write(telling).await?;
            identity.refresh(affected).await?;
            Ok(answer)
        });
        change
            .await
            .unwrap_or_else(|_| Err(StoreError::Panicked.into()))
    }

    /// Reads the affected records into the directory, and also the records of an earlier refresh
    /// that failed.
    pub async fn refresh(&self, affected: AffectedRecords) -> Result<(), StoreError> {
        let _refreshing = self.refreshing.lock().await;
        let mut wanted = std::mem::take(&mut *self.pending.lock());
        wanted.merge(affected);
        if wanted == AffectedRecords::none() {
            return Ok(());
        }
        let reading = wanted.clone();
        let has_groups = reading.groups;
        let work = move |tx: &mut Tx<'_>| {
            let users = reading
                .users
                .iter()
                .map(|&id| UserRecords::read(tx, id))
                .collect::<Result<Vec<_>, _>>()?;
            let spaces = reading
                .spaces
                .iter()
                .map(|&id| Ok((id, agent_tokens::list_of_space(tx, id)?)))
                .collect::<Result<Vec<_>, StoreError>>()?;
            let groups = reading
                .groups
                .then(|| records::list_all::<Group>(tx))
                .transpose()?;
            Ok((users, spaces, groups))
        };
        // All groups are a whole table.
        let read = match has_groups {
            true => self.store.read_table(work).await,
            false => self.store.read(work).await,
        };
        let (users, spaces, groups) = match read {
            Ok(read) => read,
            Err(error) => {
                tracing::error!(%error, "cannot read a change into the directory; will retry");
                self.pending.lock().merge(wanted);
                return Err(error);
            }
        };
        if let Some(groups) = groups {
            self.directory.apply_groups(groups);
        }
        for records in users {
            self.directory.apply_user(records);
        }
        for (id, tokens) in spaces {
            self.directory.apply_space(id, &tokens);
        }
        for id in wanted.lapsed {
            self.directory.announce(DirectoryChange::SpaceSettled(id));
        }
        Ok(())
    }
}

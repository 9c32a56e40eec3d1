//! The records that this server holds in memory, and the only place that updates them. [`Memory::apply`]
//! reads records again after each change: of this server, before the request is answered, and of other
//! servers, when the zone's log of changes has them.

use std::{collections::HashSet, sync::Arc};

use parking_lot::Mutex;
use svc_core::{SpaceId, UserId};
use svc_protocol::api::Group;
use svc_store::{Store, StoreError, Tx, agent_tokens, records, zone_changes::ZoneChange};
use tokio::sync::Notify;

use super::directory::{Directory, DirectoryChange, Snapshot, UserRecords};
use crate::tables::{SourceTable, ToolTable};

/// The records that a change affects, of those that servers hold in memory.
#[derive(Clone, Debug, Default)]
pub struct Affected {
    pub(super) records: HashSet<ZoneChange>,
    /// The spaces that lost a health check or agent token made by a user other than the owner.
    pub(super) lapsed: Vec<SpaceId>,
}

impl Affected {
    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.lapsed.is_empty()
    }

    fn merge(&mut self, other: Self) {
        self.records.extend(other.records);
        self.lapsed.extend(other.lapsed);
    }
}

impl FromIterator<ZoneChange> for Affected {
    fn from_iter<I: IntoIterator<Item = ZoneChange>>(changes: I) -> Self {
        Self {
            records: changes.into_iter().collect(),
            lapsed: Vec::new(),
        }
    }
}

pub struct Memory {
    store: Store,
    pub directory: Arc<Directory>,
    pub tools: Arc<ToolTable>,
    pub sources: Arc<SourceTable>,
    /// Notified when the next run of a schedule may have changed.
    pub schedules: Arc<Notify>,
    /// Notified when a server of the zone has started or is about to stop.
    pub servers: Notify,
    /// Held from reading the store until the directory is updated, so that an older state never
    /// overwrites a newer one. Each table has a lock of its own for this.
    refreshing: tokio::sync::Mutex<()>,
    /// Records that could not be read after a change.
    pending: Mutex<Affected>,
}

impl Memory {
    pub fn new(store: Store, directory: Directory) -> Self {
        Self {
            directory: Arc::new(directory),
            tools: Arc::new(ToolTable::new(store.clone())),
            sources: Arc::new(SourceTable::new(store.clone())),
            schedules: Arc::default(),
            servers: Notify::default(),
            refreshing: tokio::sync::Mutex::default(),
            pending: Mutex::default(),
            store,
        }
    }

    pub async fn load(store: Store) -> Result<Self, StoreError> {
        let snapshot = store.read_table(Snapshot::read).await?;
        let memory = Self::new(store, Directory::new(snapshot));
        memory.load_tables().await?;
        Ok(memory)
    }

    /// Reads all records again, for a server that missed entries of the change log.
    pub async fn reload(&self) -> Result<(), StoreError> {
        {
            let _refreshing = self.refreshing.lock().await;
            let snapshot = self.store.read_table(Snapshot::read).await?;
            self.directory.replace(snapshot);
        }
        self.load_tables().await?;
        self.schedules.notify_one();
        Ok(())
    }

    async fn load_tables(&self) -> Result<(), StoreError> {
        self.tools.load().await?;
        self.sources.load().await?;
        self.forget_deleted_users();
        Ok(())
    }

    /// Reads the affected records again, and also those that could not be read earlier.
    pub async fn apply(&self, affected: Affected) -> Result<(), StoreError> {
        let mut wanted = std::mem::take(&mut *self.pending.lock());
        wanted.merge(affected);
        if wanted.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.read(&wanted.records).await {
            tracing::error!(%error, "cannot read a change into memory; will retry");
            self.pending.lock().merge(wanted);
            return Err(error);
        }
        for id in wanted.lapsed {
            self.directory.announce(DirectoryChange::SpaceSettled(id));
        }
        Ok(())
    }

    async fn read(&self, changes: &HashSet<ZoneChange>) -> Result<(), StoreError> {
        let (mut users, mut spaces, mut has_groups) = (Vec::new(), Vec::new(), false);
        let (mut tools, mut sources) = (Vec::new(), Vec::new());
        for change in changes {
            match change {
                ZoneChange::User(id) => users.push(*id),
                // `zone::follow` also follows the link of the space.
                ZoneChange::Space(id) => spaces.push(*id),
                ZoneChange::Groups => has_groups = true,
                ZoneChange::Tools(owner) => tools.push(owner.clone()),
                ZoneChange::Sources(owner) => sources.push(*owner),
                ZoneChange::Schedules => self.schedules.notify_one(),
                ZoneChange::Servers => self.servers.notify_one(),
                // A request, which `zone::follow` answers.
                ZoneChange::LogRequest(_) => {}
            }
        }
        self.read_directory(users, spaces, has_groups).await?;
        for owner in tools {
            self.tools.reread(owner).await?;
        }
        for owner in sources {
            self.sources.reread(owner).await?;
        }
        Ok(())
    }

    async fn read_directory(
        &self,
        users: Vec<UserId>,
        spaces: Vec<SpaceId>,
        has_groups: bool,
    ) -> Result<(), StoreError> {
        if users.is_empty() && spaces.is_empty() && !has_groups {
            return Ok(());
        }
        let _refreshing = self.refreshing.lock().await;
        let work = move |tx: &mut Tx<'_>| {
            let users = users.into_iter().map(|id| UserRecords::read(tx, id));
            let users = users.collect::<Result<Vec<_>, _>>()?;
            let spaces = spaces
                .into_iter()
                .map(|id| Ok((id, agent_tokens::list_of_space(tx, id)?)));
            let spaces = spaces.collect::<Result<Vec<_>, StoreError>>()?;
            let groups = has_groups.then(|| records::list_all::<Group>(tx));
            Ok((users, spaces, groups.transpose()?))
        };
        // All groups are a whole table.
        let (users, spaces, groups) = match has_groups {
            true => self.store.read_table(work).await?,
            false => self.store.read(work).await?,
        };
        if let Some(groups) = groups {
            self.directory.apply_groups(groups);
        }
        let is_any_deleted = users.iter().any(|records| records.profile.is_none());
        for records in users {
            self.directory.apply_user(records);
        }
        if is_any_deleted {
            self.forget_deleted_users();
        }
        for (id, tokens) in spaces {
            self.directory.apply_space(id, &tokens);
        }
        Ok(())
    }

    /// Removes the tools and sources of deleted users.
    fn forget_deleted_users(&self) {
        let exists = |user: UserId| self.directory.find_user(user).is_some();
        self.tools.retain_owners(exists);
        self.sources.retain_owners(exists);
    }
}

//! All sources, by the hash of the secret in their URL.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use svc_core::{SourceId, UserId};
use svc_store::{Hash, Store, StoreError, records, sources::SourceRow};
use tokio::sync::Mutex;

use super::activity::Activity;
use crate::random_key::RandomKeyMap;

/// A source and its activity on this server.
pub struct KnownSource {
    pub row: SourceRow,
    pub activity: Arc<Activity>,
}

impl KnownSource {
    pub fn owner(&self) -> UserId {
        self.row.owner_id
    }
}

pub struct SourceTable {
    store: Store,
    /// Held while sources are read, so that an older result never replaces a newer one.
    reading: Mutex<()>,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    by_token: RandomKeyMap<Hash, Arc<KnownSource>>,
    of_owner: HashMap<UserId, Vec<Arc<KnownSource>>>,
}

impl SourceTable {
    pub fn new(store: Store) -> Self {
        Self {
            store,
            reading: Mutex::default(),
            state: RwLock::default(),
        }
    }

    /// Reads all sources: at the start, and after changes of other servers were missed.
    pub async fn load(&self) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        let rows = self
            .store
            .read_table(records::list_all::<SourceRow>)
            .await?;
        let mut of_owner: HashMap<UserId, Vec<SourceRow>> = HashMap::new();
        for row in rows {
            of_owner.entry(row.owner_id).or_default().push(row);
        }
        let mut state = self.state.write();
        state.retain_owners(|owner| of_owner.contains_key(&owner));
        for (owner, rows) in of_owner {
            state.put(owner, rows);
        }
        Ok(())
    }

    /// Reads the sources of a user again.
    pub async fn reread(&self, owner: UserId) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        let read = self
            .store
            .read(move |tx| records::list_of::<SourceRow>(tx, &owner));
        let rows = read.await?;
        self.state.write().put(owner, rows);
        Ok(())
    }

    /// Removes the sources of deleted users.
    pub fn retain_owners(&self, exists: impl Fn(UserId) -> bool) {
        self.state.write().retain_owners(exists);
    }

    /// Finds the source by the hash of the secret in its URL. The time that a look-up by a hash takes
    /// does not help to guess a secret.
    pub fn find(&self, hash: &Hash) -> Option<Arc<KnownSource>> {
        self.state.read().by_token.get(hash).cloned()
    }

    pub fn activity_of(&self, owner: UserId, id: SourceId) -> Option<Arc<Activity>> {
        let state = self.state.read();
        let mut known = state.of_owner.get(&owner)?.iter();
        known
            .find(|source| source.row.id == id)
            .map(|source| source.activity.clone())
    }
}

impl State {
    fn retain_owners(&mut self, keeps: impl Fn(UserId) -> bool) {
        let owners = self.of_owner.keys().copied();
        let gone: Vec<_> = owners.filter(|&owner| !keeps(owner)).collect();
        for owner in gone {
            self.put(owner, Vec::new());
        }
    }

    /// Replaces the sources of a user. A source keeps its activity.
    fn put(&mut self, owner: UserId, rows: Vec<SourceRow>) {
        let before = self.of_owner.remove(&owner).unwrap_or_default();
        for known in &before {
            self.by_token.remove(&known.row.token_hash);
        }
        let activities: HashMap<SourceId, Arc<Activity>> = before
            .iter()
            .map(|known| (known.row.id, known.activity.clone()))
            .collect();
        let known: Vec<_> = rows
            .into_iter()
            .map(|row| {
                let activity = activities.get(&row.id).cloned().unwrap_or_default();
                Arc::new(KnownSource { row, activity })
            })
            .collect();
        for source in &known {
            self.by_token.insert(source.row.token_hash, source.clone());
        }
        if !known.is_empty() {
            self.of_owner.insert(owner, known);
        }
    }
}

//! The listed fields of all tool scripts.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use serde_json::Value;
use svc_core::{ScriptId, UserId, registration::Annotations};
use svc_store::{
    Store, StoreError,
    scripts::{self, ToolRow},
    sinks::GLOBAL,
};
use tokio::sync::{Mutex, watch};

/// A stored script that is offered as a tool.
#[derive(Clone, PartialEq, Debug)]
pub struct ScriptTool {
    pub id: ScriptId,
    pub name: String,
    /// Whether the script belongs to the user who sees it; otherwise it is global.
    pub is_own: bool,
    pub title: Option<String>,
    pub description: String,
    pub annotations: Annotations,
    pub params_schema: Option<Value>,
}

/// The tool scripts that users may run: their own, and global ones.
pub struct ToolTable {
    store: Store,
    /// Held while scripts are read, so that an older result never replaces a newer one.
    reading: Mutex<()>,
    /// By owner; `None` for global scripts.
    known: RwLock<HashMap<Option<UserId>, OwnerTools>>,
    changed: watch::Sender<u64>,
}

/// The tool scripts of one owner, or the global ones.
struct OwnerTools {
    /// Unique: no other list, and no earlier state of this list, has the same version.
    version: u64,
    tools: Vec<Arc<ScriptTool>>,
}

impl ToolTable {
    pub fn new(store: Store) -> Self {
        Self {
            store,
            reading: Mutex::default(),
            known: RwLock::default(),
            changed: watch::Sender::new(0),
        }
    }

    /// Reads all tool scripts: at the start, and after this server missed changes of other servers.
    pub async fn load(&self) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        let rows = self.store.read_table(scripts::list_tools).await?;
        // Begin with an empty list for each known owner: an owner who lost all tools has no rows.
        let known: Vec<_> = self.known.read().keys().copied().collect();
        let mut of_owner: HashMap<String, Vec<ToolRow>> = known
            .into_iter()
            .map(|owner| owner.map_or_else(|| GLOBAL.to_owned(), |user| user.to_string()))
            .map(|owner_key| (owner_key, Vec::new()))
            .collect();
        for row in rows {
            of_owner.entry(row.owner_key.clone()).or_default().push(row);
        }
        for (owner_key, rows) in of_owner {
            self.put(&owner_key, rows);
        }
        Ok(())
    }

    /// Reads the tool scripts of an owner again.
    pub async fn reread(&self, owner_key: String) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        let key = owner_key.clone();
        let read = self.store.read(move |tx| scripts::list_tools_of(tx, &key));
        self.put(&owner_key, read.await?);
        Ok(())
    }

    /// Removes the tool scripts of deleted users.
    pub fn retain_owners(&self, exists: impl Fn(UserId) -> bool) {
        let mut known = self.known.write();
        known.retain(|owner, _| owner.is_none_or(&exists));
    }

    fn put(&self, owner_key: &str, rows: Vec<ToolRow>) {
        let tools = rows.into_iter().map(|row| Arc::new(ScriptTool::from(row)));
        let tools = tools.collect();
        self.changed.send_modify(|version| {
            *version += 1;
            let version = *version;
            let owner = owner_key.parse().ok();
            self.known
                .write()
                .insert(owner, OwnerTools { version, tools });
        });
    }

    /// A number that differs after every change of this user's list.
    pub fn version(&self, user: UserId) -> u64 {
        let known = self.known.read();
        let visible = [Some(user), None].map(|owner| known.get(&owner));
        let versions = visible.into_iter().flatten().map(|found| found.version);
        versions.max().unwrap_or(0)
    }

    pub fn list(&self, user: UserId) -> Vec<Arc<ScriptTool>> {
        let known = self.known.read();
        let visible = [Some(user), None].map(|owner| known.get(&owner));
        let visible = visible.into_iter().flatten();
        visible.flat_map(|found| found.tools.clone()).collect()
    }

    /// Notifies about changed lists. Changes that come together may cause one notification.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

impl From<ToolRow> for ScriptTool {
    fn from(row: ToolRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            is_own: row.owner_key != GLOBAL,
            title: row.title,
            description: row.description,
            annotations: row.annotations,
            params_schema: row.params_schema,
        }
    }
}

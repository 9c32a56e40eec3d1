//! Lists and runs tool scripts. Holds the listed fields of all tool scripts in memory.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use parking_lot::RwLock;
use serde_json::{Value, json};
use svc_core::{ScriptId, TraceContext, UserId, registration::Annotations};
use svc_protocol::{
    api::{Script, ScriptKind},
    jsonrpc::{RpcError, UNAVAILABLE},
};
use svc_script::{ErrorKind, ScriptError};
use svc_store::{
    Store, StoreError,
    scripts::{self, ToolRow},
    sinks::GLOBAL,
};
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::{Run, RunInput, ScriptRunner, libraries_of, outline, source_of, withheld_from};
use crate::{
    identity::{Caller, Credential, Directory, DirectoryChange},
    methods::calls::Reply,
};

/// The error code of a failed script that set no code.
const SCRIPT_FAILED: i64 = -32000;

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
pub struct StoredTools {
    store: Store,
    runner: Arc<ScriptRunner>,
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

impl StoredTools {
    pub fn new(store: Store, runner: Arc<ScriptRunner>) -> Self {
        Self {
            store,
            runner,
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

    /// Updates the list after a script was created, changed or deleted.
    pub async fn refresh(&self, script: &Script) {
        if script.kind == ScriptKind::Tool
            && let Err(failed) = self.reread(scripts::owner_key(script)).await
        {
            error!("cannot read the list of tool scripts: {failed}");
        }
    }

    /// Reads the tool scripts of an owner again.
    pub async fn reread(&self, owner_key: String) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        let key = owner_key.clone();
        let read = self.store.read(move |tx| scripts::list_tools_of(tx, &key));
        self.put(&owner_key, read.await?);
        Ok(())
    }

    /// Removes the tool scripts of deleted users, until the server stops.
    pub async fn follow(&self, directory: &Directory, shutdown: &CancellationToken) {
        let exists = |user: UserId| directory.find_user(user).is_some();
        let mut changes = directory.watch(shutdown);
        while let Some(change) = changes.next().await {
            match change {
                Some(
                    DirectoryChange::UserChanged(user) | DirectoryChange::UserDeactivated(user),
                ) if !exists(user) => {
                    self.known.write().remove(&Some(user));
                }
                Some(_) => {}
                None => {
                    let mut known = self.known.write();
                    known.retain(|owner, _| owner.is_none_or(exists));
                }
            }
        }
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

    /// Runs a tool script as the caller. Dropping the future ends the run.
    pub async fn run(
        &self,
        caller: &Caller,
        script: &ScriptTool,
        arguments: &str,
        trace: Option<&TraceContext>,
    ) -> Result<Reply, RpcError> {
        // Nested scripts would each hold a worker while they wait for the next one.
        if caller.credential == Credential::Script {
            return Ok(failed("a script cannot start another one"));
        }
        let (id, user) = (script.id, caller.user.id);
        let found = self
            .store
            .read(move |tx| {
                let found = scripts::find_visible(tx, id, user)?;
                let tool = found.filter(|script| script.kind == ScriptKind::Tool);
                let withheld = match &tool {
                    Some(tool) => withheld_from(tx, tool, user)?,
                    None => None,
                };
                Ok((tool, withheld))
            })
            .await;
        let found = match found {
            Ok((_, Some(why))) => return Ok(failed(&why.to_string())),
            Ok((found, None)) => found,
            Err(error) => {
                error!("cannot read a tool script: {error}");
                return Ok(failed("the server cannot read the script"));
            }
        };
        let script = found.ok_or(RpcError::MethodNotFound)?;
        let run = Run {
            what: RunInput::Tool {
                params: arguments.to_owned(),
            },
            user,
            libraries: libraries_of(&script),
            script: source_of(script),
            trace: trace.cloned().map(Box::new),
        };
        Ok(match self.runner.run(run).await {
            Ok(outcome) => match outcome.result {
                Ok(result) => Reply::Result(Bytes::from(result.unwrap_or_else(|| "null".into()))),
                Err(error) => Reply::Error(describe(&error).into()),
            },
            Err(unavailable) => failed(&unavailable.to_string()),
        })
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

/// A script's failure as the error object of a method server.
fn describe(error: &ScriptError) -> String {
    match &error.kind {
        ErrorKind::Rpc(fault) => fault.to_json(),
        _ => json!({"code": SCRIPT_FAILED, "message": outline(error)}).to_string(),
    }
}

fn failed(why: &str) -> Reply {
    let error: Value = json!({"code": UNAVAILABLE, "message": why});
    Reply::Error(error.to_string().into())
}

//! Stored `tool` scripts as tools: what the projection needs to know of them, and no more.

mod stored;

pub use stored::StoredTools;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use svc_core::{ScriptId, UserId};
use svc_protocol::jsonrpc::RpcError;
use tokio::sync::watch;

use crate::{identity::Caller, methods::calls::Reply};

/// A stored script that is offered as a tool.
#[derive(Clone, PartialEq, Debug)]
pub struct ScriptTool {
    pub id: ScriptId,
    pub name: String,
    /// Whether it belongs to the user who sees it; else it is everyone's.
    pub is_own: bool,
    pub description: String,
    pub params_schema: Option<Value>,
}

/// The tool scripts a user may run: their own, and those of everyone.
pub trait ToolScripts: Send + Sync {
    /// Another number whenever the list of this user may have changed.
    fn version(&self, user: UserId) -> u64;

    fn list(&self, user: UserId) -> Vec<Arc<ScriptTool>>;

    /// Wakes whoever waits for a change.
    fn watch(&self) -> watch::Receiver<u64>;

    /// Runs one as the caller. Dropping the future ends it.
    fn run<'a>(
        &'a self,
        caller: &'a Caller,
        script: &'a ScriptTool,
        arguments: &'a str,
    ) -> BoxFuture<'a, Result<Reply, RpcError>>;
}

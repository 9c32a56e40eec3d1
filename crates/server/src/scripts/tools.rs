//! Runs tool scripts.

use std::{ops::Deref, sync::Arc};

use bytes::Bytes;
use serde_json::{Value, json};
use svc_core::TraceContext;
use svc_protocol::{
    api::ScriptKind,
    jsonrpc::{RpcError, UNAVAILABLE},
};
use svc_script::{ErrorKind, ScriptError};
use svc_store::{Store, scripts};
use tracing::error;

use super::{Run, RunInput, ScriptRunner, libraries_of, outline, source_of, withheld_from};
use crate::{
    identity::{Caller, Credential},
    methods::calls::Reply,
    tables::{ScriptTool, ToolTable},
};

/// The error code of a failed script that set no code.
const SCRIPT_FAILED: i64 = -32000;

/// The tool scripts that users may run. Lists them as [`ToolTable`] does.
pub struct StoredTools {
    store: Store,
    runner: Arc<ScriptRunner>,
    table: Arc<ToolTable>,
}

impl Deref for StoredTools {
    type Target = ToolTable;

    fn deref(&self) -> &ToolTable {
        &self.table
    }
}

impl StoredTools {
    pub fn new(store: Store, runner: Arc<ScriptRunner>, table: Arc<ToolTable>) -> Self {
        Self {
            store,
            runner,
            table,
        }
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

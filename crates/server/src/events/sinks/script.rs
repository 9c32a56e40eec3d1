//! What a script sink may hold: a source the engine can run, or a stored script of the right kind
//! that its owner may use; and who may change it.

use svc_protocol::api::{ScriptKind, SinkType};
use svc_store::{
    Tx, scripts,
    sinks::{SinkConfig, SinkRow},
};

use super::{SinksService, error::SinkError};
use crate::identity::Caller;

impl SinksService {
    /// The source that a sink is to get, if it gets one. Slow: done before anything is written.
    pub(super) async fn check_source(
        &self,
        caller: &Caller,
        name: &str,
        source: Option<&str>,
    ) -> Result<(), SinkError> {
        let Some(source) = source else {
            return Ok(());
        };
        let scripts = &self.deliverers.scripts;
        let checking = scripts.check_source(caller, format!("{name}.py"), source.to_owned());
        Ok(checking.await?)
    }
}

/// A script acts for whoever made the sink, so nobody else puts words into it.
pub(super) fn check_script_change(
    tx: &mut Tx<'_>,
    caller: &Caller,
    before: &SinkRow,
    after: &SinkRow,
) -> Result<(), SinkError> {
    if before.kind != SinkType::Script || before.config == after.config {
        return Ok(());
    }
    if caller.user.id != before.owner_id {
        return Err(SinkError::ScriptOfAnother);
    }
    stored_script(tx, after)
}

/// The stored script of a sink is one that its owner may use, and of the right kind.
pub(super) fn stored_script(tx: &mut Tx<'_>, sink: &SinkRow) -> Result<(), SinkError> {
    let SinkConfig::Script {
        script_id: Some(id),
        ..
    } = sink.config
    else {
        return Ok(());
    };
    let unknown = |message| SinkError::invalid("unknown_script", message);
    match scripts::find_visible(tx, id, sink.owner_id)? {
        Some(script) if script.kind == ScriptKind::Sink => Ok(()),
        Some(script) => Err(unknown(format!(
            "script `{}` is no script for sinks; make one of kind `sink`",
            script.name
        ))),
        None => Err(unknown(format!("script `{id}` does not exist"))),
    }
}

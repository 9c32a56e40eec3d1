//! Checks of script sinks: the source must compile, a stored script must be of kind `sink` and
//! visible to the sink's owner, and only the owner may change the script.

use svc_protocol::api::{ScriptConfig, ScriptKind, SinkType};
use svc_store::{
    Tx, scripts,
    sinks::{SinkConfig, SinkRow},
};

use super::SinksService;
use crate::{identity::Caller, records::RecordError};

impl SinksService {
    /// Checks a new source. Slow, so it must not run inside a write transaction.
    pub(super) async fn check_source(
        &self,
        caller: &Caller,
        name: &str,
        source: Option<&str>,
    ) -> Result<(), RecordError> {
        let Some(source) = source else {
            return Ok(());
        };
        let scripts = &self.deliverers.scripts;
        let checking = scripts.check_source(caller, format!("{name}.py"), source.to_owned());
        Ok(checking.await?)
    }
}

/// Checks a change of a sink's script. The script acts for the user who created the sink, so no
/// other user may change it.
pub(super) fn check_script_change(
    tx: &mut Tx<'_>,
    caller: &Caller,
    before: &SinkRow,
    after: &SinkRow,
) -> Result<(), RecordError> {
    if before.kind != SinkType::Script || before.config == after.config {
        return Ok(());
    }
    if caller.user.id != before.owner_id {
        return Err(RecordError::new(
            "permission_denied",
            "the script of this sink runs with the permissions of the user who created the sink, and only this user may change it; create your own sink instead",
        ));
    }
    check_stored_script(tx, after)
}

/// Checks that the stored script of a sink is visible to the sink's owner and of kind `sink`.
pub(super) fn check_stored_script(tx: &mut Tx<'_>, sink: &SinkRow) -> Result<(), RecordError> {
    let SinkConfig::Script(ScriptConfig {
        script_id: Some(id),
        ..
    }) = sink.config
    else {
        return Ok(());
    };
    let unknown = |message| RecordError::new("unknown_script", message);
    match scripts::find_visible(tx, id, sink.owner_id)? {
        Some(script) if script.kind == ScriptKind::Sink => Ok(()),
        Some(script) => Err(unknown(format!(
            "script `{}` is not a script for sinks; create one of kind `sink`",
            script.name
        ))),
        None => Err(unknown(format!("script `{id}` does not exist"))),
    }
}

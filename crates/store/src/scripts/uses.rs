//! The uses of a script, checked before it is changed or deleted.

use svc_core::{ScriptId, UserId};

use crate::{
    error::StoreError,
    sinks::{self, SinkConfig},
    sql::{Tx, values},
};

/// A record that uses a script or a template: its kind, its name, and its owner (`None` if the record is global).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    pub what: &'static str,
    pub name: String,
    pub owner: Option<UserId>,
}

/// The owners of sinks that run a script, each once. The owner of a global sink is the user who
/// created it.
pub fn list_sink_owners(tx: &mut Tx<'_>, id: ScriptId) -> Result<Vec<UserId>, StoreError> {
    let mut owners: Vec<_> = sinks::list_mentioning(tx, &id.to_string())?
        .into_iter()
        .filter(|sink| is_run_by(&sink.config, id))
        .map(|sink| sink.owner_id)
        .collect();
    owners.sort_unstable();
    owners.dedup();
    Ok(owners)
}

fn is_run_by(config: &SinkConfig, id: ScriptId) -> bool {
    matches!(config, SinkConfig::Script(script) if script.script_id == Some(id))
}

/// Sinks, spaces and templates that use a script.
pub fn list_uses(tx: &mut Tx<'_>, id: ScriptId) -> Result<Vec<Use>, StoreError> {
    let mut uses = Vec::new();
    for sink in sinks::list_mentioning(tx, &id.to_string())? {
        if is_run_by(&sink.config, id) {
            uses.push(Use {
                what: "event sink",
                owner: (!sink.is_global()).then_some(sink.owner_id),
                name: sink.name,
            });
        }
    }
    let spaces: Vec<(String, UserId)> = tx.list(
        "SELECT name, owner_id FROM spaces WHERE startup_script_id = ?1 AND state <> 'deleted'
         ORDER BY id",
        values![id],
    )?;
    uses.extend(spaces.into_iter().map(|(name, owner)| Use {
        what: "space",
        name,
        owner: Some(owner),
    }));
    let templates: Vec<String> = tx.list(
        "SELECT name FROM templates WHERE startup_script_id = ?1 ORDER BY id",
        values![id],
    )?;
    uses.extend(templates.into_iter().map(|name| Use {
        what: "template",
        name,
        owner: None,
    }));
    Ok(uses)
}

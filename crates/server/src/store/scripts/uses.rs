//! Who names a script: asked before it is deleted.

use svc_core::{ScriptId, UserId};

use crate::store::{
    error::StoreError,
    sinks::{self, SinkConfig},
    sql::{Tx, values},
};

/// Something that names a script: what it is, its name, and whose it is (`None`: the zone's).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    pub what: &'static str,
    pub name: String,
    pub owner: Option<UserId>,
}

/// Sinks, spaces and templates that name a script.
pub fn list_uses(tx: &mut Tx<'_>, id: ScriptId) -> Result<Vec<Use>, StoreError> {
    let mut uses = Vec::new();
    for sink in sinks::list_mentioning(tx, &id.to_string())? {
        if matches!(sink.config, SinkConfig::Script { script_id: Some(used), .. } if used == id) {
            uses.push(Use {
                what: "event sink",
                owner: (!sink.is_global()).then_some(sink.owner_id),
                name: sink.name,
            });
        }
    }
    let spaces = tx.query(
        "SELECT name, owner_id FROM spaces WHERE startup_script_id = ?1 AND state <> 'deleted'
         ORDER BY id",
        values![id],
    )?;
    for row in &spaces {
        uses.push(Use {
            what: "space",
            name: row.get("name")?,
            owner: Some(row.get("owner_id")?),
        });
    }
    let templates = tx.query(
        "SELECT name FROM templates WHERE startup_script_id = ?1 ORDER BY id",
        values![id],
    )?;
    for row in &templates {
        uses.push(Use {
            what: "template",
            name: row.get("name")?,
            owner: None,
        });
    }
    Ok(uses)
}

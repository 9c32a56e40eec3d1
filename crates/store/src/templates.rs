//! Templates of spaces.

use svc_core::{TemplateId, UserId};
use svc_protocol::api::Template;

use super::{
    error::StoreError,
    record::record,
    records::{Powered, kept},
    scripts::Use,
    sql::{Tx, values},
};

record! {
    Template in "templates": id, name, ports, startup_script_id, health_check, custom_fields,
    created_at
}

kept! {
    Template "template": TemplateId, fixed [created_at], of (): (), unique [name] named name,
    size "octet_length(custom_fields) + COALESCE(octet_length(health_check), 0) + octet_length(ports)"
}

impl Powered for Template {}

/// The spaces that were created from a template and are not deleted.
pub fn list_uses(tx: &mut Tx<'_>, id: TemplateId) -> Result<Vec<Use>, StoreError> {
    let spaces: Vec<(String, UserId)> = tx.list(
        "SELECT u.username || '/' || s.name, s.owner_id FROM spaces s
         JOIN users u ON u.id = s.owner_id
         WHERE s.template_id = ?1 AND s.state <> 'deleted' ORDER BY s.id",
        values![id],
    )?;
    let uses = spaces.into_iter().map(|(name, owner)| Use {
        what: "space",
        name,
        owner: Some(owner),
    });
    Ok(uses.collect())
}

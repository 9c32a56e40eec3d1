//! Templates of spaces.

use svc_core::{TemplateId, UserId, power::SavedPower};
use svc_protocol::api::Template;

use super::{
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest},
    record::record,
    scripts::Use,
    sql::{Tx, values},
};

record! {
    Template in "templates": id, name, ports, startup_script_id, health_check, custom_fields,
    created_at
}

pub fn count(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    tx.get("SELECT COUNT(*) FROM templates", &[])
}

pub fn insert(tx: &mut Tx<'_>, template: &Template) -> Result<(), StoreError> {
    tx.insert(template)
}

pub fn find(tx: &mut Tx<'_>, id: TemplateId) -> Result<Option<Template>, StoreError> {
    tx.find_record("WHERE id = ?1", values![id])
}

pub fn get(tx: &mut Tx<'_>, id: TemplateId) -> Result<Template, StoreError> {
    find(tx, id)?.ok_or_else(|| StoreError::missing("template", id))
}

pub fn find_by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<Template>, StoreError> {
    tx.find_record("WHERE name = ?1", values![name])
}

pub fn list(tx: &mut Tx<'_>, page: PageRequest) -> Result<Page<Template>, StoreError> {
    let bytes = "octet_length(custom_fields) + COALESCE(octet_length(health_check), 0)
        + octet_length(ports)";
    page.large_records(tx, bytes, Conditions::default())
}

/// Writes every field except the id and the time of creation.
pub fn update(tx: &mut Tx<'_>, template: &Template) -> Result<bool, StoreError> {
    let columns = "name, ports, startup_script_id, health_check, custom_fields";
    tx.update(template, columns)
}

/// The permissions of the user who last saved the template, at that time.
pub fn saved_power(tx: &mut Tx<'_>, id: TemplateId) -> Result<SavedPower, StoreError> {
    let sql = "SELECT saved_power FROM templates WHERE id = ?1";
    tx.find(sql, values![id])?
        .ok_or_else(|| StoreError::missing("template", id))
}

pub fn set_saved_power(
    tx: &mut Tx<'_>,
    id: TemplateId,
    power: SavedPower,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE templates SET saved_power = ?2 WHERE id = ?1",
        values![id, power],
    )
}

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

/// Deletes a template. The records of deleted spaces that were created from it stay.
pub fn delete(tx: &mut Tx<'_>, id: TemplateId) -> Result<bool, StoreError> {
    tx.changes("DELETE FROM templates WHERE id = ?1", values![id])
}

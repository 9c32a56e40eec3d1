//! Templates of spaces.

use std::collections::BTreeMap;

use svc_core::{ScriptId, TemplateId, Timestamp, power::SavedPower, space::HealthCheck};
use svc_protocol::api::{Port, Template};

use super::{
    error::StoreError,
    page::{Page, PageRequest},
    sql::{Row, Tx, values},
    value::Json,
};

fn read(row: &Row) -> Result<Template, StoreError> {
    let Json(ports): Json<Vec<Port>> = row.get("ports")?;
    let health_check: Option<Json<HealthCheck>> = row.get("health_check")?;
    let Json(custom_fields): Json<BTreeMap<String, String>> = row.get("custom_fields")?;
    Ok(Template {
        id: row.get("id")?,
        name: row.get("name")?,
        ports,
        startup_script_id: row.get::<Option<ScriptId>>("startup_script_id")?,
        health_check: health_check.map(|Json(check)| check),
        custom_fields,
        created_at: row.get::<Timestamp>("created_at")?,
    })
}

/// A query for whole rows, with what follows the name of the table.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, ports, startup_script_id, health_check, custom_fields, ",
            "created_at FROM templates ",
            $rest
        )
    };
}

pub fn count(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let count = tx.count("SELECT COUNT(*) FROM templates", &[])?;
    Ok(count.unsigned_abs())
}

pub fn insert(tx: &mut Tx<'_>, template: &Template) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO templates
         (id, name, ports, startup_script_id, health_check, custom_fields, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        values![
            template.id,
            &template.name,
            Json(&template.ports),
            template.startup_script_id,
            template.health_check.as_ref().map(Json),
            Json(&template.custom_fields),
            template.created_at
        ],
    )?;
    Ok(())
}

pub fn find(tx: &mut Tx<'_>, id: TemplateId) -> Result<Option<Template>, StoreError> {
    tx.find(select!("WHERE id = ?1"), values![id], read)
}

pub fn get(tx: &mut Tx<'_>, id: TemplateId) -> Result<Template, StoreError> {
    find(tx, id)?.ok_or_else(|| StoreError::missing("template", id))
}

pub fn find_by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<Template>, StoreError> {
    tx.find(select!("WHERE name = ?1"), values![name], read)
}

pub fn list(tx: &mut Tx<'_>, page: PageRequest) -> Result<Page<Template>, StoreError> {
    let sizes = tx.query(
        "SELECT id, octet_length(custom_fields) + COALESCE(octet_length(health_check), 0)
             + octet_length(ports) AS bytes
         FROM templates WHERE id > ?1 ORDER BY id LIMIT ?2",
        values![page.after(), page.limit()],
    )?;
    page.read(tx, &sizes, select!(""), read)
}

/// Writes every field except the id and the time of creation.
pub fn update(tx: &mut Tx<'_>, template: &Template) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE templates SET name = ?2, ports = ?3, startup_script_id = ?4, health_check = ?5,
             custom_fields = ?6
         WHERE id = ?1",
        values![
            template.id,
            &template.name,
            Json(&template.ports),
            template.startup_script_id,
            template.health_check.as_ref().map(Json),
            Json(&template.custom_fields)
        ],
    )?;
    Ok(changed > 0)
}

/// The permissions of the user who last saved the template, at that time.
pub fn saved_power(tx: &mut Tx<'_>, id: TemplateId) -> Result<SavedPower, StoreError> {
    let row = tx.query_opt(
        "SELECT saved_power FROM templates WHERE id = ?1",
        values![id],
    )?;
    match row {
        Some(row) => row.get("saved_power"),
        None => Err(StoreError::missing("template", id)),
    }
}

pub fn set_saved_power(
    tx: &mut Tx<'_>,
    id: TemplateId,
    power: SavedPower,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE templates SET saved_power = ?2 WHERE id = ?1",
        values![id, power],
    )?;
    Ok(())
}

/// Deletes a template; spaces created from it stay, without a template.
pub fn delete(tx: &mut Tx<'_>, id: TemplateId) -> Result<bool, StoreError> {
    Ok(tx.execute("DELETE FROM templates WHERE id = ?1", values![id])? > 0)
}

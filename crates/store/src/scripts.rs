//! Stored scripts, and the records that use them.

mod uses;

use serde_json::Value as JsonValue;
use svc_core::{ScriptId, UserId, power::SavedPower, registration::Annotations, visibility};
use svc_protocol::api::{Script, ScriptKind, ScriptOwner, ScriptQuery};

pub use uses::{Use, list_sink_owners, list_uses};

use super::{
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest},
    record::record,
    records::{self, Powered, kept},
    sinks::GLOBAL,
    sql::{Row, Tx, values},
};

/// The `owner_key` of a script: its owner's id, or [`GLOBAL`].
pub fn owner_key(script: &Script) -> String {
    match script.owner {
        ScriptOwner::User => script.owner_id.to_string(),
        ScriptOwner::Global => GLOBAL.to_owned(),
    }
}

/// The `owner_key`s of scripts that a user may use: the user's own, and the global ones.
pub fn visible_keys(user: UserId) -> Vec<String> {
    vec![user.to_string(), GLOBAL.to_owned()]
}

fn read_owner(row: &Row) -> Result<ScriptOwner, StoreError> {
    Ok(match row.get::<String>("owner_key")?.as_str() {
        GLOBAL => ScriptOwner::Global,
        _ => ScriptOwner::User,
    })
}

record! {
    Script in "scripts": id, owner_id, name, kind, description, source, params_schema, created_at,
    updated_at, title, annotations;
    owner as "owner_key" with read_owner, owner_key
}

kept! {
    Script "script": ScriptId, fixed [owner_id, owner_key, kind, created_at],
    of owner_key: str, unique [owner_key, kind, name] named name,
    size "octet_length(source) + octet_length(description) + COALESCE(octet_length(params_schema), 0)"
}

impl Powered for Script {}

/// A script that a user may use: one of their own, or a global script.
pub fn find_visible(
    tx: &mut Tx<'_>,
    id: ScriptId,
    user: UserId,
) -> Result<Option<Script>, StoreError> {
    let is_visible = |script: &Script| {
        visibility::is_script_visible(script.owner == ScriptOwner::Global, script.owner_id, user)
    };
    Ok(records::find(tx, id)?.filter(is_visible))
}

/// A library of an owner, or a global one.
pub fn find_library(
    tx: &mut Tx<'_>,
    owner_key: &str,
    name: &str,
) -> Result<Option<Script>, StoreError> {
    tx.find_record(
        "WHERE owner_key = ?1 AND kind = ?2 AND name = ?3",
        values![owner_key, ScriptKind::Library, name],
    )
}

/// A tool script in a list of tools: without its source.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolRow {
    pub id: ScriptId,
    pub owner_key: String,
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub annotations: Annotations,
    pub params_schema: Option<JsonValue>,
}

record! { ToolRow in "scripts": id, owner_key, name, title, description, annotations, params_schema }

/// Every tool script.
pub fn list_tools(tx: &mut Tx<'_>) -> Result<Vec<ToolRow>, StoreError> {
    tx.list_records("WHERE kind = ?1 ORDER BY id", values![ScriptKind::Tool])
}

/// The tool scripts of one owner, or the global ones.
pub fn list_tools_of(tx: &mut Tx<'_>, owner_key: &str) -> Result<Vec<ToolRow>, StoreError> {
    tx.list_records(
        "WHERE owner_key = ?1 AND kind = ?2 ORDER BY id",
        values![owner_key, ScriptKind::Tool],
    )
}

/// The scripts that a user sees, oldest first. Sources are long, so a page may have fewer scripts
/// than requested, and a cursor for the rest.
pub fn list(
    tx: &mut Tx<'_>,
    user: UserId,
    query: &ScriptQuery,
    page: PageRequest,
) -> Result<Page<Script>, StoreError> {
    let owner_keys = match query.owner {
        Some(ScriptOwner::User) => vec![user.to_string()],
        Some(ScriptOwner::Global) => vec![GLOBAL.to_owned()],
        None => visible_keys(user),
    };
    let mut conditions = Conditions::default();
    conditions.add_in("owner_key", &owner_keys);
    conditions.add_some("kind = ?", query.kind);
    conditions.add_some("name = ?", query.name.as_ref());
    page.records(tx, conditions)
}

/// The global scripts whose last saver did not hold every permission, with the permissions that the
/// saver held.
pub fn list_global_powers(tx: &mut Tx<'_>) -> Result<Vec<(ScriptId, SavedPower)>, StoreError> {
    tx.list(
        "SELECT id, saved_power FROM scripts WHERE owner_key = ?1 AND saved_power IS NOT NULL",
        values![GLOBAL],
    )
}

/// Deletes the scripts of a user, except the global ones. Returns their number.
pub fn delete_of_owner(tx: &mut Tx<'_>, owner: UserId) -> Result<usize, StoreError> {
    tx.count_changes("DELETE FROM scripts WHERE owner_key = ?1", values![owner])
}

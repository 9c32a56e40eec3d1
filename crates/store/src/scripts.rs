//! Stored scripts, and their uses.

mod uses;

use serde_json::Value as JsonValue;
use svc_core::{ScriptId, UserId, power::SavedPower, registration::Annotations, visibility};
use svc_protocol::api::{Script, ScriptKind, ScriptOwner, ScriptQuery};

pub use uses::{Use, list_sink_owners, list_uses};

use super::{
    error::StoreError,
    page::{Page, PageRequest},
    sinks::GLOBAL,
    sql::{Row, Tx, values},
    value::{FromValue, Json, Value},
};

const COLUMNS: &str = "id, owner_key, owner_id, name, kind, description, source, params_schema, \
                       created_at, updated_at, title, annotations";

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

fn read(row: &Row) -> Result<Script, StoreError> {
    let params_schema: Option<Json<JsonValue>> = row.get("params_schema")?;
    let owner_key: String = row.get("owner_key")?;
    Ok(Script {
        id: row.get("id")?,
        name: row.get("name")?,
        kind: row.get("kind")?,
        owner: if owner_key == GLOBAL {
            ScriptOwner::Global
        } else {
            ScriptOwner::User
        },
        owner_id: row.get("owner_id")?,
        description: row.get("description")?,
        source: row.get("source")?,
        params_schema: params_schema.map(|Json(schema)| schema),
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        title: row.get("title")?,
        annotations: read_annotations(row)?,
    })
}

fn read_annotations(row: &Row) -> Result<Annotations, StoreError> {
    let stored: Option<Json<Annotations>> = row.get("annotations")?;
    Ok(stored.map(|Json(known)| known).unwrap_or_default())
}

/// `None` if no hint is known.
fn stored_annotations(script: &Script) -> Option<Json<&Annotations>> {
    (!script.annotations.is_empty()).then_some(Json(&script.annotations))
}

/// A duplicate name of the same owner and kind is [`StoreError::Unique`].
pub fn insert(tx: &mut Tx<'_>, script: &Script) -> Result<(), StoreError> {
    tx.execute(
        &format!(
            "INSERT INTO scripts ({COLUMNS}) VALUES \
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        ),
        values![
            script.id,
            owner_key(script),
            script.owner_id,
            &script.name,
            script.kind,
            &script.description,
            &script.source,
            script.params_schema.as_ref().map(Json),
            script.created_at,
            script.updated_at,
            script.title.as_deref(),
            stored_annotations(script)
        ],
    )?;
    Ok(())
}

pub fn find(tx: &mut Tx<'_>, id: ScriptId) -> Result<Option<Script>, StoreError> {
    tx.find(
        &format!("SELECT {COLUMNS} FROM scripts WHERE id = ?1"),
        values![id],
        read,
    )
}

/// A script that a user may use: one of their own, or a global script.
pub fn find_visible(
    tx: &mut Tx<'_>,
    id: ScriptId,
    user: UserId,
) -> Result<Option<Script>, StoreError> {
    let is_visible = |script: &Script| {
        visibility::is_script_visible(script.owner == ScriptOwner::Global, script.owner_id, user)
    };
    Ok(find(tx, id)?.filter(is_visible))
}

pub fn find_by_name(
    tx: &mut Tx<'_>,
    owner_key: &str,
    kind: ScriptKind,
    name: &str,
) -> Result<Option<Script>, StoreError> {
    tx.find(
        &format!("SELECT {COLUMNS} FROM scripts WHERE owner_key = ?1 AND kind = ?2 AND name = ?3"),
        values![owner_key, kind, name],
        read,
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

const TOOL_COLUMNS: &str = "id, owner_key, name, description, params_schema, title, annotations";

fn read_tool(row: &Row) -> Result<ToolRow, StoreError> {
    let params_schema: Option<Json<JsonValue>> = row.get("params_schema")?;
    Ok(ToolRow {
        id: row.get("id")?,
        owner_key: row.get("owner_key")?,
        name: row.get("name")?,
        title: row.get("title")?,
        description: row.get("description")?,
        annotations: read_annotations(row)?,
        params_schema: params_schema.map(|Json(schema)| schema),
    })
}

/// Every tool script.
pub fn list_tools(tx: &mut Tx<'_>) -> Result<Vec<ToolRow>, StoreError> {
    tx.list(
        &format!("SELECT {TOOL_COLUMNS} FROM scripts WHERE kind = ?1 ORDER BY id"),
        values![ScriptKind::Tool],
        read_tool,
    )
}

/// The tool scripts of one owner, or the global ones.
pub fn list_tools_of(tx: &mut Tx<'_>, owner_key: &str) -> Result<Vec<ToolRow>, StoreError> {
    tx.list(
        &format!(
            "SELECT {TOOL_COLUMNS} FROM scripts WHERE owner_key = ?1 AND kind = ?2 ORDER BY id"
        ),
        values![owner_key, ScriptKind::Tool],
        read_tool,
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
    let (condition, mut values) = condition(user, query, page);
    values.push(page.limit());
    let sizes = tx.query(
        &format!(
            "SELECT id, octet_length(source) + octet_length(description)
                 + COALESCE(octet_length(params_schema), 0) AS bytes
             FROM scripts WHERE {condition} ORDER BY id LIMIT ?{}",
            values.len()
        ),
        &values,
    )?;
    let select = format!("SELECT {COLUMNS} FROM scripts");
    page.read(tx, &sizes, &select, read)
}

fn condition(user: UserId, query: &ScriptQuery, page: PageRequest) -> (String, Vec<Value>) {
    let owner_keys = match query.owner {
        Some(ScriptOwner::User) => vec![user.to_string()],
        Some(ScriptOwner::Global) => vec![GLOBAL.to_owned()],
        None => visible_keys(user),
    };
    let mut values: Vec<Value> = vec![page.after()];
    let mut placeholder = |value: Value| {
        values.push(value);
        format!("?{}", values.len())
    };
    let keys: Vec<_> = owner_keys
        .iter()
        .map(|key| placeholder(key.into()))
        .collect();
    let mut condition = format!("id > ?1 AND owner_key IN ({})", keys.join(", "));
    if let Some(kind) = query.kind {
        condition.push_str(&format!(" AND kind = {}", placeholder(kind.into())));
    }
    if let Some(name) = &query.name {
        condition.push_str(&format!(" AND name = {}", placeholder(name.into())));
    }
    (condition, values)
}

/// The number of scripts of an owner.
pub fn count(tx: &mut Tx<'_>, owner_key: &str) -> Result<u64, StoreError> {
    tx.count(
        "SELECT COUNT(*) FROM scripts WHERE owner_key = ?1",
        values![owner_key],
    )
    .map(i64::unsigned_abs)
}

/// Writes all fields that may change.
pub fn update(tx: &mut Tx<'_>, script: &Script) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE scripts SET name = ?2, description = ?3, source = ?4, params_schema = ?5,
             updated_at = ?6, title = ?7, annotations = ?8 WHERE id = ?1",
        values![
            script.id,
            &script.name,
            &script.description,
            &script.source,
            script.params_schema.as_ref().map(Json),
            script.updated_at,
            script.title.as_deref(),
            stored_annotations(script)
        ],
    )?;
    match changed {
        0 => Err(StoreError::missing("script", script.id)),
        _ => Ok(()),
    }
}

/// The permissions of the user who last saved the script, at that time.
pub fn saved_power(tx: &mut Tx<'_>, id: ScriptId) -> Result<SavedPower, StoreError> {
    let row = tx.query_opt("SELECT saved_power FROM scripts WHERE id = ?1", values![id])?;
    match row {
        Some(row) => row.get("saved_power"),
        None => Err(StoreError::missing("script", id)),
    }
}

pub fn set_saved_power(tx: &mut Tx<'_>, id: ScriptId, power: SavedPower) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE scripts SET saved_power = ?2 WHERE id = ?1",
        values![id, power],
    )?;
    Ok(())
}

/// The global scripts that were saved by a user who did not hold every permission.
pub fn list_global_powers(tx: &mut Tx<'_>) -> Result<Vec<(ScriptId, SavedPower)>, StoreError> {
    tx.list(
        "SELECT id, saved_power FROM scripts WHERE owner_key = ?1 AND saved_power IS NOT NULL",
        values![GLOBAL],
        |row| Ok((row.get("id")?, row.get("saved_power")?)),
    )
}

pub fn delete(tx: &mut Tx<'_>, id: ScriptId) -> Result<bool, StoreError> {
    Ok(tx.execute("DELETE FROM scripts WHERE id = ?1", values![id])? > 0)
}

/// Deletes the scripts of a user, except the global ones. Returns their number.
pub fn delete_of_owner(tx: &mut Tx<'_>, owner: UserId) -> Result<usize, StoreError> {
    tx.execute("DELETE FROM scripts WHERE owner_key = ?1", values![owner])
}

impl FromValue for ScriptKind {
    fn from_value(value: &Value) -> Result<Self, String> {
        match String::from_value(value)?.as_str() {
            "startup" => Ok(Self::Startup),
            "library" => Ok(Self::Library),
            "sink" => Ok(Self::Sink),
            "tool" => Ok(Self::Tool),
            other => Err(format!("`{other}` is not a kind of script")),
        }
    }
}

impl From<ScriptKind> for Value {
    fn from(kind: ScriptKind) -> Self {
        match kind {
            ScriptKind::Startup => "startup",
            ScriptKind::Library => "library",
            ScriptKind::Sink => "sink",
            ScriptKind::Tool => "tool",
        }
        .into()
    }
}

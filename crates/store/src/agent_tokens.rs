//! Agent tokens, stored as hashes.
//!
//! A space has at most one token of each kind: one that was shown to its owner, and one that the
//! server gave to an agent that it runs itself.

use svc_core::{Id, SpaceId, Timestamp, UserId, space::StopReason};

use super::{
    error::StoreError,
    spaces::ForeignSetting,
    sql::{Row, Tx, values},
    value::{FromValue, Hash, Value},
};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AgentTokenKind {
    /// Shown to the owner, who starts the agent.
    Shown,
    /// Given to the agent of a `local` space; never shown to a user.
    Local,
}

impl AgentTokenKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Local => "local",
        }
    }
}

impl FromValue for AgentTokenKind {
    fn from_value(value: &Value) -> Result<Self, String> {
        match String::from_value(value)?.as_str() {
            "shown" => Ok(Self::Shown),
            "local" => Ok(Self::Local),
            other => Err(format!("`{other}` is not a kind of agent token")),
        }
    }
}

impl From<AgentTokenKind> for Value {
    fn from(kind: AgentTokenKind) -> Self {
        kind.as_str().into()
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentTokenRow {
    pub id: Id,
    pub space_id: SpaceId,
    pub hash: Hash,
    pub kind: AgentTokenKind,
    pub created_at: Timestamp,
    /// The user who created the token, if that is not the owner of the space.
    pub made_by: Option<UserId>,
}

/// A token and the owner of its space, for the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnedAgentToken {
    pub hash: Hash,
    pub space_id: SpaceId,
    pub owner_id: UserId,
    /// Why the space is stopped; `None` if it is not.
    pub stop_reason: Option<StopReason>,
}

impl OwnedAgentToken {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            hash: row.get("hash")?,
            space_id: row.get("space_id")?,
            owner_id: row.get("owner_id")?,
            stop_reason: row.get("stop_reason")?,
        })
    }
}

pub fn insert(tx: &mut Tx<'_>, token: &AgentTokenRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO agent_tokens (id, space_id, hash, kind, created_at, made_by)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        values![
            token.id,
            token.space_id,
            token.hash,
            token.kind,
            token.created_at,
            token.made_by
        ],
    )?;
    Ok(())
}

/// Replaces the space's earlier tokens of the same kind.
pub fn replace(tx: &mut Tx<'_>, token: &AgentTokenRow) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM agent_tokens WHERE space_id = ?1 AND kind = ?2",
        values![token.space_id, token.kind],
    )?;
    insert(tx, token)
}

/// The user who created a token, if that is not the owner of the space.
pub fn find_maker(tx: &mut Tx<'_>, hash: &Hash) -> Result<Option<UserId>, StoreError> {
    let found = tx.query_opt(
        "SELECT made_by FROM agent_tokens WHERE hash = ?1",
        values![*hash],
    )?;
    let maker = found.map(|row| row.get::<Option<UserId>>("made_by"));
    Ok(maker.transpose()?.flatten())
}

/// Revokes every token of a space.
pub(crate) fn delete_of_space(tx: &mut Tx<'_>, space: SpaceId) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM agent_tokens WHERE space_id = ?1",
        values![space],
    )
}

/// Tokens that were created by users other than the owner of the space.
pub fn list_made_by_others(tx: &mut Tx<'_>) -> Result<Vec<ForeignSetting>, StoreError> {
    tx.list(
        "SELECT a.space_id AS space_id, s.owner_id AS owner_id, a.made_by AS made_by
         FROM agent_tokens a JOIN spaces s ON s.id = a.space_id
         WHERE a.made_by IS NOT NULL AND s.state <> 'deleted' ORDER BY a.id",
        &[],
        ForeignSetting::read,
    )
}

/// Revokes the tokens of a space that its owner did not create.
pub fn delete_made_by_others(tx: &mut Tx<'_>, space: SpaceId) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM agent_tokens WHERE space_id = ?1 AND made_by IS NOT NULL",
        values![space],
    )
}

/// The tokens of all spaces that are not deleted: for the directory.
pub fn list_all(tx: &mut Tx<'_>) -> Result<Vec<OwnedAgentToken>, StoreError> {
    tx.list(
        "SELECT a.hash AS hash, a.space_id AS space_id, s.owner_id AS owner_id,
                s.stop_reason AS stop_reason
         FROM agent_tokens a JOIN spaces s ON s.id = a.space_id WHERE s.state <> 'deleted'",
        &[],
        OwnedAgentToken::read,
    )
}

/// The tokens of one space, none if it is deleted: for the directory.
pub fn list_of_space(tx: &mut Tx<'_>, space: SpaceId) -> Result<Vec<OwnedAgentToken>, StoreError> {
    tx.list(
        "SELECT a.hash AS hash, a.space_id AS space_id, s.owner_id AS owner_id,
                s.stop_reason AS stop_reason
         FROM agent_tokens a JOIN spaces s ON s.id = a.space_id
         WHERE a.space_id = ?1 AND s.state <> 'deleted'",
        values![space],
        OwnedAgentToken::read,
    )
}

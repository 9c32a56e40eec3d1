//! Agent tokens, stored as hashes.
//!
//! A space has at most one token of each kind: a token that was shown to the user who created it,
//! and a token that the server gave to an agent that the server runs itself.

use serde::{Deserialize, Serialize};
use svc_core::{Id, SpaceId, Timestamp, UserId, space::StopReason};

use super::{
    error::StoreError,
    record::{record, row},
    spaces::ForeignSetting,
    sql::{Tx, values},
    value::{Hash, as_word},
};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentTokenKind {
    /// Shown to the user who created it, for an agent that users start.
    Shown,
    /// Given to the agent of a `local` space; never shown to a user.
    Local,
}

as_word!(AgentTokenKind);

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

record! { AgentTokenRow in "agent_tokens": id, space_id, hash, kind, created_at, made_by }

/// A token and the owner of its space, for the directory (the users and tokens that the server
/// holds in memory).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnedAgentToken {
    pub hash: Hash,
    pub space_id: SpaceId,
    pub owner_id: UserId,
    /// Why the space is stopped; `None` if the space is not stopped.
    pub stop_reason: Option<StopReason>,
}

row! { OwnedAgentToken: hash, space_id, owner_id, stop_reason }

pub fn insert(tx: &mut Tx<'_>, token: &AgentTokenRow) -> Result<(), StoreError> {
    tx.insert(token)
}

/// Inserts a token. Deletes the earlier tokens of the same space and kind.
pub fn replace(tx: &mut Tx<'_>, token: &AgentTokenRow) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM agent_tokens WHERE space_id = ?1 AND kind = ?2",
        values![token.space_id, token.kind],
    )?;
    insert(tx, token)
}

/// The user who created a token, if that is not the owner of the space.
pub fn find_maker(tx: &mut Tx<'_>, hash: &Hash) -> Result<Option<UserId>, StoreError> {
    let sql = "SELECT made_by FROM agent_tokens WHERE hash = ?1";
    Ok(tx.find::<Option<_>>(sql, values![hash])?.flatten())
}

/// Revokes every token of a space.
pub(crate) fn delete_of_space(tx: &mut Tx<'_>, space: SpaceId) -> Result<(), StoreError> {
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
    )
}

/// Revokes the tokens of a space that were created by users other than the owner of the space.
pub fn delete_made_by_others(tx: &mut Tx<'_>, space: SpaceId) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM agent_tokens WHERE space_id = ?1 AND made_by IS NOT NULL",
        values![space],
    )
}

/// The tokens of all spaces that are not deleted: for the directory.
pub fn list_all(tx: &mut Tx<'_>) -> Result<Vec<OwnedAgentToken>, StoreError> {
    tx.list(OWNED_TOKENS, &[])
}

/// The tokens of one space, for the directory. Empty if the space is deleted.
pub fn list_of_space(tx: &mut Tx<'_>, space: SpaceId) -> Result<Vec<OwnedAgentToken>, StoreError> {
    tx.list(
        &format!("{OWNED_TOKENS} AND a.space_id = ?1"),
        values![space],
    )
}

const OWNED_TOKENS: &str = "SELECT a.hash AS hash, a.space_id AS space_id, s.owner_id AS owner_id,
        s.stop_reason AS stop_reason
     FROM agent_tokens a JOIN spaces s ON s.id = a.space_id WHERE s.state <> 'deleted'";

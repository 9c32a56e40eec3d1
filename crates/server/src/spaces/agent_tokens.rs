//! Agent tokens: the token shown to the user, and the token that a local agent gets at each start.

use serde_json::json;
use svc_core::{Id, Permission, SpaceId, UserId, credential::CredentialKind};
use svc_store::{
    agent_tokens::{self, AgentTokenKind, AgentTokenRow},
    spaces,
    users::{self, UserPower},
    zone_changes::ZoneChange,
};
use uuid::Uuid;

use super::access::{find_foreign_maker, managed};
use crate::{
    identity::{Caller, Identity, Secret},
    lifecycle::append,
    records::{RecordError, Result},
};

/// A new token and its record. The transaction that stores the record
/// affects the space ([`ZoneChange::Space`]).
pub fn new_agent_token(
    space_id: SpaceId,
    kind: AgentTokenKind,
    made_by: Option<UserId>,
) -> Result<(String, AgentTokenRow)> {
    let secret = Secret::new(CredentialKind::AgentToken)?;
    let id = Id(Uuid::now_v7());
    let row = AgentTokenRow {
        id,
        space_id,
        hash: secret.hash,
        kind,
        created_at: svc_clock::now(),
        made_by,
    };
    Ok((secret.text, row))
}

/// Agent tokens never expire, so a token that expires must not create one.
pub fn check_may_make(caller: &Caller) -> Result<()> {
    match caller.token() {
        Some((_, Some(expires_at))) => Err(RecordError::new(
            "expiring_credential",
            format!(
                "the token you use expires at {expires_at}, and an agent token never does; use a session or a token without an expiry"
            ),
        )),
        _ => Ok(()),
    }
}

/// Replaces the shown token. The new token acts as the space's owner.
pub async fn rotate(identity: &Identity, caller: &Caller, space: SpaceId) -> Result<String> {
    check_may_make(caller)?;
    let (token, mut row) = new_agent_token(space, AgentTokenKind::Shown, None)?;
    identity
        .change(caller, move |tx, caller| {
            let found = managed(tx, caller, space)?;
            row.made_by = find_foreign_maker(tx, caller, &found)?;
            agent_tokens::replace(tx, &row)?;
            append(
                tx,
                &caller.user.name,
                "agent_token.rotated",
                space,
                json!({"name": found.name}),
            )?;
            tx.affects(ZoneChange::Space(space));
            Ok(())
        })
        .await?;
    Ok(token)
}

/// Issues a token for one start of an agent that the server runs, and revokes the previous token.
/// Returns an error if the space's owner may not run code on the server.
pub async fn issue_local(identity: &Identity, space: SpaceId) -> Result<String> {
    let (token, row) = new_agent_token(space, AgentTokenKind::Local, None)?;
    identity
        .change_as_server(move |tx| {
            let owner = spaces::get(tx, space)?.owner_id;
            let owner = users::find_power(tx, owner)?;
            let may_run = |owner: &UserPower| {
                owner.active && owner.permissions.contains(Permission::ManageSpaces)
            };
            if !owner.as_ref().is_some_and(may_run) {
                return Err(RecordError::new(
                    "permission_denied",
                    "the owner of this space is not active or does not hold `manage_spaces`",
                ));
            }
            agent_tokens::replace(tx, &row)?;
            tx.affects(ZoneChange::Space(space));
            Ok(())
        })
        .await?;
    Ok(token)
}

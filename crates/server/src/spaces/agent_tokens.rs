//! Agent tokens: the one an owner was shown, and the one a local agent gets at each start.

use serde_json::json;
use svc_core::{Id, SpaceId, credential::CredentialKind};
use uuid::Uuid;

use super::lifecycle::append;
use crate::{
    clock,
    identity::{Affected, Caller, Identity, IdentityError, Secret},
    store::{
        agent_tokens::{self, AgentTokenKind, AgentTokenRow},
        spaces,
    },
};

/// A new token and its record, to be written in a transaction that says [`Affected::space`].
pub fn new_agent_token(
    space_id: SpaceId,
    kind: AgentTokenKind,
) -> Result<(String, AgentTokenRow), IdentityError> {
    let secret = Secret::new(CredentialKind::AgentToken)?;
    let id = Id(Uuid::now_v7());
    let row = AgentTokenRow {
        id,
        space_id,
        hash: secret.hash,
        kind,
        created_at: clock::now(),
    };
    Ok((secret.text, row))
}

/// Puts a new token in the place of the one the owner was shown.
pub async fn rotate(
    identity: &Identity,
    caller: &Caller,
    space: SpaceId,
) -> Result<String, IdentityError> {
    let (token, row) = new_agent_token(space, AgentTokenKind::Shown)?;
    let actor = caller.user.name.to_string();
    identity
        .change(move |tx| {
            let name = spaces::get(tx, space)?.name;
            agent_tokens::replace(tx, &row)?;
            append(
                tx,
                &actor,
                "agent_token.rotated",
                space,
                json!({"name": name}),
            )?;
            Ok::<_, IdentityError>(((), Affected::space(space)))
        })
        .await?;
    Ok(token)
}

/// A token for one start of an agent the server runs itself; the one before it ends.
pub async fn issue_local(identity: &Identity, space: SpaceId) -> Result<String, IdentityError> {
    let (token, row) = new_agent_token(space, AgentTokenKind::Local)?;
    identity
        .change(move |tx| {
            spaces::get(tx, space)?;
            agent_tokens::replace(tx, &row)?;
            Ok::<_, IdentityError>(((), Affected::space(space)))
        })
        .await?;
    Ok(token)
}

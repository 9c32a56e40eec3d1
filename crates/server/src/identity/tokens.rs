//! API tokens. Users create, list and revoke their own tokens. Administrators list and revoke the
//! tokens of other users.

use std::time::Duration;

use serde_json::json;
use svc_core::{
    Quota, Scopes, Timestamp, TokenId, UserId, credential::CredentialKind, name::check_free_name,
    token::child_expiry,
};
use svc_protocol::api::{self, EXPIRY_DAYS_MAX};
use svc_store::{
    Hash, PageRequest, StoreError, records,
    tokens::{self, TokenRow},
    users::UserRow,
    zone_changes::ZoneChange,
};
use uuid::Uuid;

use super::{
    Identity, caller::Caller, change::Change, credentials::find_endable, directory::AccessDenied,
    quotas::check_one_more, secret::Secret,
};
use crate::records::{RecordError, Result};

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

impl Identity {
    /// Creates a token. Only this answer contains the secret.
    pub async fn create_token(&self, caller: &Caller, new: api::NewToken) -> Result<api::Token> {
        check_free_name("token", &new.name)?;
        let scopes = Scopes::parse(&new.scopes.unwrap_or_default())
            .map_err(|error| RecordError::new("invalid_scope", error.to_string()))?;
        let now = self.clock.now();
        let expires_at = match new.expires_in_days {
            None => None,
            Some(days) if (1..=EXPIRY_DAYS_MAX).contains(&days) => {
                Some(now.plus(Duration::from_secs(u64::from(days) * SECONDS_PER_DAY)))
            }
            Some(days) => {
                let message = format!(
                    "`expires_in_days` is {days}; it must be between 1 and {EXPIRY_DAYS_MAX}"
                );
                return Err(RecordError::new("invalid_expiry", message));
            }
        };
        let secret = Secret::new(CredentialKind::ApiToken)?;
        let parent = caller.token();
        let expires_at = child_expiry(expires_at, parent.and_then(|(_, expires_at)| expires_at))
            .map_err(|error| RecordError::new("outlives_parent", error.to_string()))?;
        let token = TokenRow {
            scopes,
            expires_at,
            parent_id: parent.map(|(id, _)| id),
            ..new_token(caller.user.id, new.name, secret.hash, now)
        };
        let quotas = self.quotas();
        let token = self
            .change(caller, move |tx, caller| {
                let has = records::count::<TokenRow>(tx, &token.user_id)?;
                check_one_more(tx, &quotas, token.user_id, Quota::Tokens, has)?;
                records::insert(tx, &token)?;
                audit_created(tx, caller, &token)?;
                tx.affects(ZoneChange::User(token.user_id));
                Ok(token)
            })
            .await?;
        Ok(self.shown_token(token, secret))
    }

    /// Replaces the caller's tokens of this name by a new token that never expires. Unlike
    /// [`Self::delete_token`], this does not revoke the tokens that were made with the old tokens:
    /// they become descendants of the new token. Only for the server process, which renews a token
    /// at each start.
    pub async fn renew_token(&self, caller: &Caller, name: &str) -> Result<api::Token> {
        let secret = Secret::new(CredentialKind::ApiToken)?;
        let (user, now) = (caller.user.id, self.clock.now());
        let token = new_token(user, name.to_owned(), secret.hash, now);
        let token = self
            .change(caller, move |tx, caller| {
                for earlier in tokens::list_named(tx, token.user_id, &token.name)? {
                    tokens::set_parent(tx, earlier.id, token.id)?;
                    for ended in tokens::delete(tx, earlier.id)? {
                        audit_revoked(tx, caller, &ended, earlier.id)?;
                    }
                }
                records::insert(tx, &token)?;
                audit_created(tx, caller, &token)?;
                tx.affects(ZoneChange::User(token.user_id));
                Ok(token)
            })
            .await?;
        Ok(self.shown_token(token, secret))
    }

    /// Inserts a token for the command line, in the transaction that completes the login of the
    /// command line.
    pub fn insert_login_token(
        &self,
        tx: &mut Change<'_, '_>,
        user: UserId,
        machine: &str,
        hash: Hash,
        lifetime: Duration,
    ) -> Result<TokenId> {
        let owner = records::find::<UserRow>(tx, user)?.filter(|user| user.active);
        let owner = owner.ok_or(AccessDenied::UserInactive)?;
        let now = self.clock.now();
        let mut name = format!("cli@{machine}");
        if check_free_name("token", &name).is_err() {
            name = "cli".to_owned();
        }
        let token = TokenRow {
            expires_at: Some(now.plus(lifetime)),
            ..new_token(user, name, hash, now)
        };
        let has = records::count::<TokenRow>(tx, &user)?;
        check_one_more(tx, &self.quotas(), user, Quota::Tokens, has)?;
        records::insert(tx, &token)?;
        let detail =
            json!({"name": token.name, "scopes": token.scopes, "expires_at": token.expires_at});
        let actor = owner.username.as_str();
        tx.audit_by(actor, "token.created", ("token", token.id), detail)?;
        Ok(token.id)
    }

    pub async fn list_tokens(
        &self,
        caller: &Caller,
        user: Option<UserId>,
        page: PageRequest,
    ) -> Result<api::Tokens> {
        let reading = self.read_credentials(caller, user, move |tx, owner| {
            records::list::<TokenRow>(tx, &owner.id, page)
        });
        Ok(reading.await?.map(|row| self.token(row)).into_list())
    }

    pub async fn get_token(&self, caller: &Caller, id: TokenId) -> Result<api::Token> {
        let reading = self.store.read(move |tx| records::find::<TokenRow>(tx, id));
        let found = reading.await?;
        let token = found.filter(|token| caller.check_credentials_of(token.user_id).is_ok());
        token
            .map(|row| self.token(row))
            .ok_or_else(|| RecordError::not_found("token", id))
    }

    /// Revokes a token and all tokens made with it: the next request with any of them is refused.
    /// Callers may revoke their own tokens. Callers with `manage_users` may also revoke tokens of
    /// users who hold no permission that the caller lacks.
    pub async fn delete_token(&self, caller: &Caller, id: TokenId) -> Result<()> {
        self.change(caller, move |tx, caller| {
            let user = find_endable::<TokenRow>(tx, caller, id, |token| token.user_id)?.user_id;
            for ended in tokens::delete(tx, id)? {
                audit_revoked(tx, caller, &ended, id)?;
            }
            tx.affects(ZoneChange::User(user));
            Ok(())
        })
        .await
    }

    /// A new token together with its secret.
    fn shown_token(&self, row: TokenRow, secret: Secret) -> api::Token {
        api::Token {
            token: Some(secret.text),
            ..self.token(row)
        }
    }

    fn token(&self, row: TokenRow) -> api::Token {
        api::Token {
            last_used_at: self.directory.last_used(&row.hash).or(row.last_used_at),
            id: row.id,
            name: row.name,
            token: None,
            scopes: row.scopes,
            created_at: row.created_at,
            expires_at: row.expires_at,
        }
    }
}

/// A token without scopes and expiry.
fn new_token(user_id: UserId, name: String, hash: Hash, now: Timestamp) -> TokenRow {
    TokenRow {
        id: TokenId(Uuid::now_v7()),
        user_id,
        name,
        hash,
        scopes: Scopes::UNRESTRICTED,
        created_at: now,
        expires_at: None,
        last_used_at: None,
        parent_id: None,
    }
}

fn audit_created(
    tx: &mut Change<'_, '_>,
    caller: &Caller,
    token: &TokenRow,
) -> Result<(), StoreError> {
    let mut detail = json!({
        "name": token.name, "scopes": token.scopes, "expires_at": token.expires_at,
    });
    if let Some(parent) = token.parent_id {
        detail["parent_id"] = json!(parent);
    }
    tx.audit(caller, "token.created", ("token", token.id), detail)
}

/// `revoked` is this token, or the ancestor whose revocation also revokes this token.
fn audit_revoked(
    tx: &mut Change<'_, '_>,
    caller: &Caller,
    token: &TokenRow,
    revoked: TokenId,
) -> Result<(), StoreError> {
    let mut detail = json!({"name": token.name});
    if token.id != revoked {
        detail["revoked_with"] = json!(revoked);
    }
    if token.user_id != caller.user.id {
        detail["user_id"] = json!(token.user_id);
    }
    tx.audit(caller, "token.revoked", ("token", token.id), detail)
}

//! Users who sign in with a provider: finds or creates the user, and opens a session.
//!
//! An account at a provider is identified by its issuer and subject and by nothing else: an e-mail
//! address or a name never links it to a user. One transaction does everything that a sign-in
//! changes, so a crash leaves nothing half done.

mod linking;
mod mapping;
mod provider_records;

use serde_json::{Value, json};
use svc_core::{
    OidcIdentityId, UserId, UserName,
    oidc::{Claims, has_required, propose_user_name},
    permission::ROLE_USER,
};
use svc_protocol::api::Role;
use svc_store::{
    StoreError, Tx,
    audit::SYSTEM,
    memberships,
    oidc::{
        identities::{self, IdentityRow},
        providers::ProviderRow,
        sessions as oidc_sessions,
    },
    records, sessions,
    users::{self, UserRow},
    zone_changes::ZoneChange,
};
use uuid::Uuid;

use super::{
    Identity,
    change::Change,
    lapsed::remove_lapsed,
    sessions::{ClientDetails, NewSession},
};
use crate::records::{RecordError, Result};

/// The maximum number of characters that are kept of an e-mail address or a display name.
const SHOWN_MAX: usize = 200;

/// The account with which a user signs in. Its values come from a token of the provider, after the
/// token was checked.
#[derive(Clone)]
pub struct ExternalAccount {
    pub provider: ProviderRow,
    pub sub: String,
    /// The id of the session at the provider.
    pub sid: Option<String>,
    pub claims: Claims,
}

impl ExternalAccount {
    /// The text of a claim, shortened and without unsafe characters. It is only displayed.
    fn shown(&self, name: &str) -> Option<String> {
        let text = self.claims.get(name).and_then(Value::as_str)?;
        let text: String = text
            .chars()
            .filter(|&character| !svc_core::text::is_unsafe(character))
            .take(SHOWN_MAX)
            .collect();
        (!text.is_empty()).then_some(text)
    }

    fn identity(&self, user_id: UserId, now: svc_core::Timestamp) -> IdentityRow {
        IdentityRow {
            id: OidcIdentityId(Uuid::now_v7()),
            provider_id: self.provider.id,
            user_id,
            issuer: self.provider.issuer.clone(),
            sub: self.sub.clone(),
            email: self.shown("email"),
            display_name: self.shown("name"),
            created_at: now,
            last_login_at: None,
        }
    }
}

impl Identity {
    /// Opens a session for the user of an account. Creates the user if the provider's settings
    /// allow it.
    pub async fn log_in_external(
        &self,
        account: ExternalAccount,
        client: ClientDetails,
    ) -> Result<NewSession> {
        let (secret, mut session) = self.new_session(UserId::NIL, &client)?;
        let (session_id, expires_at) = (session.id, session.expires_at);
        let keep = self.policy.sessions_per_user;
        let identity = self.clone();
        let user_id = self
            .change_as_server(move |tx| {
                check_provider(tx, &account)?;
                let now = session.created_at;
                let (user, known) = identity.find_or_create(tx, &account)?;
                if !user.active {
                    return Err(RecordError::new(
                        "user_inactive",
                        format!(
                            "the user `{}` is deactivated; ask an administrator",
                            user.username
                        ),
                    ));
                }
                let known = IdentityRow {
                    email: account.shown("email"),
                    display_name: account.shown("name"),
                    last_login_at: Some(now),
                    ..known
                };
                identities::set_login(tx, &known)?;
                let changes = mapping::apply(tx, &account, &known)?;
                session.user_id = user.id;
                records::insert(tx, &session)?;
                users::set_last_seen(tx, session.user_id, session.created_at)?;
                oidc_sessions::insert(tx, session.id, known.id, account.sid.as_deref())?;
                sessions::delete_oldest_of_user(tx, user.id, keep)?;
                let mut detail = json!({
                    "provider": account.provider.name,
                    "address": session.address,
                    "user_agent": session.user_agent,
                });
                if let Some(changes) = changes {
                    detail["memberships"] = changes;
                }
                let target = ("session", session.id);
                tx.audit_by(user.username.as_str(), "login.oidc", target, detail)?;
                remove_lapsed(tx, &[user.id])?;
                tx.affects(ZoneChange::User(user.id));
                Ok(user.id)
            })
            .await?;
        Ok(NewSession {
            user: self.directory.find_user(user_id).ok_or_else(|| {
                RecordError::new("user_inactive", "the user was deleted meanwhile")
            })?,
            session_id,
            cookie: secret.text,
            expires_at,
        })
    }

    fn find_or_create(
        &self,
        tx: &mut Change<'_, '_>,
        account: &ExternalAccount,
    ) -> Result<(UserRow, IdentityRow)> {
        if let Some(known) = identities::find_subject(tx, &account.provider.issuer, &account.sub)? {
            let user = records::find::<UserRow>(tx, known.user_id)?.ok_or(StoreError::NoRow)?;
            return Ok((user, known));
        }
        let name = check_may_create(tx, account)?;
        let now = self.clock.now();
        // No password: a sign-in with a password is refused.
        let user = UserRow::new(name, String::new(), now);
        let role = records::find_named::<Role>(tx, &(), ROLE_USER)?.ok_or(StoreError::NoRow)?;
        records::insert(tx, &user)?;
        memberships::set_of_user(tx, user.id, &[role.id])?;
        let known = account.identity(user.id, now);
        records::insert(tx, &known)?;
        let detail = json!({
            "username": user.username, "roles": [ROLE_USER],
            "provider": account.provider.name, "sub": account.sub,
        });
        tx.audit_by(SYSTEM, "user.created", ("user", user.id), detail)?;
        Ok((user, known))
    }
}

/// Fails if the provider was changed, disabled or deleted after `account.provider` was read.
fn check_provider(tx: &mut Tx<'_>, account: &ExternalAccount) -> Result<()> {
    let now = records::find::<ProviderRow>(tx, account.provider.id)?;
    if now.is_some_and(|now| now == account.provider && now.enabled) {
        return Ok(());
    }
    Err(RecordError::new(
        "provider_changed",
        format!(
            "the provider `{}` was changed meanwhile; sign in again",
            account.provider.name
        ),
    ))
}

/// Checks that an unknown account may become a user. Returns the name for the user.
fn check_may_create(tx: &mut Tx<'_>, account: &ExternalAccount) -> Result<UserName> {
    let provider = &account.provider;
    let refused = |code, message: String| Err(RecordError::new(code, message));
    if !provider.create_users {
        return refused(
            "identity_unknown",
            format!(
                "your account at {} is not linked to a user of this server; sign in with your password and link the account on the page “Account”, or ask an administrator",
                provider.label
            ),
        );
    }
    if let Err(claim) = has_required(&account.claims, &provider.required_claims) {
        return refused(
            "identity_not_admitted",
            format!(
                "your account at {} may not use this server: the claim `{claim}` has none of the values that are required; ask an administrator",
                provider.label
            ),
        );
    }
    let preferred = account.claims.get("preferred_username");
    let preferred = preferred.and_then(Value::as_str).unwrap_or_default();
    let Some(name) = propose_user_name(preferred) else {
        let preferred: String = preferred.chars().take(60).collect();
        return refused(
            "identity_without_name",
            format!(
                "no user name can be made of `{preferred}`, the `preferred_username` of your account at {}; ask an administrator to create a user for you, then link the account",
                provider.label
            ),
        );
    };
    if records::find_named::<UserRow>(tx, &(), &name)?.is_some() {
        return refused(
            "identity_name_taken",
            format!(
                "the user name `{name}` is taken by another user; if that user is you, sign in with your password and link the account on the page “Account”; otherwise ask an administrator"
            ),
        );
    }
    Ok(name)
}

//! Links accounts at providers to users, unlinks them, and ends sessions that users opened with a
//! provider.

use std::net::IpAddr;

use serde_json::json;
use svc_core::{OidcIdentityId, OidcProviderId, SessionId, UserId, oidc::LogoutSubject};
use svc_protocol::api;
use svc_store::{
    Hash, Tx,
    audit::SYSTEM,
    oidc::{
        grants as oidc_grants,
        identities::{self, IdentityRow},
        logouts,
        providers::ProviderRow,
        sessions as oidc_sessions,
    },
    records,
    zone_changes::ZoneChange,
};

use super::{ExternalAccount, check_provider, mapping};
use crate::{
    identity::{
        Change, Factor, Identity, caller::Caller, credentials::find_endable, lapsed::remove_lapsed,
    },
    records::{RecordError, Result, own},
};

/// The maximum number of accounts that one user may link.
const IDENTITIES_MAX: usize = 10;

impl Identity {
    /// Links an account to the caller. `session` is the session in which the linking began. It must
    /// be the caller's session.
    pub async fn link_external(
        &self,
        caller: &Caller,
        session: SessionId,
        account: ExternalAccount,
    ) -> Result<()> {
        if caller.session_id() != Some(session) {
            return Err(RecordError::new(
                "session_required",
                "another session began to link this account; begin again on the page “Account”",
            ));
        }
        let now = self.clock.now();
        self.change(caller, move |tx, caller| {
            check_provider(tx, &account)?;
            let user = caller.user.id;
            if let Some(known) =
                identities::find_subject(tx, &account.provider.issuer, &account.sub)?
            {
                let whose = match known.user_id == user {
                    true => "you linked this account already",
                    false => "this account is linked to another user of this server",
                };
                return Err(RecordError::new("identity_linked", whose));
            }
            if records::list_of::<IdentityRow>(tx, &user)?.len() >= IDENTITIES_MAX {
                return Err(RecordError::new(
                    "too_many_identities",
                    format!("you have linked {IDENTITIES_MAX} accounts; unlink one first"),
                ));
            }
            let known = IdentityRow {
                last_login_at: Some(now),
                ..account.identity(user, now)
            };
            records::insert(tx, &known)?;
            let mut detail = json!({"provider": account.provider.name, "sub": account.sub});
            if let Some(changes) = mapping::apply(tx, &account, &known)? {
                detail["memberships"] = changes;
            }
            tx.audit(caller, "identity.linked", ("user", caller.user.id), detail)?;
            remove_lapsed(tx, &[user])?;
            tx.affects(ZoneChange::User(user));
            Ok(())
        })
        .await
    }

    /// The accounts of the caller or, for callers with `manage_users`, of any user.
    pub async fn list_identities(
        &self,
        caller: &Caller,
        user: Option<UserId>,
    ) -> Result<api::LinkedIdentities> {
        let reading = self.read_credentials(caller, user, |tx, owner| {
            let mut identities = Vec::new();
            for known in records::list_of::<IdentityRow>(tx, &owner.id)? {
                let provider = records::find::<ProviderRow>(tx, known.provider_id)?;
                identities.push(api::LinkedIdentity {
                    id: known.id,
                    provider: provider.map(|provider| provider.label).unwrap_or_default(),
                    issuer: known.issuer,
                    email: known.email,
                    display_name: known.display_name,
                    created_at: known.created_at,
                    last_login_at: known.last_login_at,
                });
            }
            Ok(api::LinkedIdentities {
                has_password: !owner.password_hash.is_empty(),
                identities,
            })
        });
        reading.await
    }

    /// Unlinks an account of the caller, who must prove again who they are.
    pub async fn unlink_own_identity(
        &self,
        caller: &Caller,
        id: OidcIdentityId,
        proof: api::IdentityProof,
        address: IpAddr,
    ) -> Result<()> {
        let given = (proof.password, address);
        let changing = self.change_with_proof(caller, given, move |tx, caller| {
            let user = caller.user.id;
            let known: IdentityRow = own(tx, user, id)?;
            unlink(tx, caller, &known)?;
            Factor::Identity.check_removed(tx, user)
        });
        changing.await
    }

    /// Unlinks an account of another user, for callers with `manage_users` who hold every
    /// permission of that user.
    pub async fn unlink_identity(&self, caller: &Caller, id: OidcIdentityId) -> Result<()> {
        let changing = self.change(caller, move |tx, caller| {
            let known = find_endable::<IdentityRow>(tx, caller, id, |known| known.user_id)?;
            if known.user_id == caller.user.id {
                return Err(RecordError::new(
                    "proof_required",
                    format!(
                        "your own account is unlinked with POST /api/auth/identities/{id}/remove, which asks for your password"
                    ),
                ));
            }
            unlink(tx, caller, &known)
        });
        changing.await
    }

    /// Ends the sessions that a logout token of a provider names. Also disconnects the apps and
    /// machines that users connected in these sessions. Returns the number of sessions.
    pub async fn log_out_external(
        &self,
        provider: OidcProviderId,
        subject: LogoutSubject,
        (hash, expires_at): (Hash, svc_core::Timestamp),
    ) -> Result<usize> {
        self.change_as_server(move |tx| {
            if !logouts::use_once(tx, &hash, expires_at)? {
                return Err(RecordError::new(
                    "logout_token_used",
                    "the token for logout was used already",
                ));
            }
            let provider = records::get::<ProviderRow>(tx, provider)?;
            let mut ended = 0;
            let mut users = Vec::new();
            for known in identities_of(tx, &provider.issuer, &subject)? {
                let sid = subject.sid.as_deref();
                let (count, grants) = oidc_grants::end(tx, known.id, sid)?;
                let detail =
                    json!({"provider": provider.name, "sessions": count, "grants": grants});
                tx.audit_by(SYSTEM, "logout.oidc", ("user", known.user_id), detail)?;
                ended += count;
                users.push(known.user_id);
            }
            tx.affects_users(users);
            Ok(ended)
        })
        .await
    }
}

/// Unlinks an account. The user loses the groups and roles that the provider gave, and the sessions
/// that were opened with the account end.
fn unlink(tx: &mut Change<'_, '_>, caller: &Caller, known: &IdentityRow) -> Result<()> {
    let user = known.user_id;
    remove(tx, known)?;
    let detail = json!({"issuer": known.issuer, "sub": known.sub});
    tx.audit(caller, "identity.unlinked", ("user", user), detail)?;
    remove_lapsed(tx, &[user])?;
    tx.affects(ZoneChange::User(user));
    Ok(())
}

/// The identities that a logout token names.
fn identities_of(
    tx: &mut Tx<'_>,
    issuer: &str,
    subject: &LogoutSubject,
) -> Result<Vec<IdentityRow>> {
    let mut found = Vec::new();
    match (&subject.sub, &subject.sid) {
        (Some(sub), _) => found.extend(identities::find_subject(tx, issuer, sub)?),
        (None, Some(sid)) => {
            for id in oidc_sessions::list_identities(tx, issuer, sid)? {
                found.extend(records::find::<IdentityRow>(tx, id)?);
            }
        }
        (None, None) => {}
    }
    Ok(found)
}

/// Removes an identity and its sessions. Also disconnects the apps and machines that were connected
/// in these sessions, and takes away the groups and roles that the provider gave to the user.
pub(super) fn remove(tx: &mut Tx<'_>, known: &IdentityRow) -> Result<()> {
    mapping::withdraw_all(tx, known)?;
    oidc_grants::end(tx, known.id, None)?;
    records::delete::<IdentityRow>(tx, known.id)?;
    Ok(())
}

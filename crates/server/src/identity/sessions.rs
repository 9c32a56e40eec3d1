//! Login, logout, the list of sessions, and the change of a user's own password.

use std::{net::IpAddr, sync::Arc};

use serde_json::json;
use svc_core::{SessionId, Timestamp, UserId, UserName, credential::CredentialKind};
use svc_protocol::api;
use svc_store::{
    PageRequest, Tx,
    audit::{self, SYSTEM},
    keyed, records,
    sessions::{self, SessionRow},
    users::{self, UserRow},
    zone_changes::ZoneChange,
};
use uuid::Uuid;

use super::{
    Identity,
    caller::{Caller, User},
    credentials::find_endable,
    own_proof::end_begun_changes,
    passwords::Payer,
    policy::PasswordLogin,
    secret::Secret,
    sign_in::PresentedLink,
};
use crate::records::{RecordError, Result};

/// The maximum number of characters that are stored of a `User-Agent` header.
const USER_AGENT_MAX: usize = 256;

/// The client of a login.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientDetails {
    pub address: IpAddr,
    pub user_agent: String,
}

/// A new session. Without `Debug`: it holds the cookie.
pub struct NewSession {
    pub user: Arc<User>,
    pub session_id: SessionId,
    /// The value of the cookie. The server does not store it.
    pub cookie: String,
    pub expires_at: Timestamp,
}

/// Uses up a proof, in the transaction that opens the session.
pub type Redeem = Box<dyn FnOnce(&mut Tx<'_>) -> Result<()> + Send>;

/// How a user proved who they are.
pub enum Proof {
    /// The password alone.
    Password,
    /// The one-time link that `svc up` or `svc server start --sign-in-link` prints.
    SignInLink(PresentedLink),
    /// The password and a second factor, or a passkey that checked its user.
    SecondFactor {
        /// The name of the factor in the audit log.
        kind: &'static str,
        /// Uses up the pending login, if there is one, and the code or the answer of the passkey.
        redeem: Redeem,
    },
}

impl Identity {
    /// Checks user name and password. The attempt counts as failed until
    /// [`forgive_login`](Self::forgive_login).
    pub async fn check_login(&self, login: api::Login, client: &ClientDetails) -> Result<UserRow> {
        let api::Login { username, password } = login;
        // All malformed names share one counter of the login limit.
        let username = UserName::parse(&username)
            .map(|name| name.to_string())
            .unwrap_or_default();
        let limit = &self.login_limit;
        limit
            .begin(&username, client.address, self.clock.now())
            .await?;
        let name = username.clone();
        let found = self
            .store
            .read(move |tx| records::find_named::<UserRow>(tx, &(), &name))
            .await?;
        let is_accepted = self
            .accepts_password(found.as_ref().map(|user| user.id))
            .await?;
        // If the server accepts no password of this user, a right password and a wrong one get the
        // same answer after the same time. Otherwise anyone could find out passwords here.
        let stored = found
            .as_ref()
            // A user without a password signs in with a provider.
            .filter(|user| is_accepted && user.active && !user.password_hash.is_empty())
            .map(|user| user.password_hash.clone());
        let payer = Payer::address(client.address);
        let good = self.passwords.verify(payer, password, stored).await?;
        let Some(user) = found.filter(|_| good) else {
            limit
                .fail(&username, client.address, self.clock.now())
                .await?;
            self.note_failed_login(&username, client).await?;
            return Err(self.refused_login());
        };
        Ok(user)
    }

    /// The error of every failed login. With a restricted `oidc.password_login` it names that reason
    /// too, whether it applies or not.
    fn refused_login(&self) -> RecordError {
        match self.policy.password_login {
            PasswordLogin::All => invalid_credentials(),
            PasswordLogin::Admins | PasswordLogin::Off => RecordError::new(
                "invalid_credentials",
                "username or password is not right, or this server does not accept a password for this account; sign in with a provider. An administrator of the machine can start the server with SVC_PASSWORD_LOGIN=all",
            ),
        }
    }

    /// Counts an attempt at a second factor. The attempt counts as failed until
    /// [`forgive_login`](Self::forgive_login).
    pub async fn begin_second_factor(&self, user: &UserRow, address: IpAddr) -> Result<()> {
        let now = self.clock.now();
        Ok(self.login_limit.begin(&user.username, address, now).await?)
    }

    /// Records that a second factor was wrong.
    pub async fn fail_second_factor(&self, user: &UserRow, address: IpAddr) -> Result<()> {
        let now = self.clock.now();
        Ok(self.login_limit.fail(&user.username, address, now).await?)
    }

    /// Records that the last attempt was not a failure, and forgets the user's earlier failures at
    /// this address.
    pub async fn forgive_login(&self, user: &UserRow, address: IpAddr) -> Result<()> {
        Ok(self.login_limit.succeed(&user.username, address).await?)
    }

    /// Records a failed login in the audit log. The login limit bounds the number of entries, and
    /// many entries of a day are merged. The name is recorded only if the user exists: people type
    /// passwords into the wrong field.
    async fn note_failed_login(&self, username: &str, client: &ClientDetails) -> Result<()> {
        tracing::info!(client.address = %client.address, "a login failed");
        let known = self.directory.find_user_by_name(username);
        let id = known.as_ref().map(|user| user.id.to_string());
        let entry = self.entry_by(
            SYSTEM,
            "login.failed",
            ("user", id.unwrap_or_default()),
            json!({
                "username": known.map(|user| user.name.clone()),
                "address": client.address.to_string(),
            }),
        );
        Ok(self
            .store
            .write(move |tx| audit::append_for(tx, "logins", &entry))
            .await?)
    }

    /// Opens a session of a user. If the proof is the password alone, decides in the transaction
    /// whether the user must set up a second factor first.
    pub async fn open_session(
        &self,
        user: UserRow,
        client: ClientDetails,
        proof: Proof,
    ) -> Result<NewSession> {
        let (secret, mut session) = self.new_session(user.id, &client)?;
        let (session_id, expires_at) = (session.id, session.expires_at);
        let mut entry = self.entry_by(
            user.username.as_str(),
            "session.created",
            ("session", session_id),
            json!({"address": session.address, "user_agent": session.user_agent}),
        );
        match proof {
            Proof::Password => {}
            Proof::SignInLink(_) => entry.detail["sign_in_link"] = json!(true),
            Proof::SecondFactor { kind, .. } => entry.detail["second_factor"] = json!(kind),
        }
        let keep = self.policy.sessions_per_user;
        let id = user.id;
        self.change_as_server(move |tx| {
            // The user may have been deactivated, or the password changed, during the verification.
            let still = records::find::<UserRow>(tx, user.id)?;
            if !still.is_some_and(|now| now.active && now.password_hash == user.password_hash) {
                return Err(invalid_credentials());
            }
            match proof {
                Proof::Password => session.must_enrol = must_enrol(tx, user.id)?,
                Proof::SignInLink(link) => link.redeem(tx)?,
                Proof::SecondFactor { redeem, .. } => redeem(tx)?,
            }
            records::insert(tx, &session)?;
            users::set_last_seen(tx, session.user_id, session.created_at)?;
            sessions::delete_oldest_of_user(tx, user.id, keep)?;
            // A login is never refused because of its entry: entries beyond a limit are merged.
            audit::append_by_action(tx, &user.id.to_string(), &entry)?;
            tx.affects(ZoneChange::User(user.id));
            Ok(())
        })
        .await?;
        Ok(NewSession {
            user: self
                .directory
                .find_user(id)
                .ok_or_else(invalid_credentials)?,
            session_id,
            cookie: secret.text,
            expires_at,
        })
    }

    /// A session that is not stored yet, and the secret of its cookie.
    pub(super) fn new_session(
        &self,
        user_id: UserId,
        client: &ClientDetails,
    ) -> Result<(Secret, SessionRow)> {
        let secret = Secret::new(CredentialKind::Session)?;
        let now = self.clock.now();
        let session = SessionRow {
            id: SessionId(Uuid::now_v7()),
            user_id,
            hash: secret.hash,
            created_at: now,
            expires_at: now.plus(self.policy.session_lifetime),
            last_used_at: Some(now),
            address: client.address.to_string(),
            user_agent: client.user_agent.chars().take(USER_AGENT_MAX).collect(),
            must_enrol: false,
        };
        Ok((secret, session))
    }

    /// Ends the session of the request. Does nothing for a request with a token.
    pub async fn log_out(&self, caller: &Caller) -> Result<()> {
        match caller.session_id() {
            Some(id) => self.delete_session(caller, id).await,
            None => Ok(()),
        }
    }

    pub async fn list_sessions(
        &self,
        caller: &Caller,
        user: Option<UserId>,
        page: PageRequest,
    ) -> Result<api::Sessions> {
        let (now, current) = (self.clock.now(), caller.session_id());
        let reading = self.read_credentials(caller, user, move |tx, owner| {
            records::list_unexpired::<SessionRow>(tx, &owner.id, now, page)
        });
        let page = reading.await?;
        let session = |row: SessionRow| api::Session {
            last_used_at: self.directory.last_used(&row.hash).or(row.last_used_at),
            id: row.id,
            created_at: row.created_at,
            expires_at: row.expires_at,
            address: row.address,
            user_agent: row.user_agent,
            current: current == Some(row.id),
        };
        Ok(page.map(session).into_list())
    }

    /// Ends a session of the caller or, for callers with `manage_users`, of a user who holds no
    /// permission that the caller lacks.
    pub async fn delete_session(&self, caller: &Caller, id: SessionId) -> Result<()> {
        self.change(caller, move |tx, caller| {
            let user =
                find_endable::<SessionRow>(tx, caller, id, |session| session.user_id)?.user_id;
            let detail = match user == caller.user.id {
                true => json!({}),
                false => json!({"user_id": user}),
            };
            records::delete::<SessionRow>(tx, id)?;
            tx.audit(caller, "session.deleted", ("session", id), detail)?;
            tx.affects(ZoneChange::User(user));
            Ok(())
        })
        .await
    }

    /// Ends all sessions of the caller except the session of the request. Returns their number.
    pub async fn delete_other_sessions(&self, caller: &Caller) -> Result<usize> {
        let user = caller.user.id;
        let keep = caller.session_id();
        self.change(caller, move |tx, caller| {
            let ended = sessions::delete_of_user(tx, user, keep)?;
            let detail = json!({"sessions": ended});
            tx.audit(caller, "session.deleted", ("user", user), detail)?;
            tx.affects(ZoneChange::User(user));
            Ok(ended)
        })
        .await
    }

    /// Changes the caller's own password and ends their other sessions. Wrong current passwords
    /// count as failed logins.
    pub async fn change_password(
        &self,
        caller: &Caller,
        change: api::ChangePassword,
        address: IpAddr,
    ) -> Result<()> {
        let user = caller.user.id;
        let proving = self.prove(caller, Some(change.current_password), address);
        let proof = proving.await?;
        let payer = Payer::User(user);
        let hash = self.passwords.hash(payer, change.new_password).await?;
        let keep = caller.session_id();
        let now = self.clock.now();
        self.change(caller, move |tx, caller| {
            proof.check(tx, caller, now)?;
            users::set_password_hash(tx, user, &hash)?;
            end_begun_changes(tx, user)?;
            sessions::delete_of_user(tx, user, keep)?;
            tx.audit(caller, "user.password_changed", ("user", user), json!({}))?;
            tx.affects(ZoneChange::User(user));
            Ok(())
        })
        .await
    }

    pub(super) async fn prune_sessions(&self) -> Result<()> {
        let now = self.clock.now();
        self.change_as_server(move |tx| {
            let users = keyed::end_expired::<SessionRow>(tx, now)?;
            tx.affects_users(users);
            Ok(())
        })
        .await
    }
}

/// Whether a user who presented only the password must set up a second factor first.
fn must_enrol(tx: &mut Tx<'_>, user: UserId) -> Result<bool> {
    let profile = users::find_profile(tx, user)?.ok_or_else(invalid_credentials)?;
    if profile.has_second_factor {
        // The second factor was set up after the password was checked.
        return Err(RecordError::new(
            "second_factor_added",
            "a second factor was set up meanwhile; log in again",
        ));
    }
    Ok(profile.requires_second_factor)
}

/// The same error for an unknown user, a wrong password and a deactivated user.
fn invalid_credentials() -> RecordError {
    RecordError::new("invalid_credentials", "username or password is not right")
}

//! Creates the first administrator, with a one-time setup token or a password given at the start.

use serde_json::json;
use svc_core::{UserName, credential::CredentialKind, permission::ROLE_ADMIN};
use svc_crypto::is_equal;
use svc_protocol::api::{self, Role};
use svc_store::{
    StoreError, Tx,
    audit::SYSTEM,
    memberships, meta, records,
    users::{self, UserRow},
    zone_changes::ZoneChange,
};

use super::{
    Identity,
    caller::User,
    passwords::Payer,
    secret::{Secret, hash_secret, hex},
};
use crate::records::{RecordError, Result};

const SETUP_TOKEN_HASH: &str = "setup_token_hash";
/// The user that gets the password of `SVC_ADMIN_PASSWORD`.
const ADMIN: &str = "admin";

impl Identity {
    /// Creates a setup token if the server has no users. It replaces an earlier one.
    pub async fn setup_token(&self) -> Result<Option<String>> {
        let secret = Secret::new(CredentialKind::Setup)?;
        let hash = hex(&secret.hash);
        let needed = self
            .store
            .write(move |tx| {
                if records::count::<UserRow>(tx, &())? > 0 {
                    meta::delete(tx, SETUP_TOKEN_HASH)?;
                    return Ok(false);
                }
                meta::set(tx, SETUP_TOKEN_HASH, &hash)?;
                Ok(true)
            })
            .await?;
        Ok(needed.then_some(secret.text))
    }

    /// Creates the first administrator. The setup token is valid once.
    pub async fn set_up(&self, setup: api::Setup) -> Result<api::User> {
        let name = UserName::parse(&setup.username)?;
        let presented = hex(&hash_secret(&setup.setup_token));
        // Checked before the password is hashed, so that only a client with the token can cause
        // this work.
        let expected = self
            .store
            .read(|tx| meta::find(tx, SETUP_TOKEN_HASH))
            .await?;
        check_setup_token(expected.as_deref(), &presented)?;
        let password_hash = self.passwords.hash(Payer::Server, setup.password).await?;
        self.create_admin(name, password_hash, move |tx| {
            check_setup_token(meta::find(tx, SETUP_TOKEN_HASH)?.as_deref(), &presented)
        })
        .await
    }

    /// Creates the user `admin` with this password if the server has no users. Returns whether the
    /// user was created.
    pub async fn ensure_admin(&self, password: String) -> Result<bool> {
        let users = self
            .store
            .read_table(|tx| records::count::<UserRow>(tx, &()));
        if users.await? > 0 {
            return Ok(false);
        }
        let name = UserName::parse(ADMIN)?;
        let password_hash = self.passwords.hash(Payer::Server, password).await?;
        let created = self.create_admin(name, password_hash, |_| Ok(())).await;
        match created {
            Ok(_) => Ok(true),
            Err(error) if error.code() == ALREADY_SET_UP => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn create_admin(
        &self,
        name: UserName,
        password_hash: String,
        check: impl FnOnce(&mut Tx<'_>) -> Result<()> + Send + 'static,
    ) -> Result<api::User> {
        let user = UserRow::new(name, password_hash, self.clock.now());
        let id = user.id;
        self.change_as_server(move |tx| {
            check(tx)?;
            if records::count::<UserRow>(tx, &())? > 0 {
                return Err(RecordError::new(
                    ALREADY_SET_UP,
                    "this server has been set up already; log in instead",
                ));
            }
            let admin =
                records::find_named::<Role>(tx, &(), ROLE_ADMIN)?.ok_or(StoreError::NoRow)?;
            records::insert(tx, &user)?;
            memberships::set_of_user(tx, id, &[admin.id])?;
            meta::delete(tx, SETUP_TOKEN_HASH)?;
            let detail = json!({"username": user.username, "roles": [ROLE_ADMIN]});
            tx.audit_by(SYSTEM, "user.created", ("user", id), detail)?;
            let profile = users::find_profile(tx, id)?.ok_or(StoreError::NoRow)?;
            tx.affects(ZoneChange::User(id));
            Ok(api::User::from(&User::from(profile)))
        })
        .await
    }
}

const ALREADY_SET_UP: &str = "already_set_up";

fn check_setup_token(expected: Option<&str>, presented: &str) -> Result<()> {
    let good = expected.is_some_and(|expected| is_equal(expected, presented));
    if good {
        return Ok(());
    }
    Err(RecordError::new(
        "invalid_setup_token",
        "the setup token is not valid; each start of a server without users prints a new link",
    ))
}

//! Decides who may sign in without an OpenID Connect provider: with a password or with a passkey.

use svc_core::{UserId, permission::ROLE_ADMIN};
use svc_store::oidc::identities;

use super::{Identity, policy::PasswordLogin};
use crate::records::{RecordError, Result};

impl Identity {
    /// Whether the setting `oidc.password_login` accepts a password of a user. `None` is a user who
    /// does not exist. The same work is done for every user, so that the duration reveals nothing.
    pub(super) async fn accepts_password(&self, user: Option<UserId>) -> Result<bool> {
        let accepts_admins = match self.policy.password_login {
            PasswordLogin::All => return Ok(true),
            PasswordLogin::Admins => true,
            PasswordLogin::Off => {
                let reading = self.store.read(|tx| identities::has_holder(tx, ROLE_ADMIN));
                !reading.await?
            }
        };
        let user = user.and_then(|user| self.directory.find_user(user));
        let is_admin = user.is_some_and(|user| user.has_role(ROLE_ADMIN));
        Ok(accepts_admins && is_admin)
    }

    /// Applies the setting `oidc.password_login` to a passkey, after it was verified. Only the
    /// holder of the passkey gets this error.
    pub async fn check_passkey_login(&self, user: UserId) -> Result<()> {
        if self.accepts_password(Some(user)).await? {
            return Ok(());
        }
        Err(RecordError::new(
            "password_login_off",
            "this server does not accept a passkey for your account; sign in with a provider. An administrator of the machine can start the server with SVC_PASSWORD_LOGIN=all",
        ))
    }
}

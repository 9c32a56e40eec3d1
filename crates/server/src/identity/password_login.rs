//! Decides who may sign in without an OpenID Connect provider: with a password or with a passkey.

use svc_core::{UserId, permission::ROLE_ADMIN};
use svc_store::oidc::identities;

use super::{Identity, error::IdentityError, policy::PasswordLogin};

impl Identity {
    /// Applies the setting `oidc.password_login`, after the password or the passkey was verified.
    pub async fn check_password_login(&self, user: UserId) -> Result<(), IdentityError> {
        let user = match self.policy.password_login {
            PasswordLogin::All => return Ok(()),
            PasswordLogin::Admins | PasswordLogin::Off => self.directory.find_user(user),
        };
        let is_admin = user.is_some_and(|user| user.has_role(ROLE_ADMIN));
        let is_allowed = is_admin
            && (self.policy.password_login == PasswordLogin::Admins
                || !self
                    .store
                    .read(|tx| identities::has_holder(tx, ROLE_ADMIN))
                    .await?);
        if is_allowed {
            return Ok(());
        }
        Err(IdentityError::forbidden(
            "password_login_off",
            "this server does not accept a password or passkey for your account; sign in with a provider. An administrator of the machine can start the server with SVC_PASSWORD_LOGIN=all",
        ))
    }
}

//! The ways in which users prove who they are, and which of them a user may remove.
//!
//! All changes of them have one shape: the caller proves again who they are
//! ([`Identity::change_with_proof`](super::Identity::change_with_proof)), and the transaction that
//! removes a factor calls [`Factor::check_removed`].

use svc_core::UserId;
use svc_store::{
    Tx,
    oidc::identities::IdentityRow,
    records, second_factors,
    users::{self, UserRow},
};

use crate::records::{RecordError, Result};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Factor {
    /// Replaced by another password, never removed.
    Password,
    /// An authenticator app.
    Totp,
    Passkey,
    /// Removed together with the last app or passkey.
    RecoveryCodes,
    /// An account at a provider.
    Identity,
}

impl Factor {
    /// Fails if the user needed the factor of this kind that the transaction has just removed.
    pub fn check_removed(self, tx: &mut Tx<'_>, user: UserId) -> Result<()> {
        match self {
            Self::Password | Self::RecoveryCodes => Ok(()),
            Self::Totp | Self::Passkey => {
                let profile = users::find_profile(tx, user)?;
                let is_required = profile.is_some_and(|profile| profile.requires_second_factor);
                match is_required && !second_factors::exists(tx, user)? {
                    true => Err(RecordError::new(
                        "last_second_factor",
                        "a role of yours requires a second factor, so the last one cannot be removed; set another one up first",
                    )),
                    false => Ok(()),
                }
            }
            Self::Identity => {
                let stored = records::find::<UserRow>(tx, user)?;
                let has_password = stored.is_some_and(|user| !user.password_hash.is_empty());
                if has_password || records::count::<IdentityRow>(tx, &user)? > 0 {
                    return Ok(());
                }
                Err(RecordError::new(
                    "last_identity",
                    "you have no password, so you could not sign in again; ask an administrator for a password first",
                ))
            }
        }
    }
}

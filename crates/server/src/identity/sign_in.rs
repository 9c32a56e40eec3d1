//! The sign-in link that `svc up` and `svc server start --sign-in-link` print: a secret that opens
//! one session of one user.
//!
//! There is at most one link. The store holds its hash, and the transaction that opens the session
//! deletes the hash. A new password of the user ends the link too.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use svc_core::{Timestamp, UserId, credential::CredentialKind};
use svc_crypto::is_equal;
use svc_store::{StoreError, Tx, meta, records, users::UserRow};

use super::{
    Identity,
    secret::{Secret, hash_of_login, hex},
    sessions::{ClientDetails, NewSession, Proof},
};
use crate::records::{RecordError, Result};

/// Time for the user to open the link after it was printed.
pub const SIGN_IN_LINK_LIFETIME: Duration = Duration::from_secs(10 * 60);

const SIGN_IN_LINK: &str = "sign_in_link";

#[derive(Serialize, Deserialize)]
struct StoredLink {
    /// The hash of the token and of the user's password hash ([`hash_of_login`]).
    hash: String,
    user_id: UserId,
    expires_at: Timestamp,
}

impl Identity {
    /// Creates the token of a link that signs this user in once. The link replaces an earlier link.
    pub async fn sign_in_token(&self, user_id: UserId) -> Result<String> {
        let secret = Secret::new(CredentialKind::SignIn)?;
        let (token, expires_at) = (
            secret.text.clone(),
            self.clock.now().plus(SIGN_IN_LINK_LIFETIME),
        );
        self.store
            .write(move |tx| {
                let user = records::find::<UserRow>(tx, user_id)?;
                let user = user.ok_or(StoreError::NoRow)?;
                let link = StoredLink {
                    hash: hex(&hash_of_login(&token, &user)),
                    user_id,
                    expires_at,
                };
                let link = serde_json::to_string(&link).expect("a link is always JSON");
                meta::set(tx, SIGN_IN_LINK, &link)
            })
            .await?;
        Ok(secret.text)
    }

    /// Opens a session with the token of a link.
    pub async fn sign_in(&self, token: &str, client: ClientDetails) -> Result<NewSession> {
        if CredentialKind::recognise(token) != Some(CredentialKind::SignIn) {
            return Err(invalid_link());
        }
        let link = PresentedLink {
            token: token.to_owned(),
            at: self.clock.now(),
        };
        let checked = link.clone();
        let user = self.store.read(move |tx| checked.find_user(tx)).await?;
        let user = user.ok_or_else(invalid_link)?;
        self.open_session(user, client, Proof::SignInLink(link))
            .await
    }
}

/// The link of a request.
#[derive(Clone)]
pub struct PresentedLink {
    token: String,
    at: Timestamp,
}

impl PresentedLink {
    /// Checks the link and makes it invalid.
    pub(super) fn redeem(&self, tx: &mut Tx<'_>) -> Result<()> {
        self.find_user(tx)?.ok_or_else(invalid_link)?;
        meta::delete(tx, SIGN_IN_LINK)?;
        Ok(())
    }

    /// The user of the link, if it is valid.
    fn find_user(&self, tx: &mut Tx<'_>) -> Result<Option<UserRow>, StoreError> {
        let link = meta::find(tx, SIGN_IN_LINK)?
            .and_then(|link| serde_json::from_str::<StoredLink>(&link).ok())
            .filter(|link| self.at < link.expires_at);
        let Some(link) = link else { return Ok(None) };
        let is_valid = |user: &UserRow| {
            let presented = hex(&hash_of_login(&self.token, user));
            user.active && is_equal(&link.hash, presented)
        };
        Ok(records::find::<UserRow>(tx, link.user_id)?.filter(is_valid))
    }
}

fn invalid_link() -> RecordError {
    RecordError::new(
        "invalid_sign_in_link",
        "the sign-in link was used already or has expired; sign in with your password, or start `svc up` again for a new link",
    )
}

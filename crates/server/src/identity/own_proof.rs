//! Changes of how a user signs in (password, second factors, recovery codes, accounts at providers)
//! require a proof that the user makes the change, and not somebody with a stolen session or token.
//!
//! [`Identity::change_with_proof`] checks the proof for all of these changes. A user with a password
//! enters it for each change. A user without a password can change only their accounts at providers,
//! and must have signed in with a provider a short time ago.

use std::{net::IpAddr, time::Duration};

use svc_core::{Timestamp, UserId};
use svc_store::{
    StoreError, Tx, oidc, records, second_factors, sessions::SessionRow, users::UserRow,
};

use super::{Change, Identity, caller::Caller, passwords::Payer};
use crate::records::{RecordError, Result};

/// How long a sign-in with a provider counts as the proof of a user who has no password.
const FRESH_SIGN_IN: Duration = Duration::from_secs(10 * 60);

/// A proof that was accepted. The transaction of the change calls [`check`](Self::check), because
/// the password may have been changed since. Does not implement `Debug`, because it holds a
/// password hash.
#[derive(Clone)]
pub struct OwnProof(Proven);

#[derive(Clone)]
enum Proven {
    Password { hash: String },
    FreshSignIn,
}

impl Identity {
    /// Checks the proof of a caller who changes how they sign in. A wrong password counts as a
    /// failed login.
    pub async fn prove(
        &self,
        caller: &Caller,
        password: Option<String>,
        address: IpAddr,
    ) -> Result<OwnProof> {
        let (id, presented, now) = (caller.user.id, caller.clone(), self.clock.now());
        let reading = self.store.read(move |tx| {
            let is_fresh = is_fresh_sign_in(tx, &presented, now)?;
            Ok((records::find::<UserRow>(tx, id)?, is_fresh))
        });
        let (user, is_fresh) = reading.await?;
        let hash = user.map(|user| user.password_hash).unwrap_or_default();
        let Some(password) = password else {
            return match (hash.is_empty(), is_fresh) {
                (true, true) => Ok(OwnProof(Proven::FreshSignIn)),
                (true, false) => Err(sign_in_again()),
                (false, _) => Err(password_required()),
            };
        };
        if hash.is_empty() {
            return Err(no_password());
        }
        let (limit, name) = (&self.login_limit, caller.user.name.as_str());
        limit.begin(name, address, self.clock.now()).await?;
        let stored = Some(hash.clone());
        if !self
            .passwords
            .verify(Payer::User(id), password, stored)
            .await?
        {
            limit.fail(name, address, self.clock.now()).await?;
            return Err(RecordError::new(
                "wrong_password",
                "the current password is not right",
            ));
        }
        limit.succeed(name, address).await?;
        Ok(OwnProof(Proven::Password { hash }))
    }

    /// [`Identity::change`], for a change of how the caller signs in.
    pub async fn change_with_proof<T: Send + 'static>(
        &self,
        caller: &Caller,
        (password, address): (Option<String>, IpAddr),
        work: impl FnOnce(&mut Change<'_, '_>, &Caller) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let proof = self.prove(caller, password, address).await?;
        let changing = self.change(caller, move |tx, caller| {
            let now = tx.now;
            proof.check(tx, caller, now)?;
            work(tx, caller)
        });
        changing.await
    }
}

impl OwnProof {
    /// Checks in the transaction of the change that the proof is still valid.
    pub fn check(&self, tx: &mut Tx<'_>, caller: &Caller, now: Timestamp) -> Result<()> {
        let user = records::find::<UserRow>(tx, caller.user.id)?;
        let current = user.map(|user| user.password_hash).unwrap_or_default();
        match &self.0 {
            Proven::Password { hash } if *hash == current => Ok(()),
            Proven::FreshSignIn if current.is_empty() => match is_fresh_sign_in(tx, caller, now)? {
                true => Ok(()),
                false => Err(sign_in_again()),
            },
            _ => Err(RecordError::new(
                "password_changed",
                "the password was changed meanwhile; try again",
            )),
        }
    }
}

/// Ends unfinished changes that a user began with the old password: logins that wait for a second
/// factor, authenticator apps and passkeys that are being set up, accounts at providers that are
/// being linked.
/// Call this before sessions are deleted: the linking of an account belongs to a session.
pub(super) fn end_begun_changes(tx: &mut Tx<'_>, user: UserId) -> Result<(), StoreError> {
    oidc::logins::delete_links_of_user(tx, user)?;
    second_factors::delete_begun(tx, user)
}

/// Whether the caller's session was opened by a sign-in with a provider, a short time ago.
fn is_fresh_sign_in(tx: &mut Tx<'_>, caller: &Caller, now: Timestamp) -> Result<bool, StoreError> {
    let Some(id) = caller.session_id() else {
        return Ok(false);
    };
    let opened = records::find::<SessionRow>(tx, id)?.map(|session| session.created_at);
    Ok(
        opened.is_some_and(|opened| now < opened.plus(FRESH_SIGN_IN))
            && oidc::sessions::exists(tx, id)?,
    )
}

fn password_required() -> RecordError {
    RecordError::new(
        "proof_required",
        "this changes how you sign in, so enter your password again; the API takes it as `password`",
    )
}

fn sign_in_again() -> RecordError {
    let minutes = FRESH_SIGN_IN.as_secs() / 60;
    RecordError::new(
        "proof_required",
        format!(
            "this changes how you sign in, and you have no password to enter; sign out, sign in again with your provider, and repeat this within {minutes} minutes"
        ),
    )
}

fn no_password() -> RecordError {
    RecordError::new(
        "no_password",
        "you have no password on this server, because you sign in with a provider; an administrator can set one",
    )
}

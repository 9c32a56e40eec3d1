//! Second factors of logins with a password: codes of an authenticator app (TOTP), and recovery codes.
//!
//! Parts: `login` asks for the second factor after the password, `totp` sets up and removes an app,
//! `recovery` makes recovery codes, and resets the factors of a user who lost the device.
//!
//! Invariants: whether a session may be opened with the password alone is decided by
//! `identity::open_session`, in the transaction that opens it. Tries and used codes are counted in the
//! database, so they hold for all servers of a zone. The transaction that uses up a code opens the
//! session, so a crash leaves either both or none. A pending login is no credential. Tokens are not
//! asked for a second factor.

mod login;
mod recovery;
mod totp;

use std::{sync::Arc, time::Duration};

use svc_clock::Clock;
use svc_core::UserId;
use svc_protocol::api;
use svc_store::{Store, StoreError, Tx, second_factors as rows, users};

pub use login::LoginOutcome;
pub use recovery::reset_on_host;

use crate::{
    events::secrets::SecretKey,
    identity::{Caller, Identity, IdentityError},
};

/// Time between the password and the second factor.
const PENDING_LIFETIME: Duration = Duration::from_secs(5 * 60);
/// Time between the secret of an app and its first code.
const ENROLMENT_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Codes that may be tried for one password.
const TRIES_MAX: u32 = 5;
/// Logins of a user that wait for a second factor; a further one replaces the oldest.
const PENDING_PER_USER: u32 = 20;
/// Wrong codes in a row after which an app is not asked any more. Only a client that knows the
/// password gets so far.
const WRONG_CODES_MAX: u32 = 100;
const RECOVERY_CODES: usize = 10;

/// The service behind `/api/auth/login`, `/api/auth/second-factor`, `/api/auth/totp` and
/// `/api/auth/recovery-codes`.
pub struct SecondFactors {
    store: Store,
    identity: Identity,
    secrets: Arc<SecretKey>,
    clock: Clock,
    /// The name of this server in authenticator apps.
    place: String,
}

impl SecondFactors {
    pub fn new(
        store: Store,
        identity: Identity,
        secrets: Arc<SecretKey>,
        clock: Clock,
        place: String,
    ) -> Self {
        Self {
            store,
            identity,
            secrets,
            clock,
            place,
        }
    }

    /// The second factors of the caller.
    pub async fn find(&self, caller: &Caller) -> Result<api::SecondFactors, IdentityError> {
        let user = caller.user.id;
        let reading = self.store.read(move |tx| {
            let profile = users::find_profile(tx, user)?;
            let totp = rows::totp::find(tx, user)?;
            Ok(api::SecondFactors {
                required: profile.is_some_and(|profile| profile.requires_second_factor),
                totp_since: totp.map(|totp| totp.created_at),
                recovery_codes_left: rows::recovery_codes::count(tx, user)?,
            })
        });
        Ok(reading.await?)
    }

    /// Removes what has expired. The server calls this at intervals.
    pub async fn prune(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        self.store
            .write(move |tx| rows::delete_expired(tx, now))
            .await
    }
}

/// The record to which an encrypted secret belongs.
fn aad(user: UserId) -> Vec<u8> {
    [b"totp", user.0.as_bytes().as_slice()].concat()
}

/// Checks that the password is still the one that was verified before the transaction.
fn check_unchanged(tx: &mut Tx<'_>, user: UserId, hash: &str) -> Result<(), IdentityError> {
    if users::find(tx, user)?.is_some_and(|user| user.password_hash == hash) {
        return Ok(());
    }
    Err(IdentityError::conflict(
        "password_changed",
        "the password was changed meanwhile; try again",
    ))
}

fn wrong_code() -> IdentityError {
    IdentityError::forbidden(
        "wrong_code",
        "the code is not right, or was used already; enter the code that the app shows now, and check the clock of its device",
    )
}

fn malformed_code() -> IdentityError {
    IdentityError::invalid(
        "invalid_code",
        "a code of an authenticator app has 6 digits, and a recovery code 16 letters and digits",
    )
}

fn no_random_bytes(error: &dyn std::fmt::Display) -> IdentityError {
    IdentityError::Internal(format!("no random bytes: {error}"))
}

//! Second factors of logins with a password: codes of an authenticator app (TOTP), passkeys, and
//! recovery codes. A passkey that verifies its user can also replace the password.
//!
//! Parts: `login` requires the second factor after the password. `totp` sets up and removes an app.
//! `passkeys` adds, renames and removes passkeys. `passkey_login` logs in with passkeys. The answers
//! of passkeys are verified by `svc_core::webauthn`. `recovery` creates recovery codes, and resets
//! the factors of a user who lost the device.
//!
//! Invariants: `identity::open_session` decides whether a session may be opened with the password
//! alone, in the transaction that opens it. Attempts and used codes are counted in the database, so
//! the limits apply to all servers of a zone. One transaction uses up a code and opens the session,
//! so a crash cannot separate the two. A pending login is not a credential. Tokens need no second
//! factor.

mod login;
mod passkey_login;
mod passkeys;
mod recovery;
mod totp;

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use svc_clock::Clock;
use svc_protocol::api;
use svc_store::{
    Store, StoreError, keyed, records,
    second_factors::{self as rows, passkeys::PasskeyRow, totp::TotpRow},
    sessions, users,
    zone_changes::ZoneChange,
};

pub use login::LoginOutcome;
pub use recovery::reset_on_host;

use crate::{
    identity::{Caller, Change, Credential, Factor, Identity},
    limits::AddressLimit,
    records::{RecordError, Result},
    secrets::SecretKey,
};

/// The maximum time between the password and the second factor.
const PENDING_LIFETIME: Duration = Duration::from_secs(5 * 60);
/// The maximum time between the creation of an app's secret and the first code of the app.
const ENROLMENT_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The maximum number of attempts at the second factor after one correct password.
const TRIES_MAX: u32 = 5;
/// The maximum number of logins of a user that wait for a second factor. Beyond it, a new login
/// replaces the oldest one.
const PENDING_PER_USER: u32 = 20;
/// After this many wrong codes since the last correct code of the app, codes of the app are
/// rejected. Only a client that knows the password can try codes.
const WRONG_CODES_MAX: u32 = 100;
const RECOVERY_CODES: usize = 10;
const PASSKEYS_MAX: usize = 10;
/// The maximum time for the answer of a passkey.
const CHALLENGE_LIFETIME: Duration = Duration::from_secs(5 * 60);
/// The maximum number of open challenges for the passkeys of one user. Beyond it, a new challenge
/// replaces the oldest one.
const CHALLENGES_PER_USER: u32 = 20;
/// The maximum number of open challenges for logins without a password. Beyond it, the network with
/// the most challenges loses its oldest ones.
const CHALLENGES_MAX: u32 = 10_000;
/// The maximum number of requests for challenges and of logins with a passkey alone, together, from
/// one address within a minute.
const PASSKEY_ATTEMPTS_PER_MINUTE: u32 = 120;

/// The service behind `/api/auth/login`, `/api/auth/second-factor`, `/api/auth/totp`,
/// `/api/auth/passkeys` and `/api/auth/recovery-codes`.
pub struct SecondFactors {
    store: Store,
    identity: Identity,
    secrets: Arc<SecretKey>,
    clock: Clock,
    /// The name of this server in authenticator apps and passkeys.
    place: String,
    passkey_attempts: AddressLimit,
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
            passkey_attempts: AddressLimit::new(
                PASSKEY_ATTEMPTS_PER_MINUTE,
                Duration::from_secs(60),
            ),
        }
    }

    /// The second factors of the caller.
    pub async fn find(&self, caller: &Caller) -> Result<api::SecondFactors> {
        let user = caller.user.id;
        let reading = self.store.read(move |tx| {
            let profile = users::find_profile(tx, user)?;
            let totp = keyed::find::<TotpRow>(tx, &user)?;
            let held = records::list_of::<PasskeyRow>(tx, &user)?;
            Ok(api::SecondFactors {
                required: profile.is_some_and(|profile| profile.requires_second_factor),
                passkeys: held.into_iter().map(passkeys::shown).collect(),
                totp_since: totp.map(|totp| totp.created_at),
                recovery_codes_left: rows::recovery_codes::count(tx, user)?,
            })
        });
        Ok(reading.await?)
    }

    /// Removes expired records. The server calls this at intervals.
    pub async fn prune(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        self.store
            .write(move |tx| rows::delete_expired(tx, now))
            .await
    }
}

/// Completes the addition of a factor. Ends logins and sessions that were opened with the password
/// alone, because another person may have opened them. The caller's own session becomes a full
/// session.
fn note_added(tx: &mut Change<'_, '_>, caller: &Caller, detail: Value) -> Result<()> {
    let user = caller.user.id;
    rows::pending::delete_of_user(tx, user)?;
    if let Credential::Enrolment { id } = caller.credential {
        sessions::complete_enrolment(tx, id)?;
    }
    sessions::delete_enrolling(tx, user)?;
    tx.audit(caller, "second_factor.added", ("user", user), detail)?;
    tx.affects(ZoneChange::User(user));
    Ok(())
}

/// Completes the removal of a factor: ends pending logins, and removes the recovery codes if no
/// factor is left.
fn note_removed(
    tx: &mut Change<'_, '_>,
    caller: &Caller,
    (factor, detail): (Factor, Value),
) -> Result<()> {
    let user = caller.user.id;
    rows::pending::delete_of_user(tx, user)?;
    factor.check_removed(tx, user)?;
    if !rows::exists(tx, user)? {
        rows::delete_of_user(tx, user)?;
    }
    tx.audit(caller, "second_factor.removed", ("user", user), detail)?;
    tx.affects(ZoneChange::User(user));
    Ok(())
}

fn no_factor() -> RecordError {
    RecordError::new(
        "no_second_factor",
        "you have neither an authenticator app nor a passkey",
    )
}

fn wrong_code() -> RecordError {
    RecordError::new(
        "wrong_code",
        "the code is not right, or was used already; enter the code that the app shows now, and check the clock of its device",
    )
}

fn malformed_code() -> RecordError {
    RecordError::new(
        "invalid_code",
        "a code of an authenticator app has 6 digits, and a recovery code 16 letters and digits",
    )
}

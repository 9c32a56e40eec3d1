//! Logins in two steps: the password, then a code. `passkey_login` handles passkeys.

use serde_json::json;
use svc_core::{
    Timestamp,
    credential::CredentialKind,
    totp::{TypedCode, find_step},
};
use svc_protocol::api::{self, FactorKind};
use svc_store::{
    Hash, StoreError, Tx,
    audit::{self, Entry},
    keyed, records,
    second_factors::{self as rows, passkeys::PasskeyRow, pending::PendingLoginRow, totp::TotpRow},
    users::UserRow,
};

use super::{
    PENDING_LIFETIME, PENDING_PER_USER, SecondFactors, TRIES_MAX, WRONG_CODES_MAX, malformed_code,
    wrong_code,
};
use crate::{
    identity::{ClientDetails, NewSession, Proof, Secret, hash_of_login, hash_secret},
    records::{RecordError, Result},
    secrets::{SecretKey, SecretOf},
};

/// The result of a correct password. Without `Debug`: it holds secrets.
pub enum LoginOutcome {
    Session(NewSession),
    Pending(api::PendingLogin),
}

/// A correct code.
enum Factor {
    Totp { step: i64 },
    RecoveryCode { hash: Hash },
}

/// The result of one attempt.
enum Try {
    Right(Factor),
    Wrong,
    /// Too many wrong codes since the last correct code.
    Locked,
    /// The secret was encrypted with another key.
    Unreadable,
}

impl SecondFactors {
    /// Checks the password. Opens a session if the user has no second factor.
    pub async fn log_in(&self, login: api::Login, client: ClientDetails) -> Result<LoginOutcome> {
        let user = self.identity.check_login(login, &client).await?;
        let id = user.id;
        let methods = self
            .store
            .read(move |tx| {
                let has_totp = keyed::find::<TotpRow>(tx, &id)?.is_some();
                let has_passkey = !records::list_of::<PasskeyRow>(tx, &id)?.is_empty();
                let has_codes = rows::recovery_codes::count(tx, id)? > 0;
                let has_factor = has_totp || has_passkey;
                let held = [
                    (has_totp, FactorKind::Totp),
                    (has_passkey, FactorKind::Passkey),
                    (has_factor && has_codes, FactorKind::RecoveryCode),
                ];
                let held = held.into_iter().filter(|(is_held, _)| *is_held);
                Ok(held.map(|(_, kind)| kind).collect::<Vec<_>>())
            })
            .await?;
        if methods.is_empty() {
            self.identity.forgive_login(&user, client.address).await?;
            let opening = self.identity.open_session(user, client, Proof::Password);
            return opening.await.map(LoginOutcome::Session);
        }
        self.begin(&user, methods).await.map(LoginOutcome::Pending)
    }

    async fn begin(&self, user: &UserRow, methods: Vec<FactorKind>) -> Result<api::PendingLogin> {
        let secret = Secret::new(CredentialKind::PendingLogin)?;
        let login = PendingLoginRow {
            hash: secret.hash,
            user_id: user.id,
            proof: hash_of_login(&secret.text, user),
            tries: 0,
            expires_at: self.clock.now().plus(PENDING_LIFETIME),
        };
        let expires_at = login.expires_at;
        self.store
            .write(move |tx| {
                records::insert(tx, &login)?;
                rows::pending::delete_oldest_of_user(tx, login.user_id, PENDING_PER_USER)
            })
            .await?;
        Ok(api::PendingLogin {
            token: secret.text,
            methods,
            expires_at,
        })
    }

    /// Completes a login. Each attempt is counted, for all servers of a zone together.
    pub async fn complete(
        &self,
        login: api::SecondFactorLogin,
        client: ClientDetails,
    ) -> Result<NewSession> {
        if CredentialKind::recognise(&login.token) != Some(CredentialKind::PendingLogin) {
            return Err(ended());
        }
        let code = TypedCode::parse(&login.code).ok_or_else(malformed_code)?;
        let now = self.clock.now();
        let token = login.token.clone();
        let found = self.store.read(move |tx| find_user(tx, &token, now));
        let user = found.await?.ok_or_else(ended)?;
        self.identity
            .begin_second_factor(&user, client.address)
            .await?;
        let entry = self.identity.entry_by(
            &user.username,
            "second_factor.failed",
            ("user", user.id),
            json!({"address": client.address.to_string()}),
        );
        let hash = hash_secret(&login.token);
        let secrets = self.secrets.clone();
        let trying = self.store.try_write(move |tx: &mut Tx<'_>| {
            let user = find_user(tx, &login.token, now)?.ok_or_else(ended)?;
            if !rows::pending::count_try(tx, &hash, TRIES_MAX)? {
                return Err(ended());
            }
            Ok(try_code(tx, &user, &code, now, (&secrets, &entry))?)
        });
        let factor = match trying.await? {
            Try::Right(factor) => factor,
            Try::Wrong => {
                self.identity
                    .fail_second_factor(&user, client.address)
                    .await?;
                return Err(wrong_code());
            }
            Try::Locked => return Err(locked()),
            Try::Unreadable => return Err(unreadable()),
        };
        let (forgiven, address) = (user.clone(), client.address);
        let session = self.open(user, client, hash, factor).await?;
        // Both steps were counted as failures when they began.
        self.identity.forgive_login(&forgiven, address).await?;
        self.identity.forgive_login(&forgiven, address).await?;
        Ok(session)
    }

    async fn open(
        &self,
        user: UserRow,
        client: ClientDetails,
        pending: Hash,
        factor: Factor,
    ) -> Result<NewSession> {
        let kind = match factor {
            Factor::Totp { .. } => "totp",
            Factor::RecoveryCode { .. } => "recovery_code",
        };
        let mut entry = self.identity.entry_by(
            &user.username,
            "second_factor.recovery_code_used",
            ("user", user.id),
            json!({}),
        );
        let id = user.id;
        let redeem = move |tx: &mut Tx<'_>| {
            if !keyed::delete::<PendingLoginRow>(tx, &pending)? {
                return Err(ended());
            }
            let is_unused = match factor {
                Factor::Totp { step } => rows::totp::use_step(tx, id, step)?,
                Factor::RecoveryCode { hash } => {
                    let is_unused = rows::recovery_codes::take(tx, id, &hash)?;
                    entry.detail = json!({"left": rows::recovery_codes::count(tx, id)?});
                    audit::append(tx, &entry)?;
                    is_unused
                }
            };
            is_unused.then_some(()).ok_or_else(wrong_code)
        };
        let proof = Proof::SecondFactor {
            kind,
            redeem: Box::new(redeem),
        };
        self.identity.open_session(user, client, proof).await
    }
}

/// The user of a pending login that is still valid.
pub(super) fn find_user(
    tx: &mut Tx<'_>,
    token: &str,
    now: Timestamp,
) -> Result<Option<UserRow>, StoreError> {
    let pending = keyed::find::<PendingLoginRow>(tx, &hash_secret(token))?;
    let Some(pending) = pending.filter(|pending| now < pending.expires_at) else {
        return Ok(None);
    };
    let user = records::find::<UserRow>(tx, pending.user_id)?;
    Ok(user.filter(|user| user.active && hash_of_login(token, user) == pending.proof))
}

/// Checks a code without using it up. A wrong code is counted.
fn try_code(
    tx: &mut Tx<'_>,
    user: &UserRow,
    code: &TypedCode,
    now: Timestamp,
    (secrets, failed): (&SecretKey, &Entry),
) -> Result<Try, StoreError> {
    let checked = match code {
        TypedCode::Totp(digits) => match keyed::find::<TotpRow>(tx, &user.id)? {
            Some(totp) => check_digits(&totp, digits, now, secrets),
            None => Try::Wrong,
        },
        TypedCode::Recovery(text) => {
            let hash = hash_secret(text);
            match rows::recovery_codes::exists(tx, user.id, &hash)? {
                true => Try::Right(Factor::RecoveryCode { hash }),
                false => Try::Wrong,
            }
        }
    };
    if matches!(checked, Try::Wrong) {
        rows::totp::count_wrong_code(tx, user.id)?;
        audit::append_for(tx, &user.id.to_string(), failed)?;
    }
    Ok(checked)
}

fn check_digits(totp: &TotpRow, digits: &str, now: Timestamp, secrets: &SecretKey) -> Try {
    if totp.wrong_codes >= WRONG_CODES_MAX {
        return Try::Locked;
    }
    let Ok(secret) = secrets.open(SecretOf::Totp(totp.user_id), &totp.secret) else {
        return Try::Unreadable;
    };
    match find_step(&secret, digits, now, totp.last_step) {
        Some(step) => Try::Right(Factor::Totp { step }),
        None => Try::Wrong,
    }
}

pub(super) fn ended() -> RecordError {
    RecordError::new(
        "login_ended",
        format!(
            "this login has expired, or {TRIES_MAX} tries were wrong; enter the password again"
        ),
    )
}

fn locked() -> RecordError {
    RecordError::new(
        "second_factor_locked",
        format!(
            "{WRONG_CODES_MAX} codes in a row were wrong, so somebody may know your password; sign in with a recovery code and change the password, or ask an administrator to reset your second factor"
        ),
    )
}

fn unreadable() -> RecordError {
    RecordError::new(
        "second_factor_unreadable",
        "the key of this server was replaced, so it cannot read the secret of your authenticator app; sign in with a recovery code and set the app up again, or ask an administrator to reset your second factor",
    )
}

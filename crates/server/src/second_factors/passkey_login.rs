//! Logins with a passkey: after the password, or instead of it. A pending login is a login whose
//! password was right and whose second factor is still missing.

use std::{net::IpAddr, time::Instant};

use serde_json::json;
use svc_core::{
    Timestamp,
    network::row_network,
    webauthn::{self, AnswerError, AuthenticatorData, Ceremony, ClientData, Site},
};
use svc_protocol::api;
use svc_store::{
    Tx, audit, keyed, records,
    second_factors::{
        self as rows,
        passkeys::{ChallengeRow, PasskeyRow},
        pending::PendingLoginRow,
    },
    users::UserRow,
};

use super::{
    CHALLENGES_MAX, CHALLENGES_PER_USER, SecondFactors, TRIES_MAX,
    login::{ended, find_user},
    passkeys::{Purpose, credential_ids, is_pending_login, site_at, take_challenge},
};
use crate::{
    identity::{ClientDetails, NewSession, Proof, hash_secret},
    records::{RecordError, Result},
};

/// An answer with a valid signature. The challenge and the pending login are not used up yet.
struct VerifiedAnswer {
    client: ClientData,
    passkey: PasskeyRow,
    counter: u32,
    user: UserRow,
}

impl SecondFactors {
    /// Creates a challenge: for the passkeys of the user of a pending login, or for any passkey.
    pub async fn challenge_passkey(
        &self,
        asked: api::PasskeyChallenge,
        address: IpAddr,
        origin: Option<String>,
    ) -> Result<api::PasskeyRequest> {
        self.take_passkey_attempt(address)?;
        let site = site_at(origin)?;
        let now = self.clock.now();
        let (purpose, allow) = match asked.token {
            None => (Purpose::Login, Vec::new()),
            Some(token) if is_pending_login(&token) => {
                let reading = self.store.read(move |tx| {
                    let Some(user) = find_user(tx, &token, now)? else {
                        return Ok(None);
                    };
                    Ok(Some((
                        user.id,
                        records::list_of::<PasskeyRow>(tx, &user.id)?,
                    )))
                });
                let (user, held) = reading.await?.ok_or_else(ended)?;
                (Purpose::SecondFactor(user), credential_ids(&held))
            }
            Some(_) => return Err(ended()),
        };
        let challenge = self.new_challenge(purpose)?;
        let keep = match purpose {
            Purpose::Login => CHALLENGES_MAX,
            _ => CHALLENGES_PER_USER,
        };
        let expires_at = challenge.row.expires_at;
        let row = ChallengeRow {
            network: row_network(address),
            ..challenge.row
        };
        self.store
            .write(move |tx| rows::passkeys::insert_challenge(tx, &row, keep))
            .await?;
        let user_verification = match purpose {
            Purpose::Login => "required",
            _ => "preferred",
        };
        Ok(api::PasskeyRequest {
            challenge: challenge.text,
            rp_id: site.rp_id,
            allow,
            user_verification: user_verification.to_owned(),
            expires_at,
        })
    }

    /// Completes a login with the answer of a passkey.
    pub async fn log_in_with_passkey(
        &self,
        login: api::PasskeyLogin,
        client: ClientDetails,
        origin: Option<String>,
    ) -> Result<NewSession> {
        let site = site_at(origin)?;
        match login.token.clone() {
            Some(token) => {
                let completing = self.complete_with_passkey(token, login, client, &site);
                completing.await
            }
            None => {
                self.take_passkey_attempt(client.address)?;
                let answer = self.verify_answer(login, &site, true).await?;
                self.identity.check_passkey_login(answer.user.id).await?;
                self.open_with_passkey(answer, client, None).await
            }
        }
    }

    /// The second step of a login with a password. Each attempt is counted.
    async fn complete_with_passkey(
        &self,
        token: String,
        login: api::PasskeyLogin,
        client: ClientDetails,
        site: &Site,
    ) -> Result<NewSession> {
        if !is_pending_login(&token) {
            return Err(ended());
        }
        let now = self.clock.now();
        let (hash, presented) = (hash_secret(&token), token.clone());
        let counting = self.store.try_write(move |tx: &mut Tx<'_>| {
            let user = find_user(tx, &presented, now)?.ok_or_else(ended)?;
            match rows::pending::count_try(tx, &hash, TRIES_MAX)? {
                true => Ok(user),
                false => Err(ended()),
            }
        });
        let user = counting.await?;
        let address = client.address;
        self.identity.begin_second_factor(&user, address).await?;
        let verifying = self.verify_answer(login, site, false).await;
        let answer = match verifying.map(|answer| (answer.user.id == user.id, answer)) {
            Ok((true, answer)) => answer,
            refused => {
                self.identity.fail_second_factor(&user, address).await?;
                self.audit_refusal(&user, "second_factor.failed", address)
                    .await?;
                return Err(refused.err().unwrap_or_else(unknown_passkey));
            }
        };
        let session = self.open_with_passkey(answer, client, Some(token)).await?;
        // The password and the passkey were each counted as a failure when their check began.
        self.identity.forgive_login(&user, address).await?;
        self.identity.forgive_login(&user, address).await?;
        Ok(session)
    }

    /// Makes all checks that write nothing to the database. `is_alone` means that the passkey
    /// replaces the password.
    async fn verify_answer(
        &self,
        login: api::PasskeyLogin,
        site: &Site,
        is_alone: bool,
    ) -> Result<VerifiedAnswer> {
        let client = ClientData::read(&login.client_data, Ceremony::Login, site)?;
        let data = AuthenticatorData::read(&login.authenticator_data, site)?;
        if is_alone {
            data.check_user_verified()?;
        }
        let id = webauthn::decode(&login.credential_id)
            .ok_or(AnswerError::Malformed("credential_id"))?;
        let reading = self.store.read(move |tx| {
            let Some(passkey) = rows::passkeys::find_credential(tx, &id)? else {
                return Ok(None);
            };
            let user = records::find::<UserRow>(tx, passkey.user_id)?.filter(|user| user.active);
            Ok(user.map(|user| (passkey, user)))
        });
        let (passkey, user) = reading.await?.ok_or_else(unknown_passkey)?;
        if let Some(handle) = &login.user_handle
            && webauthn::decode(handle).as_deref() != Some(user.id.0.as_bytes().as_slice())
        {
            return Err(unknown_passkey());
        }
        webauthn::verify(&passkey.public_key, &data, &client, &login.signature)?;
        Ok(VerifiedAnswer {
            client,
            passkey,
            counter: data.counter,
            user,
        })
    }

    /// Uses up the challenge and the pending login, in the transaction that opens the session.
    async fn open_with_passkey(
        &self,
        answer: VerifiedAnswer,
        client: ClientDetails,
        token: Option<String>,
    ) -> Result<NewSession> {
        let (user, address) = (answer.user.clone(), client.address);
        let (purpose, kind) = match &token {
            Some(_) => (Purpose::SecondFactor(user.id), "passkey"),
            None => (Purpose::Login, "passkey_alone"),
        };
        let now = self.clock.now();
        let redeem = move |tx: &mut Tx<'_>| {
            if let Some(token) = token
                && !keyed::delete::<PendingLoginRow>(tx, &hash_secret(&token))?
            {
                return Err(ended());
            }
            redeem_answer(tx, &answer, purpose, now)
        };
        let proof = Proof::SecondFactor {
            kind,
            redeem: Box::new(redeem),
        };
        let opened = self.identity.open_session(user.clone(), client, proof);
        let opened = opened.await;
        if opened.as_ref().err().is_some_and(is_cloned) {
            self.audit_refusal(&user, "second_factor.counter_went_back", address)
                .await?;
        }
        opened
    }

    async fn audit_refusal(
        &self,
        user: &UserRow,
        action: &'static str,
        address: IpAddr,
    ) -> Result<()> {
        let detail = json!({"address": address.to_string(), "kind": "passkey"});
        let entry = self
            .identity
            .entry_by(&user.username, action, ("user", user.id), detail);
        let owner = user.id.to_string();
        let writing = self
            .store
            .write(move |tx| audit::append_for(tx, &owner, &entry));
        Ok(writing.await?)
    }

    fn take_passkey_attempt(&self, address: IpAddr) -> Result<()> {
        self.passkey_attempts
            .take(address, Instant::now())
            .map_err(|retry_after| RecordError::TooManyAttempts { retry_after })
    }
}

fn redeem_answer(
    tx: &mut Tx<'_>,
    answer: &VerifiedAnswer,
    purpose: Purpose,
    now: Timestamp,
) -> Result<()> {
    take_challenge(tx, &answer.client, purpose, now)?;
    let id = answer.passkey.id;
    // The passkey may have been removed since it was read.
    if records::find::<PasskeyRow>(tx, id)?.is_none() {
        return Err(unknown_passkey());
    }
    match rows::passkeys::use_counter(tx, id, answer.counter, now)? {
        true => Ok(()),
        false => Err(RecordError::new(
            CLONED,
            format!(
                "the counter of the passkey `{}` went back, so the passkey may have been copied; sign in another way, remove this passkey and add a new one",
                answer.passkey.name
            ),
        )),
    }
}

const CLONED: &str = "passkey_cloned";

fn is_cloned(error: &RecordError) -> bool {
    error.code() == CLONED
}

fn unknown_passkey() -> RecordError {
    RecordError::new(
        "unknown_passkey",
        "this passkey does not belong to a user who may sign in here; use another passkey, or the password",
    )
}

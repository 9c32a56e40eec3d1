//! Adds, renames and removes passkeys.

use std::net::IpAddr;

use serde_json::{Value, json};
use svc_core::{
    PasskeyId, Timestamp, UserId,
    credential::CredentialKind,
    host::Host,
    webauthn::{self, AnswerError, AuthenticatorData, Ceremony, ClientData, Site},
};
use svc_crypto::random;
use svc_protocol::api;
use svc_store::{
    Hash, Tx, records,
    second_factors::{
        self as rows,
        passkeys::{ChallengeRow, PasskeyRow},
    },
};
use uuid::Uuid;

use super::{
    CHALLENGE_LIFETIME, CHALLENGES_PER_USER, PASSKEYS_MAX, SecondFactors, note_added, note_removed,
    recovery::NewCodes,
};
use crate::{
    host_names::split_port,
    identity::{Caller, Factor, hash_secret},
    records::{RecordError, Result, own},
};

const CHALLENGE_BYTES: usize = 32;
const NAME_CHARACTERS_MAX: usize = 60;

/// The purpose of a challenge. An answer is valid for one purpose only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    Register(UserId),
    /// After the password of this user.
    SecondFactor(UserId),
    /// Instead of a password.
    Login,
}

impl Purpose {
    fn parts(self) -> (&'static str, Option<UserId>) {
        match self {
            Self::Register(user) => ("register", Some(user)),
            Self::SecondFactor(user) => ("second_factor", Some(user)),
            Self::Login => ("login", None),
        }
    }
}

/// A new challenge for a passkey.
pub(super) struct Challenge {
    /// For the browser.
    pub text: String,
    pub row: ChallengeRow,
}

impl SecondFactors {
    pub(super) fn new_challenge(&self, purpose: Purpose) -> Result<Challenge> {
        let bytes = random::bytes::<CHALLENGE_BYTES>()?;
        let (purpose, user_id) = purpose.parts();
        Ok(Challenge {
            text: webauthn::encode(&bytes),
            row: ChallengeRow {
                hash: hash_of(&bytes),
                purpose: purpose.to_owned(),
                user_id,
                expires_at: self.clock.now().plus(CHALLENGE_LIFETIME),
                network: String::new(),
            },
        })
    }

    /// Begins to add a passkey.
    pub async fn begin_passkey(
        &self,
        caller: &Caller,
        proof: api::PasswordProof,
        address: IpAddr,
        origin: Option<String>,
    ) -> Result<api::PasskeyCreation> {
        let site = site_at(origin)?;
        let user = caller.user.id;
        let challenge = self.new_challenge(Purpose::Register(user))?;
        let expires_at = challenge.row.expires_at;
        let (identity, given) = (&self.identity, (Some(proof.password), address));
        let changing = identity.change_with_proof(caller, given, move |tx, _| {
            let held = records::list_of::<PasskeyRow>(tx, &user)?;
            check_count(&held)?;
            rows::passkeys::insert_challenge(tx, &challenge.row, CHALLENGES_PER_USER)?;
            Ok((held, challenge.text))
        });
        let (held, challenge) = changing.await?;
        Ok(api::PasskeyCreation {
            challenge,
            rp_id: site.rp_id,
            rp_name: self.place.clone(),
            user_id: webauthn::encode(user.0.as_bytes()),
            user_name: caller.user.name.to_string(),
            exclude: credential_ids(&held),
            algorithms: webauthn::ALGORITHMS.to_vec(),
            expires_at,
        })
    }

    /// Adds the passkey that answered the challenge of `begin_passkey`.
    pub async fn add_passkey(
        &self,
        caller: &Caller,
        new: api::NewPasskey,
        origin: Option<String>,
    ) -> Result<api::CreatedPasskey> {
        let codes = NewCodes::draw()?;
        let (user, now) = (caller.user.id, self.clock.now());
        let changing = self.identity.change(caller, move |tx, caller| {
            let site = site_at(origin)?;
            let name = check_name(&new.name)?;
            let client = ClientData::read(&new.client_data, Ceremony::Registration, &site)?;
            let data = AuthenticatorData::read(&new.authenticator_data, &site)?;
            let credential = data.credential()?;
            take_challenge(tx, &client, Purpose::Register(user), now)?;
            check_count(&records::list_of::<PasskeyRow>(tx, &user)?)?;
            if rows::passkeys::find_credential(tx, &credential.id)?.is_some() {
                return Err(RecordError::new(
                    "passkey_exists",
                    "this passkey was added already",
                ));
            }
            let passkey = PasskeyRow {
                id: PasskeyId(Uuid::now_v7()),
                user_id: user,
                name,
                credential_id: credential.id,
                public_key: credential.public_key,
                counter: credential.counter,
                created_at: now,
                last_used_at: None,
            };
            records::insert(tx, &passkey)?;
            // If the user has recovery codes, they stay valid and no new codes are created.
            let recovery_codes = match rows::recovery_codes::count(tx, user)? {
                0 => {
                    codes.store(tx, user)?;
                    codes.shown().recovery_codes
                }
                _ => Vec::new(),
            };
            note_added(tx, caller, detail_of(&passkey))?;
            Ok(api::CreatedPasskey {
                passkey: shown(passkey),
                recovery_codes,
            })
        });
        changing.await
    }

    pub async fn rename_passkey(
        &self,
        caller: &Caller,
        id: PasskeyId,
        patch: api::PasskeyPatch,
    ) -> Result<api::Passkey> {
        let user = caller.user.id;
        let writer = &self.identity.writer;
        let writing = writer.change(caller, move |tx, caller| {
            let mut passkey: PasskeyRow = own(tx, user, id)?;
            let name = patch.name.as_deref().map(check_name).transpose()?;
            let Some(name) = name.filter(|name| *name != passkey.name) else {
                return Ok(shown(passkey));
            };
            passkey.name = name;
            records::replace(tx, &passkey)?;
            let detail = detail_of(&passkey);
            tx.audit(caller, "second_factor.renamed", ("user", user), detail)?;
            Ok(shown(passkey))
        });
        writing.await
    }

    pub async fn remove_passkey(
        &self,
        caller: &Caller,
        id: PasskeyId,
        proof: api::PasswordProof,
        address: IpAddr,
    ) -> Result<()> {
        let (identity, given) = (&self.identity, (Some(proof.password), address));
        let changing = identity.change_with_proof(caller, given, move |tx, caller| {
            let passkey: PasskeyRow = own(tx, caller.user.id, id)?;
            records::delete::<PasskeyRow>(tx, id)?;
            note_removed(tx, caller, (Factor::Passkey, detail_of(&passkey)))
        });
        changing.await
    }
}

/// The site at an origin of this server. Browsers accept passkeys for host names, not for IP
/// addresses.
pub(super) fn site_at(origin: Option<String>) -> Result<Site> {
    let Some(origin) = origin else {
        return Err(unavailable(
            "this server does not know its own address; set `public_url` to its `https` address with a host name"
                .to_owned(),
        ));
    };
    let authority = origin.split("://").nth(1).unwrap_or_default();
    let host = Host::parse_authority(authority).map(|(host, _)| host);
    let Some(Host::Name(name)) = host else {
        let host = split_port(authority).0;
        return Err(unavailable(format!(
            "a passkey belongs to a host name, and `{host}` is an IP address; on the server's own machine open `http://localhost` with the same port, otherwise set `public_url` to an `https` address with a host name"
        )));
    };
    Ok(Site {
        rp_id: name.to_owned(),
        origin,
    })
}

impl From<AnswerError> for RecordError {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::Malformed(_) | AnswerError::Key => {
                Self::new("invalid_passkey", error.to_string())
            }
            _ => Self::new("passkey_refused", error.to_string()),
        }
    }
}

/// Uses up the challenge of an answer.
pub(super) fn take_challenge(
    tx: &mut Tx<'_>,
    client: &ClientData,
    purpose: Purpose,
    now: Timestamp,
) -> Result<()> {
    let hash = hash_of(&client.challenge);
    match rows::passkeys::take_challenge(tx, &hash, purpose.parts(), now)? {
        true => Ok(()),
        false => Err(RecordError::new(
            "challenge_ended",
            "the challenge for the passkey has expired, was already answered, or was for another user; begin again",
        )),
    }
}

pub(super) fn credential_ids(passkeys: &[PasskeyRow]) -> Vec<String> {
    let ids = passkeys
        .iter()
        .map(|passkey| webauthn::encode(&passkey.credential_id));
    ids.collect()
}

pub(super) fn shown(passkey: PasskeyRow) -> api::Passkey {
    api::Passkey {
        id: passkey.id,
        name: passkey.name,
        created_at: passkey.created_at,
        last_used_at: passkey.last_used_at,
    }
}

/// The detail of an audit entry.
fn detail_of(passkey: &PasskeyRow) -> Value {
    json!({"kind": "passkey", "name": passkey.name})
}

/// Whether a text has the form of a pending login's token.
pub(super) fn is_pending_login(token: &str) -> bool {
    CredentialKind::recognise(token) == Some(CredentialKind::PendingLogin)
}

fn hash_of(challenge: &[u8]) -> Hash {
    hash_secret(&webauthn::encode(challenge))
}

fn check_name(name: &str) -> Result<String> {
    let name = name.trim();
    let length = name.chars().count();
    if (1..=NAME_CHARACTERS_MAX).contains(&length) && !name.chars().any(char::is_control) {
        return Ok(name.to_owned());
    }
    Err(RecordError::new(
        "invalid_name",
        format!(
            "the name of a passkey must have 1 to {NAME_CHARACTERS_MAX} characters and no control characters; an example is `Phone`"
        ),
    ))
}

fn check_count(held: &[PasskeyRow]) -> Result<()> {
    if held.len() < PASSKEYS_MAX {
        return Ok(());
    }
    Err(RecordError::new(
        "too_many_passkeys",
        format!(
            "you have {PASSKEYS_MAX} passkeys, which is the maximum; remove one that you do not use"
        ),
    ))
}

fn unavailable(message: String) -> RecordError {
    RecordError::new("passkeys_unavailable", message)
}

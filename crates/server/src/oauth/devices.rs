//! Logins of machines without a browser (RFC 8628). Only the command line uses them.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::Serialize;
use serde_json::json;
use svc_core::{Timestamp, credential::CredentialKind, network::row_network};
use svc_crypto::random;
use svc_protocol::api;
use svc_store::{
    StoreError, Tx, keyed,
    oauth::{
        self as rows,
        clients::ClientRow,
        devices::{DeviceRow, DeviceState},
    },
    oidc::grants as oidc_grants,
    records,
    zone_changes::ZoneChange,
};

use super::{
    OAuth,
    clients::{Presented, summary},
    consents::session_of,
    error::OAuthError,
    known_apps::COMMAND_LINE,
    take,
    tokens::IssuedToken,
};
use crate::{
    identity::{Caller, Secret, hash_secret},
    records::{RecordError, Result},
};

/// The letters of a code that a person types. Without vowels, a code contains no words. Digits are
/// left out, because some of them look like letters.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
const LETTERS_OF_CODE: usize = 8;
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The shortest time between two polls, in seconds. It grows by this value after each poll that is
/// too early, up to [`POLL_SECONDS_MAX`].
const POLL_SECONDS: u32 = 5;
const POLL_SECONDS_MAX: u32 = 60;
/// The maximum number of logins that wait for their user. Above it, the network with the most logins
/// loses its oldest ones.
const WAITING_MAX: u32 = 10_000;

/// The answer to a machine.
#[derive(Serialize)]
pub struct StartedDevice {
    pub device_code: String,
    pub user_code: String,
    pub verification_uri: String,
    pub verification_uri_complete: String,
    pub expires_in: u64,
    pub interval: u32,
}

impl OAuth {
    pub async fn start_device(
        &self,
        issuer: &str,
        (client_id, machine): (&str, &str),
        address: IpAddr,
    ) -> Result<StartedDevice, OAuthError> {
        if client_id != COMMAND_LINE {
            return Err(OAuthError::refused(
                "unauthorized_client",
                "only the command line of svc may log in with a code",
            ));
        }
        take(&self.questions, address)?;
        let client = self.find_client(client_id, address).await?;
        let secret = Secret::new(CredentialKind::DeviceCode)?;
        let now = self.clock.now();
        let device = DeviceRow {
            hash: secret.hash,
            user_code: new_user_code()?,
            client_id: client.id,
            name: machine.to_owned(),
            address: address.to_string(),
            state: DeviceState::Pending,
            user_id: None,
            created_at: now,
            expires_at: now.plus(LIFETIME),
            polled_at: None,
            poll_seconds: POLL_SECONDS,
            network: row_network(address),
        };
        let user_code = with_dash(&device.user_code);
        self.store
            .write(move |tx| {
                records::insert(tx, &device)?;
                keyed::delete_surplus::<DeviceRow>(tx, WAITING_MAX)
            })
            .await?;
        Ok(StartedDevice {
            device_code: secret.text,
            verification_uri: format!("{issuer}/device"),
            verification_uri_complete: format!("{issuer}/device?code={user_code}"),
            user_code,
            expires_in: LIFETIME.as_secs(),
            interval: POLL_SECONDS,
        })
    }

    /// The token of a machine, once its user has agreed.
    pub async fn poll_device(
        self: &Arc<Self>,
        client: Presented,
        device_code: &str,
    ) -> Result<IssuedToken, OAuthError> {
        let unknown = || OAuthError::invalid_grant("the device code is not known");
        if CredentialKind::recognise(device_code) != Some(CredentialKind::DeviceCode) {
            return Err(unknown());
        }
        let (oauth, now) = (self.clone(), self.clock.now());
        let hash = hash_secret(device_code);
        let token = Secret::new(CredentialKind::ApiToken)?;
        let outcome = self.identity.change_as_server(move |tx| {
            let client = oauth.authenticate_client(tx, &client)?;
            let device = keyed::find::<DeviceRow>(tx, &hash)?
                .filter(|device| device.client_id == client.id)
                .ok_or_else(unknown)?;
            if device.expires_at <= now {
                let text = "the login has expired; start it again";
                return Err(OAuthError::refused("expired_token", text));
            }
            let user = match (device.state, device.user_id) {
                (DeviceState::Approved, Some(user)) => user,
                (DeviceState::Pending, _) => {
                    let refusal = note_poll(tx, &device, now)?;
                    return Ok(Err(refusal));
                }
                _ => {
                    keyed::delete::<DeviceRow>(tx, &hash)?;
                    let refusal = OAuthError::refused("access_denied", "the user declined");
                    return Ok(Err(refusal));
                }
            };
            if !keyed::delete::<DeviceRow>(tx, &hash)? {
                return Err(unknown());
            }
            let issued = oauth.issue_login_token(tx, user, (device.name.as_str(), &hash), token)?;
            tx.affects(ZoneChange::User(user));
            Ok(Ok(issued))
        });
        outcome.await?
    }

    /// Limits how many codes a user can guess.
    fn count_try(&self, caller: &Caller) -> Result<()> {
        session_of(caller)?;
        let tries = self.user_codes.take(caller.user.id, Instant::now());
        tries.map_err(|over| RecordError::TooManyAttempts {
            retry_after: over.retry_after,
        })
    }

    /// The open login whose machine shows this code.
    pub async fn find_device(&self, caller: &Caller, user_code: &str) -> Result<api::DeviceLogin> {
        self.count_try(caller)?;
        let (code, now) = (normalise(user_code), self.clock.now());
        let reading = self.store.read(move |tx| open_device(tx, &code, now));
        let found = reading.await?;
        let (device, client) = found.ok_or_else(|| unknown_code(user_code))?;
        Ok(api::DeviceLogin {
            user_code: with_dash(&device.user_code),
            app: summary(&client),
            address: device.address,
            created_at: device.created_at,
            expires_at: device.expires_at,
        })
    }

    /// Records the answer of the user.
    pub async fn decide_device(
        &self,
        caller: &Caller,
        user_code: &str,
        approve: bool,
    ) -> Result<()> {
        self.count_try(caller)?;
        let (code, now) = (normalise(user_code), self.clock.now());
        let unknown = unknown_code(user_code);
        let (action, state) = match approve {
            true => ("oauth.granted", DeviceState::Approved),
            false => ("oauth.denied", DeviceState::Denied),
        };
        self.identity
            .change(caller, move |tx, caller| {
                let session = session_of(caller)?;
                let (device, client) = open_device(tx, &code, now)?.ok_or(unknown)?;
                rows::devices::decide(tx, &device.hash, state, caller.user.id)?;
                if let Some(login) = oidc_grants::find_login(tx, session)? {
                    oidc_grants::insert_pending(tx, &device.hash, login, device.expires_at)?;
                }
                let detail = json!({
                    "name": client.name, "machine": device.name, "address": device.address,
                });
                Ok(tx.audit(caller, action, ("oauth_client", client.id), detail)?)
            })
            .await
    }
}

/// Counts a poll. The returned error says whether the poll was too early.
fn note_poll(
    tx: &mut Tx<'_>,
    device: &DeviceRow,
    now: Timestamp,
) -> Result<OAuthError, OAuthError> {
    let shortest = Duration::from_secs(device.poll_seconds.into());
    let is_early = device.polled_at.is_some_and(|at| now.since(at) < shortest);
    let poll_seconds = match is_early {
        true => (device.poll_seconds + POLL_SECONDS).min(POLL_SECONDS_MAX),
        false => device.poll_seconds,
    };
    rows::devices::note_poll(tx, &device.hash, now, poll_seconds)?;
    Ok(match is_early {
        true => OAuthError::refused("slow_down", format!("poll every {poll_seconds} s")),
        false => OAuthError::refused("authorization_pending", "the user has not answered yet"),
    })
}

/// The login with this code, if the login waits for an answer.
fn open_device(
    tx: &mut Tx<'_>,
    code: &str,
    now: Timestamp,
) -> Result<Option<(DeviceRow, ClientRow)>, StoreError> {
    let device = rows::devices::find_by_user_code(tx, code)?
        .filter(|device| device.state == DeviceState::Pending && device.expires_at > now);
    let Some(device) = device else {
        return Ok(None);
    };
    let client = records::find::<ClientRow>(tx, device.client_id)?.filter(|client| !client.blocked);
    Ok(client.map(|client| (device, client)))
}

fn unknown_code(typed: &str) -> RecordError {
    RecordError::not_found("code", typed.chars().take(20).collect::<String>())
}

fn new_user_code() -> Result<String> {
    let mut code = String::new();
    while code.len() < LETTERS_OF_CODE {
        let bytes = random::bytes::<16>()?;
        // 240 is the largest multiple of 20 below 256, so every letter is equally likely.
        let letters = bytes.iter().filter(|byte| **byte < 240);
        let letters = letters.map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]));
        code.extend(letters.take(LETTERS_OF_CODE - code.len()));
    }
    Ok(code)
}

/// `BCDF-GHJK`
fn with_dash(code: &str) -> String {
    let (first, second) = code.split_at(LETTERS_OF_CODE / 2);
    format!("{first}-{second}")
}

/// Converts a typed code to the form in which it is stored.
fn normalise(typed: &str) -> String {
    typed
        .chars()
        .filter(char::is_ascii_alphabetic)
        .take(LETTERS_OF_CODE + 1)
        .map(|letter| letter.to_ascii_uppercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_random_letters_and_typed_in_many_ways() {
        let code = new_user_code().expect("random");
        assert_eq!(code.len(), LETTERS_OF_CODE);
        assert!(code.bytes().all(|byte| LETTERS.contains(&byte)), "{code}");
        assert_ne!(code, new_user_code().expect("random"));
        let shown = with_dash(&code);
        assert_eq!(normalise(&shown), code);
        assert_eq!(normalise(&shown.to_lowercase().replace('-', " ")), code);
        assert_ne!(normalise(&format!("{code}X")), code);
    }
}

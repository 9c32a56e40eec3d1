//! Reads and verifies the answers of authenticators (W3C Web Authentication, level 3).
//!
//! Attestation is not requested, so the maker of an authenticator is never checked, and the answer
//! to a registration is not signed. Only the signature of each login is verified.

mod cose;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use svc_crypto::sha256;
use thiserror::Error;

pub use cose::ALGORITHMS;
use cose::PublicKey;

/// The maximum bytes of one field of an answer. An RSA key of 4,096 bits has about 530 bytes.
const FIELD_BYTES_MAX: usize = 4096;
/// The maximum bytes of a credential id (WebAuthn: at most 1,023).
const CREDENTIAL_ID_MAX: usize = 1023;

const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const HAS_CREDENTIAL: u8 = 0x40;

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum AnswerError {
    #[error("`{0}` is not valid; send what the browser returned, as base64url")]
    Malformed(&'static str),
    #[error(
        "the browser was at `{found}`, and this server is `{expected}`; open the server at its own address"
    )]
    Origin { found: String, expected: String },
    #[error("the answer is for another kind of request")]
    Purpose,
    #[error("the passkey belongs to another host name than `{0}`")]
    RelyingParty(String),
    #[error("the user did not touch the authenticator")]
    UserAbsent,
    #[error(
        "the passkey did not check who uses it; sign in with the password first, or use a passkey with a PIN or a fingerprint"
    )]
    UserNotVerified,
    #[error("the algorithm of the key is not accepted; use ES256, EdDSA or RS256")]
    Key,
    #[error("the signature of the passkey is not valid")]
    Signature,
}

/// The operation that a passkey performs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ceremony {
    Registration,
    Login,
}

/// Where passkeys of this server are valid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// Scheme, host and port.
    pub origin: String,
    /// The host.
    pub rp_id: String,
}

/// The data that a browser returns about a challenge. The passkey signs a hash of this data.
pub struct ClientData {
    bytes: Vec<u8>,
    pub challenge: Vec<u8>,
}

#[derive(Deserialize)]
struct ClientDataFields {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
}

impl ClientData {
    /// Parses the data of the browser. The data must be from this site and for this ceremony.
    pub fn read(text: &str, ceremony: Ceremony, site: &Site) -> Result<Self, AnswerError> {
        let malformed = AnswerError::Malformed("client_data");
        let bytes = decode(text).ok_or(malformed.clone())?;
        let fields: ClientDataFields =
            serde_json::from_slice(&bytes).map_err(|_| malformed.clone())?;
        let kind = match ceremony {
            Ceremony::Registration => "webauthn.create",
            Ceremony::Login => "webauthn.get",
        };
        if fields.kind != kind {
            return Err(AnswerError::Purpose);
        }
        // A page that is embedded in a page of another site is rejected too.
        if fields.origin != site.origin || fields.cross_origin {
            return Err(AnswerError::Origin {
                found: fields.origin.chars().take(200).collect(),
                expected: site.origin.clone(),
            });
        }
        Ok(Self {
            challenge: decode(&fields.challenge).ok_or(malformed)?,
            bytes,
        })
    }
}

/// The data of an authenticator about itself and its user.
pub struct AuthenticatorData {
    bytes: Vec<u8>,
    rp_id_hash: [u8; 32],
    flags: u8,
    pub counter: u32,
}

/// A key that an authenticator created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewCredential {
    pub id: Vec<u8>,
    /// As COSE.
    pub public_key: Vec<u8>,
    pub counter: u32,
}

impl AuthenticatorData {
    pub fn read(text: &str, site: &Site) -> Result<Self, AnswerError> {
        let malformed = || AnswerError::Malformed("authenticator_data");
        let bytes = decode(text).ok_or_else(malformed)?;
        let (rp_id_hash, rest) = bytes.split_first_chunk::<32>().ok_or_else(malformed)?;
        let (&[flags], rest) = rest.split_first_chunk::<1>().ok_or_else(malformed)?;
        let (counter, _) = rest.split_first_chunk::<4>().ok_or_else(malformed)?;
        let read = Self {
            rp_id_hash: *rp_id_hash,
            flags,
            counter: u32::from_be_bytes(*counter),
            bytes,
        };
        read.check(site).map(|()| read)
    }

    fn check(&self, site: &Site) -> Result<(), AnswerError> {
        if self.rp_id_hash != sha256(&site.rp_id) {
            return Err(AnswerError::RelyingParty(site.rp_id.clone()));
        }
        if self.flags & USER_PRESENT == 0 {
            return Err(AnswerError::UserAbsent);
        }
        Ok(())
    }

    /// Requires that the passkey verified its user, with a PIN or a fingerprint.
    pub fn check_user_verified(&self) -> Result<(), AnswerError> {
        match self.flags & USER_VERIFIED {
            0 => Err(AnswerError::UserNotVerified),
            _ => Ok(()),
        }
    }

    /// The new key in the answer to a registration.
    pub fn credential(&self) -> Result<NewCredential, AnswerError> {
        let malformed = || AnswerError::Malformed("authenticator_data");
        if self.flags & HAS_CREDENTIAL == 0 {
            return Err(malformed());
        }
        // Skips the hash, the flags, the counter and the model of the authenticator.
        let rest = self.bytes.get(37 + 16..).ok_or_else(malformed)?;
        let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(malformed)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let id = rest.get(..length).ok_or_else(malformed)?;
        if id.is_empty() || length > CREDENTIAL_ID_MAX {
            return Err(malformed());
        }
        let public_key = &rest[length..];
        let (_, key_length) = PublicKey::read(public_key).ok_or(AnswerError::Key)?;
        Ok(NewCredential {
            id: id.to_vec(),
            // Extensions may follow the key. This server requests none.
            public_key: public_key[..key_length].to_vec(),
            counter: self.counter,
        })
    }
}

/// Verifies that the answer to a login was signed with the key `public_key` (in COSE).
pub fn verify(
    public_key: &[u8],
    data: &AuthenticatorData,
    client: &ClientData,
    signature: &str,
) -> Result<(), AnswerError> {
    let signature = decode(signature).ok_or(AnswerError::Malformed("signature"))?;
    let (key, _) = PublicKey::read(public_key).ok_or(AnswerError::Key)?;
    let message = [data.bytes.as_slice(), &sha256(&client.bytes)].concat();
    match key.verify(&message, &signature) {
        true => Ok(()),
        false => Err(AnswerError::Signature),
    }
}

/// Decodes a field. Some clients add padding.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    (text.len() <= FIELD_BYTES_MAX * 4 / 3)
        .then(|| URL_SAFE_NO_PAD.decode(text).ok())
        .flatten()
}

pub fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests;

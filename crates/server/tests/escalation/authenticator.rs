//! Authenticators in software, written from the standards (RFC 6238, W3C Web Authentication) and
//! independent of the server.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use data_encoding::BASE32_NOPAD;
use ring::{
    digest::{SHA256, digest},
    hmac,
    signature::{Ed25519KeyPair, KeyPair},
};
use serde_json::{Value, json};

use crate::world::ORIGIN;

const STEP_MILLIS: i64 = 30_000;
const RP_ID: &str = "localhost";
const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 4;
const HAS_CREDENTIAL: u8 = 0x40;

/// The number of the 30-second step at `now`, a time in milliseconds.
pub fn step_at(now: i64) -> i64 {
    now.div_euclid(STEP_MILLIS)
}

/// The code that an app shows in a step.
pub fn app_code(secret: &str, step: i64) -> String {
    let secret = BASE32_NOPAD.decode(secret.as_bytes()).expect("base32");
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let tag = tag.as_ref();
    let at = usize::from(tag[19] & 15);
    let number = u32::from_be_bytes([tag[at] & 0x7f, tag[at + 1], tag[at + 2], tag[at + 3]]);
    format!("{:06}", number % 1_000_000)
}

/// A code that the app does not show in the steps around this time.
pub fn wrong_code(secret: &str, now: i64) -> String {
    let step = step_at(now);
    let shown: Vec<_> = (step - 3..=step + 3)
        .map(|step| app_code(secret, step))
        .collect();
    let mut codes = (0..1_000_000).map(|number| format!("{number:06}"));
    let wrong = codes.find(|code| !shown.contains(code));
    wrong.expect("seven codes are not all codes")
}

/// The key of a passkey. Equal seeds give equal keys.
pub struct DeviceKey {
    pair: Ed25519KeyPair,
}

impl DeviceKey {
    pub fn new(seed: u64) -> Self {
        let seed = digest(&SHA256, &seed.to_be_bytes());
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.as_ref());
        Self {
            pair: pair.expect("a seed of 32 bytes"),
        }
    }

    fn credential_id(&self) -> Vec<u8> {
        digest(&SHA256, self.pair.public_key().as_ref())
            .as_ref()
            .to_vec()
    }

    /// The body of a request that adds the passkey.
    pub fn create(&self, challenge: &str) -> Value {
        let id = self.credential_id();
        let key = self.pair.public_key();
        // The public key in COSE: the kind OKP, the algorithm EdDSA, the curve Ed25519 and the
        // point.
        let head: [u8; 10] = [0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20];
        let cose = [&head[..], key.as_ref()].concat();
        let length = (id.len() as u16).to_be_bytes();
        let data = [
            &data(HAS_CREDENTIAL | USER_VERIFIED, 1)[..],
            &[0; 16],
            &length,
            id.as_slice(),
            cose.as_slice(),
        ]
        .concat();
        json!({
            "name": "Key",
            "client_data": client_data("webauthn.create", challenge),
            "authenticator_data": encode(&data),
        })
    }

    /// The body of a request that logs in with this passkey. `signed_by` signs it: another key
    /// makes a wrong signature.
    pub fn get(&self, challenge: &str, counter: u32, verifies: bool, signed_by: &Self) -> Value {
        let flags = if verifies { USER_VERIFIED } else { 0 };
        let data = data(flags, counter);
        let client_data = client_data("webauthn.get", challenge);
        let hash = digest(
            &SHA256,
            &URL_SAFE_NO_PAD.decode(&client_data).expect("base64url"),
        );
        let message = [&data[..], hash.as_ref()].concat();
        json!({
            "credential_id": encode(&self.credential_id()),
            "client_data": client_data,
            "authenticator_data": encode(&data),
            "signature": encode(signed_by.pair.sign(&message).as_ref()),
        })
    }
}

fn data(flags: u8, counter: u32) -> Vec<u8> {
    let place = digest(&SHA256, RP_ID.as_bytes());
    [
        place.as_ref(),
        &[flags | USER_PRESENT],
        &counter.to_be_bytes(),
    ]
    .concat()
}

fn client_data(kind: &str, challenge: &str) -> String {
    let text = json!({"type": kind, "challenge": challenge, "origin": ORIGIN});
    encode(text.to_string().as_bytes())
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

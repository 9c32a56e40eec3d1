//! An authenticator in software, written from the standard (W3C Web Authentication) and independent
//! of the server. A test changes its fields to get wrong answers.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::{Value, json};

pub const ORIGIN: &str = "https://svc.example";
const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 4;
const HAS_CREDENTIAL: u8 = 0x40;

pub struct Authenticator {
    key: EcdsaKeyPair,
    pub credential_id: Vec<u8>,
    pub counter: u32,
    pub verifies_user: bool,
    /// The origin that the browser reports.
    pub origin: String,
    /// The host name that the browser gives to the authenticator.
    pub rp_id: String,
}

impl Authenticator {
    pub fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap();
        let credential_id = digest(&SHA256, key.public_key().as_ref());
        Self {
            credential_id: credential_id.as_ref().to_vec(),
            key,
            counter: 1,
            verifies_user: true,
            origin: ORIGIN.to_owned(),
            rp_id: "svc.example".to_owned(),
        }
    }

    /// The answer to `navigator.credentials.create`.
    pub fn create(&self, options: &Value, name: &str) -> Value {
        let id = &self.credential_id;
        let length = u16::try_from(id.len()).unwrap();
        let data = [
            &self.data(HAS_CREDENTIAL)[..],
            &[0; 16],
            &length.to_be_bytes(),
            id.as_slice(),
            self.cose_key().as_slice(),
        ]
        .concat();
        json!({
            "name": name,
            "client_data": self.client_data("webauthn.create", &options["challenge"]),
            "authenticator_data": encode(&data),
        })
    }

    /// The answer to `navigator.credentials.get`. Increments the counter.
    pub fn get(&mut self, options: &Value) -> Value {
        self.counter += 1;
        let data = self.data(0);
        let client_data = self.client_data("webauthn.get", &options["challenge"]);
        let hash = digest(&SHA256, &URL_SAFE_NO_PAD.decode(&client_data).unwrap());
        let message = [&data[..], hash.as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &message).unwrap();
        json!({
            "credential_id": encode(&self.credential_id),
            "client_data": client_data,
            "authenticator_data": encode(&data),
            "signature": encode(signature.as_ref()),
        })
    }

    fn data(&self, flags: u8) -> Vec<u8> {
        let verified = match self.verifies_user {
            true => USER_VERIFIED,
            false => 0,
        };
        [
            digest(&SHA256, self.rp_id.as_bytes()).as_ref(),
            &[flags | USER_PRESENT | verified],
            &self.counter.to_be_bytes(),
        ]
        .concat()
    }

    fn client_data(&self, kind: &str, challenge: &Value) -> String {
        let text = json!({"type": kind, "challenge": challenge, "origin": self.origin});
        encode(text.to_string().as_bytes())
    }

    /// The public key in COSE form: a map with the key type, the algorithm, the curve and the two
    /// coordinates.
    fn cose_key(&self) -> Vec<u8> {
        let point: &[u8] = self.key.public_key().as_ref();
        let head: [u8; 10] = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
        [&head[..], &point[1..33], &[0x22, 0x58, 0x20], &point[33..]].concat()
    }
}

pub fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

//! Logins that the test signs with keys of its own, in each accepted algorithm. The RSA key of
//! `rsa_key.json` is the one of RFC 7520, section 4.1, because `ring` cannot create RSA keys.

use std::collections::BTreeMap;

use ring::{
    rand::SystemRandom,
    rsa::{KeyPairComponents, PublicKeyComponents},
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA512,
        RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
    },
};

use super::super::verify;
use super::*;

type Sign = Box<dyn Fn(&[u8]) -> Vec<u8>>;

/// A key of an authenticator.
struct Authenticator {
    /// In COSE.
    public_key: Vec<u8>,
    sign: Sign,
}

impl Authenticator {
    fn ed25519() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a new key");
        let key = Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key");
        let head = [0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20];
        Self {
            public_key: [&head[..], key.public_key().as_ref()].concat(),
            sign: Box::new(move |message| key.sign(message).as_ref().to_vec()),
        }
    }

    fn p256(algorithm: &'static EcdsaSigningAlgorithm) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a new key");
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key");
        // The first byte says that the point is not compressed.
        let (x, y) = key.public_key().as_ref()[1..].split_at(32);
        let head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01];
        Self {
            public_key: [&head[..], &[0x21, 0x58, 0x20], x, &[0x22, 0x58, 0x20], y].concat(),
            sign: Box::new(move |message| {
                let signature = key.sign(&random, message).expect("a signature");
                signature.as_ref().to_vec()
            }),
        }
    }

    fn rsa(padding: &'static dyn RsaEncoding) -> Self {
        let fields: BTreeMap<String, String> =
            serde_json::from_str(include_str!("../rsa_key.json")).expect("the key is JSON");
        let field = |name: &str| crate::webauthn::decode(&fields[name]).expect("base64url");
        let key = RsaKeyPair::from_components(&KeyPairComponents {
            public_key: PublicKeyComponents {
                n: field("n"),
                e: field("e"),
            },
            d: field("d"),
            p: field("p"),
            q: field("q"),
            dP: field("dp"),
            dQ: field("dq"),
            qInv: field("qi"),
        });
        let key = key.expect("a key");
        let head = [
            0xa4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20, 0x59, 0x01, 0x00,
        ];
        Self {
            public_key: [&head[..], &field("n"), &[0x21, 0x43], &field("e")].concat(),
            sign: Box::new(move |message| {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(padding, &SystemRandom::new(), message, &mut signature)
                    .expect("a signature");
                signature
            }),
        }
    }

    /// The text of an answer from the authenticator's data, and its signature for a page.
    fn answer(&self, client_data: &str) -> (String, String) {
        let id = [9; 20];
        let data = authenticator_data("svc.example", 0x45, &id, &self.public_key);
        let page = crate::webauthn::decode(client_data).expect("base64url");
        let message = [&data[..], digest(&SHA256, &page).as_ref()].concat();
        (encode(&data), encode(&(self.sign)(&message)))
    }

    /// Verifies an answer with this key.
    fn check(&self, data: &str, client_data: &str, signature: &str) -> Result<(), AnswerError> {
        let data = AuthenticatorData::read(data, &site())?;
        let client = ClientData::read(client_data, Ceremony::Login, &site())?;
        verify(&self.public_key, &data, &client, signature)
    }
}

fn login(challenge: &str) -> String {
    let json = serde_json::json!({
        "type": "webauthn.get", "challenge": challenge, "origin": "https://svc.example",
    });
    encode(json.to_string().as_bytes())
}

#[test]
fn a_login_is_verified_with_the_key_that_signed_it() {
    for (own, other) in [
        (Authenticator::ed25519(), Authenticator::ed25519()),
        (
            Authenticator::p256(&ECDSA_P256_SHA256_ASN1_SIGNING),
            Authenticator::p256(&ECDSA_P256_SHA256_ASN1_SIGNING),
        ),
        (
            Authenticator::rsa(&RSA_PKCS1_SHA256),
            Authenticator::ed25519(),
        ),
    ] {
        let client_data = login("AAAA");
        let (data, signature) = own.answer(&client_data);
        let registered = AuthenticatorData::read(&data, &site()).expect("valid");
        assert_eq!(
            registered.credential().expect("a key").public_key,
            own.public_key
        );
        assert_eq!(own.check(&data, &client_data, &signature), Ok(()));
        let refused = Err(AnswerError::Signature);
        assert_eq!(other.check(&data, &client_data, &signature), refused);
        assert_eq!(own.check(&data, &login("AAAB"), &signature), refused);
        assert_eq!(own.check(&data, &client_data, ""), refused);
    }
}

#[test]
fn signatures_in_another_form_are_refused() {
    for authenticator in [
        // WebAuthn requires the form of ASN.1.
        Authenticator::p256(&ECDSA_P256_SHA256_FIXED_SIGNING),
        Authenticator::rsa(&RSA_PSS_SHA256),
        Authenticator::rsa(&RSA_PKCS1_SHA512),
    ] {
        let client_data = login("AAAA");
        let (data, signature) = authenticator.answer(&client_data);
        let refused = authenticator.check(&data, &client_data, &signature);
        assert_eq!(refused, Err(AnswerError::Signature));
    }
}

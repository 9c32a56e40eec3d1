//! Tokens that the test signs with keys of its own.

use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};

use super::*;

/// A token for `ann`, signed with the function.
fn token(header: Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let [header, claims] = [header, json!({"sub": "ann"})].map(|part| part.to_string());
    let message = [header, claims]
        .map(|part| URL_SAFE_NO_PAD.encode(part))
        .join(".");
    let signature = URL_SAFE_NO_PAD.encode(sign(message.as_bytes()));
    format!("{message}.{signature}")
}

fn keys(key: Value) -> Keys {
    Keys::from(KeySet { keys: vec![key] })
}

#[test]
fn a_new_ed25519_key_verifies_its_own_tokens_only() {
    let [own, other] = std::array::from_fn(|_| {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a new key");
        Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key")
    });
    let keys = keys(json!({
        "kty": "OKP", "crv": "Ed25519",
        "x": URL_SAFE_NO_PAD.encode(own.public_key()),
    }));
    let signed_by = |key: &Ed25519KeyPair| {
        token(json!({"alg": "EdDSA"}), |message| {
            key.sign(message).as_ref().to_vec()
        })
    };
    assert!(keys.verify(&signed_by(&own)).is_ok());
    assert_eq!(keys.verify(&signed_by(&other)), Err(JoseError::Signature));
}

#[test]
fn a_new_p256_key_verifies_its_own_tokens_only() {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let [own, other] = std::array::from_fn(|_| {
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a new key");
        EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key")
    });
    // The first byte says that the point is not compressed.
    let (x, y) = own.public_key().as_ref()[1..].split_at(32);
    let keys = keys(json!({
        "kty": "EC", "crv": "P-256",
        "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
    }));
    let signed_by = |key: &EcdsaKeyPair| {
        token(json!({"alg": "ES256"}), |message| {
            let signature = key.sign(&random, message).expect("a signature");
            signature.as_ref().to_vec()
        })
    };
    assert!(keys.verify(&signed_by(&own)).is_ok());
    assert_eq!(keys.verify(&signed_by(&other)), Err(JoseError::Signature));
}

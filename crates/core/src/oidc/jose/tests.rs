//! The keys and tokens in `vectors.json` were made with another implementation (Node's `crypto`).
//! `public` has the examples of the standards, `created` keys that the test creates.

mod created;
mod public;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;

#[derive(Deserialize)]
struct Vectors {
    keys: Vec<Value>,
    good: BTreeMap<String, String>,
    bad: BTreeMap<String, String>,
}

fn vectors() -> (Keys, Vectors) {
    let vectors: Vectors =
        serde_json::from_str(include_str!("vectors.json")).expect("the vectors are JSON");
    let keys = vectors.keys.clone();
    (Keys::from(KeySet { keys }), vectors)
}

#[test]
fn every_accepted_algorithm_is_verified() {
    let (keys, vectors) = vectors();
    for algorithm in ALGORITHMS {
        assert!(vectors.good.contains_key(algorithm), "{algorithm}");
    }
    for (what, token) in &vectors.good {
        let claims = keys.verify(token).expect(what);
        assert_eq!(Value::Object(claims), json!({"sub": "ann"}), "{what}");
    }
}

#[test]
fn a_changed_token_is_refused() {
    let (keys, vectors) = vectors();
    for (what, token) in &vectors.good {
        let parts: Vec<_> = token.split('.').collect();
        let other = URL_SAFE_NO_PAD.encode(r#"{"sub":"admin"}"#);
        for changed in [
            format!("{}.{other}.{}", parts[0], parts[2]),
            format!("{}.{}.", parts[0], parts[1]),
            format!("{}.{}.AAAA", parts[0], parts[1]),
        ] {
            assert_eq!(keys.verify(&changed), Err(JoseError::Signature), "{what}");
        }
    }
}

#[test]
fn other_algorithms_keys_and_forms_are_refused() {
    let (keys, vectors) = vectors();
    for (what, token) in &vectors.bad {
        let error = keys.verify(token).expect_err(what);
        let expected = match what.as_str() {
            "none" | "none in other letters" | "HS256 with the public key" | "RS512" => {
                matches!(error, JoseError::Algorithm(_))
            }
            "ES256 with the RSA key" | "unknown key id" | "key id of another key" => {
                matches!(error, JoseError::UnknownKey { .. })
            }
            "crit" => matches!(error, JoseError::Malformed(_)),
            _ => error == JoseError::Signature,
        };
        assert!(expected, "{what}: {error}");
    }
    let long = "x".repeat(TOKEN_BYTES_MAX + 1);
    for malformed in ["", ".", "..", "a.b", "a.b.c", "e30.e30.e30", long.as_str()] {
        let error = keys.verify(malformed).expect_err("malformed");
        assert!(matches!(error, JoseError::Malformed(_)), "{error}");
    }
}

#[test]
fn a_key_is_used_only_as_its_provider_says() {
    let (_, vectors) = vectors();
    let with = |kid: &str, field: &str, value: Value| {
        let mut keys = vectors.keys.clone();
        let key = keys.iter_mut().find(|key| key["kid"] == kid);
        key.expect("such a key")[field] = value;
        Keys::from(KeySet { keys })
    };
    let token = &vectors.good["RS256"];
    assert!(with("rsa", "alg", json!("RS256")).verify(token).is_ok());
    let operations = json!(["sign", "verify"]);
    assert!(with("rsa", "key_ops", operations).verify(token).is_ok());
    for keys in [
        with("rsa", "key_ops", json!(["encrypt"])),
        with("rsa", "alg", json!("PS256")),
        with("rsa", "use", json!("enc")),
        with("rsa", "kty", json!("oct")),
        with("rsa", "n", json!("not base64!")),
    ] {
        let error = keys.verify(token).expect_err("no such key");
        assert!(matches!(error, JoseError::UnknownKey { .. }), "{error}");
    }
    // RFC 9864 gave the algorithm a second name.
    for (kid, token) in [("ed", "EdDSA"), ("ed25519", "Ed25519")] {
        let token = &vectors.good[token];
        for (only, is_right) in [("EdDSA", true), ("Ed25519", true), ("ES256", false)] {
            let verified = with(kid, "alg", json!(only)).verify(token);
            assert_eq!(verified.is_ok(), is_right, "{kid} {only}: {verified:?}");
        }
    }
    let short = with("p256", "x", json!("AAAA"));
    assert_eq!(short.len(), vectors.keys.len() - 1);
    // Some providers write the modulus with a leading zero.
    let modulus = vectors.keys[0]["n"].as_str().expect("a modulus");
    let modulus = URL_SAFE_NO_PAD.decode(modulus).expect("base64");
    let padded = URL_SAFE_NO_PAD.encode([vec![0], modulus].concat());
    assert!(with("rsa", "n", json!(padded)).verify(token).is_ok());
    let many = vec![json!({"kty": "oct"}); 10_000];
    assert!(Keys::from(KeySet { keys: many }).is_empty());
}

//! The examples of the standards. `public_vectors.json` has their keys and tokens unchanged.

use super::*;

#[derive(Deserialize)]
struct Examples {
    accepted: Vec<Example>,
    /// Their signatures are valid, but this server does not accept their algorithms.
    refused: Vec<Example>,
}

#[derive(Deserialize)]
struct Example {
    /// Where the example is published.
    source: String,
    key: Value,
    token: String,
    payload: Option<String>,
}

impl Example {
    fn keys(&self) -> Keys {
        Keys::from(KeySet {
            keys: vec![self.key.clone()],
        })
    }

    /// Header, payload and signature, in base64url.
    fn parts(&self) -> [&str; 3] {
        let parts: Vec<_> = self.token.split('.').collect();
        parts.try_into().expect("three parts")
    }

    /// The example with another value in one field of its key.
    fn with_key(&self, field: &str, value: Value) -> Keys {
        let mut key = self.key.clone();
        key[field] = value;
        Keys::from(KeySet { keys: vec![key] })
    }
}

fn examples() -> Examples {
    let text = include_str!("../public_vectors.json");
    serde_json::from_str(text).expect("the examples are JSON")
}

/// The base64url text once for each bit of its bytes, with this bit flipped.
fn flipped(text: &str) -> impl Iterator<Item = String> {
    let bytes = URL_SAFE_NO_PAD.decode(text).expect("base64url");
    (0..bytes.len() * 8).map(move |bit| {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        URL_SAFE_NO_PAD.encode(changed)
    })
}

#[test]
fn the_examples_of_the_standards_are_verified() {
    for example in examples().accepted {
        let payload = example.keys().verify_payload(&example.token);
        let expected = example.payload.map(String::into_bytes);
        assert_eq!(payload.ok(), expected, "{}", example.source);
    }
}

#[test]
fn examples_with_other_algorithms_are_refused() {
    for example in examples().refused {
        let refused = example.keys().verify_payload(&example.token);
        assert!(
            matches!(refused, Err(JoseError::Algorithm(_))),
            "{}: {refused:?}",
            example.source
        );
    }
}

#[test]
fn a_token_with_one_flipped_bit_is_refused() {
    for example in examples().accepted {
        let (keys, [header, payload, signature]) = (example.keys(), example.parts());
        for changed in flipped(signature) {
            let token = format!("{header}.{payload}.{changed}");
            assert_eq!(keys.verify_payload(&token), Err(JoseError::Signature));
        }
        for changed in flipped(payload) {
            let token = format!("{header}.{changed}.{signature}");
            assert_eq!(keys.verify_payload(&token), Err(JoseError::Signature));
        }
        for changed in flipped(header) {
            let token = format!("{changed}.{payload}.{signature}");
            assert!(keys.verify_payload(&token).is_err(), "{changed}");
        }
    }
}

#[test]
fn a_token_whose_text_has_one_flipped_bit_is_refused() {
    for example in examples().accepted {
        let keys = example.keys();
        for bit in (0..example.token.len() * 8).filter(|bit| bit % 8 != 7) {
            let mut changed = example.token.clone().into_bytes();
            changed[bit / 8] ^= 1 << (bit % 8);
            let changed = String::from_utf8(changed).expect("ASCII");
            assert!(keys.verify_payload(&changed).is_err(), "{changed}");
        }
    }
}

#[test]
fn a_key_with_one_flipped_bit_verifies_nothing() {
    for example in examples().accepted {
        for field in ["n", "e", "x", "y"] {
            let Some(value) = example.key[field].as_str() else {
                continue;
            };
            for changed in flipped(value) {
                let keys = example.with_key(field, json!(changed));
                let refused = keys.verify_payload(&example.token);
                assert_eq!(refused, Err(JoseError::Signature), "{field}: {changed}");
            }
        }
    }
}

#[test]
fn a_signature_is_not_valid_for_another_algorithm() {
    for example in examples().accepted {
        let [own, payload, signature] = example.parts();
        let others = ["none", "HS256", "RS512", "ES256K"]
            .iter()
            .chain(&ALGORITHMS);
        for algorithm in others {
            let header = URL_SAFE_NO_PAD.encode(json!({"alg": algorithm}).to_string());
            if header == own {
                continue;
            }
            for signature in [signature, ""] {
                let token = format!("{header}.{payload}.{signature}");
                let refused = example.keys().verify_payload(&token);
                assert!(refused.is_err(), "{}: {algorithm}", example.source);
            }
        }
    }
}

#[test]
fn a_key_of_another_curve_or_type_is_not_used() {
    let examples = examples().accepted;
    let of_curve = |curve: &str| {
        let mut found = examples
            .iter()
            .filter(|example| example.key["crv"] == curve);
        found.next().expect("an example with this curve")
    };
    let (p256, ed25519) = (of_curve("P-256"), of_curve("Ed25519"));
    for (example, field, value) in [
        (p256, "crv", "P-384"),
        (p256, "crv", "secp256k1"),
        (p256, "crv", "Ed25519"),
        (p256, "kty", "OKP"),
        (ed25519, "crv", "X25519"),
        (ed25519, "crv", "Ed448"),
        (ed25519, "kty", "EC"),
    ] {
        let keys = example.with_key(field, json!(value));
        let refused = keys.verify_payload(&example.token);
        assert!(
            matches!(refused, Err(JoseError::UnknownKey { .. })),
            "{field} {value}: {refused:?}"
        );
    }
    // A point that is not on the curve.
    let off_curve = p256.with_key("y", p256.key["x"].clone());
    let refused = off_curve.verify_payload(&p256.token);
    assert_eq!(refused, Err(JoseError::Signature));
}

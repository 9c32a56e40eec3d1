//! Hostile and truncated answers. The browser tests check answers of Chromium's virtual
//! authenticator. `vectors` has the test vectors of the standard, `created` keys that the test
//! creates.

mod created;
mod vectors;

use proptest::prelude::*;
use ring::digest::{SHA256, digest};

use super::{AnswerError, AuthenticatorData, Ceremony, ClientData, Site, cose::PublicKey, encode};

fn site() -> Site {
    Site {
        origin: "https://svc.example".into(),
        rp_id: "svc.example".into(),
    }
}

fn client_data(kind: &str, origin: &str, cross_origin: bool) -> String {
    let json = serde_json::json!({
        "type": kind, "challenge": "AAAA", "origin": origin, "crossOrigin": cross_origin,
    });
    encode(json.to_string().as_bytes())
}

/// A key in the form of RFC 9052, appendix C.7.1, with the entries that an authenticator sends.
fn p256_key() -> Vec<u8> {
    let point = |head: &[u8]| [head, &[7; 32]].concat();
    [
        vec![0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01],
        point(&[0x21, 0x58, 0x20]),
        point(&[0x22, 0x58, 0x20]),
    ]
    .concat()
}

fn authenticator_data(rp_id: &str, flags: u8, id: &[u8], key: &[u8]) -> Vec<u8> {
    let length = u16::try_from(id.len()).expect("short");
    [
        digest(&SHA256, rp_id.as_bytes()).as_ref(),
        &[flags, 0, 0, 0, 5],
        &[0; 16],
        &length.to_be_bytes(),
        id,
        key,
    ]
    .concat()
}

#[test]
fn client_data_must_be_from_this_site_and_for_this_ceremony() {
    let read = |text: &str| ClientData::read(text, Ceremony::Login, &site()).map(|_| ());
    let own = "https://svc.example";
    assert_eq!(read(&client_data("webauthn.get", own, false)), Ok(()));
    let other_kind = client_data("webauthn.create", own, false);
    assert_eq!(read(&other_kind), Err(AnswerError::Purpose));
    for origin in [
        "https://evil.example",
        "https://svc.example.evil.example",
        "https://svc.example:8443",
        "http://svc.example",
        "https://svc.example/",
    ] {
        let refused = read(&client_data("webauthn.get", origin, false));
        assert!(
            matches!(refused, Err(AnswerError::Origin { .. })),
            "{origin}"
        );
    }
    let embedded = read(&client_data("webauthn.get", own, true));
    assert!(matches!(embedded, Err(AnswerError::Origin { .. })));
    for text in ["", "!", "e30", &"A".repeat(100_000)] {
        assert_eq!(read(text), Err(AnswerError::Malformed("client_data")));
    }
}

#[test]
fn authenticator_data_must_be_for_this_host_with_a_user_present() {
    let read = |bytes: Vec<u8>| AuthenticatorData::read(&encode(&bytes), &site());
    let (id, key) = ([9; 20], p256_key());
    let data = read(authenticator_data("svc.example", 0x41, &id, &key)).expect("valid");
    assert_eq!(
        data.check_user_verified(),
        Err(AnswerError::UserNotVerified)
    );
    let new = data.credential().expect("a key");
    assert_eq!((new.id.as_slice(), new.counter), (id.as_slice(), 5));
    assert_eq!(new.public_key, key);
    // Extensions follow the key.
    let with_extensions =
        authenticator_data("svc.example", 0xc5, &id, &[&key[..], &[0xa0]].concat());
    let data = read(with_extensions).expect("valid");
    assert_eq!(data.check_user_verified(), Ok(()));
    assert_eq!(data.credential().expect("a key").public_key, key);

    let elsewhere = read(authenticator_data("evil.example", 0x45, &id, &key)).err();
    assert_eq!(
        elsewhere,
        Some(AnswerError::RelyingParty("svc.example".into()))
    );
    let absent = read(authenticator_data("svc.example", 0x44, &id, &key)).err();
    assert_eq!(absent, Some(AnswerError::UserAbsent));
    let without_key = read(authenticator_data("svc.example", 0x05, &id, &key));
    assert!(without_key.expect("valid").credential().is_err());
    let whole = authenticator_data("svc.example", 0x45, &id, &key);
    for length in 0..whole.len() {
        let cut = read(whole[..length].to_vec());
        assert!(cut.and_then(|data| data.credential()).is_err(), "{length}");
    }
}

#[test]
fn keys_of_other_kinds_are_refused() {
    let key = p256_key();
    assert!(PublicKey::read(&key).is_some());
    // Another kind, another algorithm, another curve.
    for (at, value) in [(2, 0x01), (4, 0x27), (6, 0x02)] {
        let mut other = key.clone();
        other[at] = value;
        assert_eq!(PublicKey::read(&other), None, "{at}");
    }
    assert_eq!(PublicKey::read(&[0xbf, 0xff]), None, "no length");
    assert_eq!(PublicKey::read(&[0xba, 0xff, 0xff, 0xff, 0xff]), None);
    assert_eq!(
        PublicKey::read(&[0xa1, 0x20, 0x5a, 0xff, 0xff, 0xff, 0xff]),
        None
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = PublicKey::read(&bytes);
        if let Ok(data) = AuthenticatorData::read(&encode(&bytes), &site()) {
            let _ = data.credential();
        }
    }

    #[test]
    fn no_key_with_one_changed_byte_makes_the_reader_panic(at in 0usize..74, byte: u8) {
        let mut key = p256_key();
        key[at] = byte;
        if let Some((_, length)) = PublicKey::read(&key) {
            prop_assert!(length <= key.len());
        }
    }
}

//! Answers of passkeys. Any client can send one before a user is known.

use std::sync::OnceLock;

use data_encoding::HEXLOWER;
use serde_json::Value;
use svc_core::webauthn::{
    AnswerError, AuthenticatorData, Ceremony, ClientData, Site, encode, verify,
};

use super::{change, parts, text};

/// A login that was signed with the key.
#[derive(Clone)]
struct Login {
    client_data: Vec<u8>,
    authenticator_data: Vec<u8>,
    signature: Vec<u8>,
    /// In COSE.
    public_key: Vec<u8>,
}

fn site() -> Site {
    Site {
        origin: "https://example.org".to_owned(),
        rp_id: "example.org".to_owned(),
    }
}

/// The logins of the test vectors of the standard.
fn known() -> &'static [Login] {
    static KNOWN: OnceLock<Vec<Login>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let text = include_str!("../../../crates/core/src/webauthn/vectors.json");
        let vectors: Value = serde_json::from_str(text).expect("the vectors are JSON");
        let vectors = vectors["accepted"].as_array().expect("a list");
        vectors.iter().map(Login::of_vector).collect()
    })
}

impl Login {
    fn of_vector(vector: &Value) -> Self {
        let bytes = |part: &str, name: &str| {
            let text = vector[part][name].as_str().expect("a text");
            HEXLOWER.decode(text.as_bytes()).expect("hex")
        };
        let object = bytes("registration", "attestationObject");
        let login = Self {
            client_data: bytes("authentication", "clientDataJSON"),
            authenticator_data: bytes("authentication", "authenticatorData"),
            signature: bytes("authentication", "signature"),
            public_key: public_key(&object).expect("a key"),
        };
        assert_eq!(login.check(), Ok(()));
        login
    }

    fn check(&self) -> Result<(), AnswerError> {
        let client = ClientData::read(&encode(&self.client_data), Ceremony::Login, &site())?;
        let data = AuthenticatorData::read(&encode(&self.authenticator_data), &site())?;
        verify(&self.public_key, &data, &client, &encode(&self.signature))
    }
}

/// The key in an attestation object, whose last entry is the authenticator's data.
fn public_key(object: &[u8]) -> Option<Vec<u8>> {
    const NAME: &[u8] = b"\x68authData";
    let at = object.windows(NAME.len()).position(|part| part == NAME)?;
    let data = match &object[at + NAME.len()..] {
        [0x58, _, data @ ..] | [0x59, _, _, data @ ..] => data,
        _ => return None,
    };
    let data = AuthenticatorData::read(&encode(data), &site()).ok()?;
    data.credential().ok().map(|new| new.public_key)
}

/// The first byte says what the other bytes are.
pub fn answers(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else {
        return;
    };
    match kind % 4 {
        0 => registration(rest),
        1 => new_key(rest),
        2 => texts(rest),
        _ => changed_login(rest),
    }
}

/// The data of an authenticator.
fn registration(data: &[u8]) {
    let Ok(read) = AuthenticatorData::read(&encode(data), &site()) else {
        return;
    };
    let _ = read.check_user_verified();
    let Ok(new) = read.credential() else { return };
    assert!((1..=1023).contains(&new.id.len()), "the length of an id");
    let stored = [new.id, new.public_key].concat();
    let is_part = data[37 + 16 + 2..].starts_with(&stored);
    assert!(is_part, "a key that the authenticator did not send");
}

/// A key in COSE, in the data of an authenticator that is valid otherwise.
fn new_key(key: &[u8]) {
    let login = &known()[0];
    // The host, the flags and the counter.
    let mut data = login.authenticator_data.clone();
    // The flag that says that a new key follows.
    data[32] |= 0x40;
    // The model of the authenticator, and an id of one byte.
    data.extend([0; 16]);
    data.extend([0, 1, 9]);
    data.extend(key);
    // A field with a long key is refused.
    let read = AuthenticatorData::read(&encode(&data), &site());
    if let Ok(new) = read.and_then(|read| read.credential()) {
        assert!(key.starts_with(&new.public_key), "a key that was not sent");
    }
}

/// The texts of an answer: client data, authenticator's data, signature, in base64url.
fn texts(data: &[u8]) {
    let [client, data, signature] = parts(data).map(text);
    let (Some(client), Some(data), Some(signature)) = (client, data, signature) else {
        return;
    };
    let _ = ClientData::read(client, Ceremony::Registration, &site());
    let Ok(client) = ClientData::read(client, Ceremony::Login, &site()) else {
        return;
    };
    let Ok(data) = AuthenticatorData::read(data, &site()) else {
        return;
    };
    for login in known() {
        let verified = verify(&login.public_key, &data, &client, signature).is_ok();
        let own = ClientData::read(&encode(&login.client_data), Ceremony::Login, &site());
        let is_known = own.is_ok_and(|own| own.challenge == client.challenge);
        assert!(!verified || is_known, "a forged login");
    }
}

/// A signed login, one of its fields, and changes of this field.
fn changed_login(data: &[u8]) {
    let [chosen, field, changes @ ..] = data else {
        return;
    };
    let known = &known()[usize::from(*chosen) % known().len()];
    let mut login = known.clone();
    let (field, changes) = match field % 4 {
        0 => (&mut login.client_data, changes),
        1 => (&mut login.authenticator_data, changes),
        2 => (&mut login.signature, changes),
        // Only one change, because the entries of a key may have another order.
        _ => (&mut login.public_key, &changes[..changes.len().min(3)]),
    };
    let before = field.clone();
    change(field, changes);
    let is_same = *field == before;
    assert_eq!(login.check().is_ok(), is_same, "a changed login");
}

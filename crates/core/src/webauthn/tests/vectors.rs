//! The test vectors of the standard (W3C Web Authentication, level 3, section "Test Vectors"), with
//! the names and values that the standard gives them. `vectors.json` holds them unchanged.

use data_encoding::HEXLOWER;
use serde::Deserialize;

use super::super::{NewCredential, verify};
use super::*;

#[derive(Deserialize)]
struct Vectors {
    accepted: Vec<Vector>,
    /// Embedded pages, and keys of other algorithms.
    refused: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    /// The anchor in the standard.
    section: String,
    registration: Registration,
    authentication: Authentication,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Registration {
    challenge: Hex,
    #[serde(rename = "credential_id")]
    credential_id: Hex,
    #[serde(rename = "clientDataJSON")]
    client_data: Hex,
    attestation_object: Hex,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Authentication {
    challenge: Hex,
    authenticator_data: Hex,
    #[serde(rename = "clientDataJSON")]
    client_data: Hex,
    signature: Hex,
}

#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
struct Hex(Vec<u8>);

impl TryFrom<String> for Hex {
    type Error = data_encoding::DecodeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        HEXLOWER.decode(text.as_bytes()).map(Self)
    }
}

impl Registration {
    /// The authenticator's data, which is the last entry of the attestation object. Browsers return
    /// this part by itself.
    fn authenticator_data(&self) -> &[u8] {
        const NAME: &[u8] = b"\x68authData";
        let object = &self.attestation_object.0;
        let mut at = object.windows(NAME.len());
        let at = at.position(|part| part == NAME).expect("an entry");
        match &object[at + NAME.len()..] {
            [0x58, _, data @ ..] | [0x59, _, _, data @ ..] => data,
            _ => panic!("the entry holds no bytes"),
        }
    }

    fn register(&self) -> Result<NewCredential, AnswerError> {
        let text = encode(&self.client_data.0);
        let client = ClientData::read(&text, Ceremony::Registration, &example_site())?;
        assert_eq!(client.challenge, self.challenge.0);
        AuthenticatorData::read(&encode(self.authenticator_data()), &example_site())?.credential()
    }
}

impl Authentication {
    fn log_in(&self, public_key: &[u8]) -> Result<(), AnswerError> {
        let text = encode(&self.client_data.0);
        let client = ClientData::read(&text, Ceremony::Login, &example_site())?;
        let data = AuthenticatorData::read(&encode(&self.authenticator_data.0), &example_site())?;
        verify(public_key, &data, &client, &encode(&self.signature.0))?;
        assert_eq!(client.challenge, self.challenge.0);
        Ok(())
    }
}

fn example_site() -> Site {
    Site {
        origin: "https://example.org".into(),
        rp_id: "example.org".into(),
    }
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../vectors.json")).expect("the vectors are JSON")
}

/// The bytes once for each bit, with this bit flipped.
fn flipped(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes.len() * 8).map(|bit| {
        let mut changed = bytes.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        changed
    })
}

#[test]
fn the_vectors_of_the_standard_are_verified() {
    for vector in vectors().accepted {
        let new = vector.registration.register().expect(&vector.section);
        assert_eq!(new.id, vector.registration.credential_id.0);
        let verified = vector.authentication.log_in(&new.public_key);
        assert_eq!(verified, Ok(()), "{}", vector.section);
    }
}

#[test]
fn the_vectors_have_every_accepted_algorithm() {
    let mut found: Vec<i64> = vectors()
        .accepted
        .iter()
        .map(|vector| vector.registration.register().expect("a key").public_key)
        .map(|key| match PublicKey::read(&key).expect("a key").0 {
            PublicKey::P256(_) => -7,
            PublicKey::Ed25519(_) => -8,
            PublicKey::Rsa { .. } => -257,
        })
        .collect();
    found.dedup();
    found.sort_unstable_by_key(|algorithm| -algorithm);
    assert_eq!(found, crate::webauthn::ALGORITHMS);
}

#[test]
fn embedded_pages_and_other_algorithms_are_refused() {
    for Vector {
        section,
        registration,
        ..
    } in vectors().refused
    {
        let refused = registration.register();
        let expected = match section.ends_with("Origin") {
            true => matches!(refused, Err(AnswerError::Origin { .. })),
            false => refused == Err(AnswerError::Key),
        };
        assert!(expected, "{section}: {refused:?}");
    }
}

#[test]
fn an_answer_with_one_flipped_bit_is_refused() {
    for Vector {
        section,
        registration,
        authentication,
    } in vectors().accepted
    {
        let key = registration.register().expect(&section).public_key;
        let log_in = |change: &dyn Fn(&mut Authentication)| {
            let mut changed = authentication.clone();
            change(&mut changed);
            changed.log_in(&key)
        };
        for changed in flipped(&authentication.signature.0) {
            let refused = log_in(&|answer| answer.signature.0.clone_from(&changed));
            assert_eq!(refused, Err(AnswerError::Signature), "{section}");
        }
        // A flipped bit may also change the origin, the host or the presence of the user.
        for changed in flipped(&authentication.authenticator_data.0) {
            let refused = log_in(&|answer| answer.authenticator_data.0.clone_from(&changed));
            assert!(refused.is_err(), "{section}: {changed:?}");
        }
        for changed in flipped(&authentication.client_data.0) {
            let refused = log_in(&|answer| answer.client_data.0.clone_from(&changed));
            assert!(refused.is_err(), "{section}: {changed:?}");
        }
    }
}

#[test]
fn a_key_with_one_flipped_bit_verifies_nothing() {
    for vector in vectors().accepted {
        let key = vector.registration.register().expect(&vector.section);
        for changed in flipped(&key.public_key) {
            let refused = vector.authentication.log_in(&changed);
            assert!(
                matches!(refused, Err(AnswerError::Key | AnswerError::Signature)),
                "{}: {refused:?}",
                vector.section
            );
        }
    }
}

#[test]
fn a_key_verifies_no_answer_of_another_key() {
    let vectors = vectors().accepted;
    for own in &vectors {
        let key = own.registration.register().expect(&own.section).public_key;
        for other in vectors.iter().filter(|other| other.section != own.section) {
            let refused = other.authentication.log_in(&key);
            assert_eq!(refused, Err(AnswerError::Signature), "{}", other.section);
        }
    }
}

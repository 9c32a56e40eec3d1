//! Secrets of Standard Webhooks: `whsec_` and the base64 of the signing key, with or without padding.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use thiserror::Error;

const PREFIX: &str = "whsec_";
/// The length of a key that Standard Webhooks allows, in bytes.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// Some senders use shorter keys than Standard Webhooks allows.
const SENDER_KEY_BYTES_MIN: usize = 16;

/// Base64 with or without padding: secrets and signatures are written in both ways.
pub const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a webhook secret is `{PREFIX}` and the base64 of {} to {} bytes; leave it out to get a new one",
    KEY_BYTES.start(),
    KEY_BYTES.end()
)]
pub struct InvalidWebhookSecret;

/// The secret with this key.
pub fn encode(key: &[u8]) -> String {
    format!("{PREFIX}{}", BASE64.encode(key))
}

/// The key in the secret of a sink.
pub fn decode(secret: &str) -> Result<Vec<u8>, InvalidWebhookSecret> {
    secret
        .strip_prefix(PREFIX)
        .and_then(|encoded| BASE64.decode(encoded).ok())
        .filter(|key| KEY_BYTES.contains(&key.len()))
        .ok_or(InvalidWebhookSecret)
}

/// The key in the secret of a sender, which may leave the prefix out.
pub fn decode_of_sender(secret: &str) -> Option<Vec<u8>> {
    let encoded = secret.strip_prefix(PREFIX).unwrap_or(secret);
    let key = BASE64.decode(encoded).ok()?;
    (key.len() >= SENDER_KEY_BYTES_MIN).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhook_secrets_are_whsec_and_base64() {
        assert_eq!(decode(&encode(&[7; 32])), Ok(vec![7; 32]));
        let unpadded = encode(&[7; 25]).trim_end_matches('=').to_owned();
        assert_eq!(decode(&unpadded), Ok(vec![7; 25]));
        for bad in ["", "whsec_", "whsec_c2hvcnQ=", "secret", "whsec_%%%"] {
            assert_eq!(decode(bad), Err(InvalidWebhookSecret), "{bad}");
        }
    }
}

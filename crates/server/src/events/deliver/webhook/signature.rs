//! Signatures of a request: `X-Service-Signature`, and `webhook-signature` of Standard Webhooks.

use base64::{Engine, engine::general_purpose::STANDARD};
use data_encoding::HEXLOWER;
use svc_crypto::{HmacHash, HmacKey, HmacTag};

/// `sha256=<hex>`: signs the body with one secret.
pub(super) fn sign_body(secret: &[u8], body: &str) -> String {
    format!("sha256={}", HEXLOWER.encode(sign(secret, &[body]).as_ref()))
}

/// `v1,<base64> v1,<base64>`: signs id, time and body with every valid secret.
pub(super) fn sign_standard(secrets: &[Vec<u8>], id: &str, timestamp: &str, body: &str) -> String {
    let signatures: Vec<_> = secrets
        .iter()
        .map(|secret| {
            let signature = sign(secret, &[id, ".", timestamp, ".", body]);
            format!("v1,{}", STANDARD.encode(signature))
        })
        .collect();
    signatures.join(" ")
}

fn sign(secret: &[u8], parts: &[&str]) -> HmacTag {
    let parts: Vec<_> = parts.iter().map(|part| part.as_bytes()).collect();
    HmacKey::new(HmacHash::Sha256, secret).sign_parts(&parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification.
    #[test]
    fn the_published_example_has_the_published_signature() {
        let secret = STANDARD
            .decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
            .expect("base64");
        let signature = sign_standard(
            &[secret],
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}

//! Requests of other services. The sender is unknown until the signature is verified.

use svc_core::{
    Id, Timestamp,
    source::{
        request::{EventRule, read},
        settings::{TypeRule, Verification, VerifyType},
        verify::{Headers, sign, verify},
    },
};

use super::parts;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// The secret as a client sends it with `Authorization: Basic`.
const SECRET_BASE64: &str = "d2hzZWNfTWZLUTlyOEdLWXFyVHdqVVBEOElMUFpJbzJMYUxhU3c=";
const NOW: Timestamp = Timestamp(1_700_000_000_000);

const TYPES: &[VerifyType] = &[
    VerifyType::Github,
    VerifyType::Gitlab,
    VerifyType::Stripe,
    VerifyType::Slack,
    VerifyType::Shopify,
    VerifyType::Standard,
    VerifyType::Hmac,
    VerifyType::Basic,
    VerifyType::None,
];

struct HeaderList(Vec<(String, String)>);

impl Headers for HeaderList {
    fn find(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }
}

/// The first byte chooses the type of verification. Headers follow, as lines `name: value`, then a
/// zero byte and the body.
pub fn request(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else {
        return;
    };
    let kind = TYPES[usize::from(*kind) % TYPES.len()];
    let [head, body] = parts(rest);
    let mut headers = HeaderList(
        String::from_utf8_lossy(head)
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect(),
    );
    let mut verification = Verification::of(kind);
    if kind == VerifyType::Hmac {
        verification.header = Some("x-signature".to_owned());
    }
    let verified = verify(&verification, &[SECRET], &headers, body, NOW);
    let is_open = kind == VerifyType::None;
    let has = |secret: &str| {
        data.windows(secret.len())
            .any(|part| part == secret.as_bytes())
    };
    let knows_secret = has(SECRET) || has(SECRET_BASE64);
    assert!(
        verified.is_err() || is_open || knows_secret,
        "a forged request"
    );
    // A request that is signed with the secret must be accepted.
    let signed = sign(&verification, SECRET, "delivery-1", body, NOW);
    headers
        .0
        .retain(|(name, _)| signed.iter().all(|(other, _)| other != name));
    headers.0.extend(signed);
    let verified = verify(&verification, &[SECRET], &headers, body, NOW);
    let verified = verified.expect("a signed request is verified");
    let rule = EventRule {
        id: Id::NIL,
        name: "source",
        verify: &verification,
        event_type: &TypeRule::default(),
        headers: &[],
    };
    let _ = read(&rule, &verified, &headers, body, NOW);
}

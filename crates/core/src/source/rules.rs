//! The table of the providers: which header holds the signature, what is signed, and where a
//! provider writes the type and the id of a delivery.

use super::settings::{HmacAlgorithm, SignatureEncoding, Verification, VerifyType};

/// How a signature is written and what it covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SignatureRule<'a> {
    pub(super) header: &'a str,
    /// Separates the parts of the header.
    pub(super) separator: Option<char>,
    /// The text before each signature.
    pub(super) prefix: &'a str,
    pub(super) encoding: SignatureEncoding,
    pub(super) algorithm: HmacAlgorithm,
    /// The signed text. It ends with `{body}`; `{timestamp}` and `{id}` may come before.
    pub(super) signed: &'a str,
    pub(super) timestamp: Option<TimestampPlace<'a>>,
    pub(super) id_header: Option<&'a str>,
    pub(super) key: KeyForm,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimestampPlace<'a> {
    Header(&'a str),
    /// A part of the signature's header, with this prefix.
    Signature(&'a str),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KeyForm {
    /// The bytes of the secret.
    Text,
    /// Base64, with or without `whsec_` before it.
    Webhook,
}

/// How the requests of a source are verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scheme<'a> {
    Signature(SignatureRule<'a>),
    /// The secret in a header of its own.
    Token {
        header: &'a str,
    },
    Basic,
    None,
}

/// A signature in hex over the body alone. Each row of the table changes the fields that differ.
const BODY_IN_HEX: SignatureRule<'static> = SignatureRule {
    header: "",
    separator: None,
    prefix: "",
    encoding: SignatureEncoding::Hex,
    algorithm: HmacAlgorithm::Sha256,
    signed: "{body}",
    timestamp: None,
    id_header: None,
    key: KeyForm::Text,
};

pub(super) fn scheme(verification: &Verification) -> Scheme<'_> {
    Scheme::Signature(match verification.r#type {
        VerifyType::Github => SignatureRule {
            header: "x-hub-signature-256",
            prefix: "sha256=",
            ..BODY_IN_HEX
        },
        VerifyType::Shopify => SignatureRule {
            header: "x-shopify-hmac-sha256",
            encoding: SignatureEncoding::Base64,
            ..BODY_IN_HEX
        },
        VerifyType::Stripe => SignatureRule {
            header: "stripe-signature",
            separator: Some(','),
            prefix: "v1=",
            signed: "{timestamp}.{body}",
            timestamp: Some(TimestampPlace::Signature("t=")),
            ..BODY_IN_HEX
        },
        VerifyType::Slack => SignatureRule {
            header: "x-slack-signature",
            prefix: "v0=",
            signed: "v0:{timestamp}:{body}",
            timestamp: Some(TimestampPlace::Header("x-slack-request-timestamp")),
            ..BODY_IN_HEX
        },
        VerifyType::Standard => SignatureRule {
            header: "webhook-signature",
            separator: Some(' '),
            prefix: "v1,",
            encoding: SignatureEncoding::Base64,
            signed: "{id}.{timestamp}.{body}",
            timestamp: Some(TimestampPlace::Header("webhook-timestamp")),
            id_header: Some("webhook-id"),
            key: KeyForm::Webhook,
            ..BODY_IN_HEX
        },
        VerifyType::Hmac => SignatureRule {
            header: verification.header.as_deref().unwrap_or_default(),
            prefix: verification.prefix.as_deref().unwrap_or_default(),
            encoding: verification.encoding.unwrap_or(SignatureEncoding::Hex),
            algorithm: verification.algorithm.unwrap_or(HmacAlgorithm::Sha256),
            signed: verification.signed_text(),
            timestamp: verification
                .timestamp_header
                .as_deref()
                .map(TimestampPlace::Header),
            id_header: verification.id_header.as_deref(),
            ..BODY_IN_HEX
        },
        VerifyType::Gitlab => {
            return Scheme::Token {
                header: "x-gitlab-token",
            };
        }
        VerifyType::Basic => return Scheme::Basic,
        VerifyType::None => return Scheme::None,
    })
}

/// The header whose value proves who sent a request: a signature, or the secret itself. Its value is
/// never a part of an event. Otherwise, a test of a source would show the signature of any body.
pub(super) fn proof_header(verification: &Verification) -> Option<&str> {
    match scheme(verification) {
        Scheme::Signature(rule) => Some(rule.header),
        Scheme::Token { header } => Some(header),
        Scheme::Basic => Some("authorization"),
        Scheme::None => None,
    }
}

/// Where a provider writes the type and the id of a delivery, and which headers are useful.
pub(super) struct ProviderPlaces {
    pub(super) type_header: Option<&'static str>,
    /// Paths of the body, in the order in which they are tried.
    pub(super) type_paths: &'static [&'static str],
    /// Path of an id in the body, which the signature covers.
    pub(super) id_path: Option<&'static str>,
    /// A header with an id. Only for senders that sign nothing: their id is as trustworthy as their
    /// body.
    pub(super) id_header: Option<&'static str>,
    /// Copied into `_source`.
    pub(super) headers: &'static [&'static str],
}

pub(super) fn places(kind: VerifyType) -> ProviderPlaces {
    let none = ProviderPlaces {
        type_header: None,
        type_paths: &[],
        id_path: None,
        id_header: None,
        headers: &[],
    };
    match kind {
        VerifyType::Github => ProviderPlaces {
            type_header: Some("x-github-event"),
            headers: &["x-github-event", "x-github-delivery", "x-github-hook-id"],
            ..none
        },
        VerifyType::Gitlab => ProviderPlaces {
            type_header: Some("x-gitlab-event"),
            id_header: Some("idempotency-key"),
            headers: &["x-gitlab-event", "x-gitlab-event-uuid", "x-gitlab-instance"],
            ..none
        },
        VerifyType::Stripe => ProviderPlaces {
            type_paths: &["type"],
            id_path: Some("id"),
            ..none
        },
        VerifyType::Slack => ProviderPlaces {
            type_paths: &["event.type", "payload.type", "type", "command"],
            id_path: Some("event_id"),
            headers: &["x-slack-retry-num", "x-slack-retry-reason"],
            ..none
        },
        VerifyType::Shopify => ProviderPlaces {
            type_header: Some("x-shopify-topic"),
            headers: &[
                "x-shopify-topic",
                "x-shopify-shop-domain",
                "x-shopify-webhook-id",
                "x-shopify-api-version",
            ],
            ..none
        },
        VerifyType::Standard => ProviderPlaces {
            type_paths: &["type"],
            headers: &["webhook-id", "webhook-timestamp"],
            ..none
        },
        VerifyType::Hmac => ProviderPlaces {
            type_paths: &["type"],
            ..none
        },
        VerifyType::Basic | VerifyType::None => ProviderPlaces {
            type_paths: &["type"],
            id_header: Some("idempotency-key"),
            ..none
        },
    }
}

//! The settings of a source: how requests are verified, and where the type of the event comes from.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::rules::proof_header;
use crate::{text_enum::text_enum, webhook_secret};

/// The default of `tolerance_seconds`: how far the signed time may be from the server's clock.
pub const TOLERANCE_SECONDS: u32 = 300;
/// The largest tolerance. With a longer tolerance, the signed time would be useless.
pub const TOLERANCE_SECONDS_MAX: u32 = 3_600;
/// The maximum number of headers that the setting `headers` copies into the member `_source` of an
/// event.
pub const HEADERS_MAX: usize = 20;
/// The number of bytes of a secret.
pub const SECRET_BYTES: std::ops::RangeInclusive<usize> = 8..=512;
/// The maximum number of bytes of a header's name, of a prefix, of a signed text, of a path and of
/// a fixed event type.
const TEXT_MAX: usize = 100;

/// Headers that carry credentials. They are never copied into an event.
const SECRET_HEADERS: [&str; 5] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-gitlab-token",
    "x-api-key",
];

text_enum! {
    /// How requests are verified: as a certain sender signs them, or in a general way.
    VerifyType {
        /// `X-Hub-Signature-256`
        Github = "github",
        /// The secret itself in `X-Gitlab-Token`
        Gitlab = "gitlab",
        /// `Stripe-Signature`, with a time
        Stripe = "stripe",
        /// `X-Slack-Signature`, with a time
        Slack = "slack",
        /// `X-Shopify-Hmac-SHA256`
        Shopify = "shopify",
        /// `webhook-signature` of Standard Webhooks, with a time and an id
        Standard = "standard",
        /// An HMAC that the other settings describe
        Hmac = "hmac",
        /// User name and password in `Authorization`
        Basic = "basic",
        /// No verification: anyone who knows the URL can send events
        None = "none",
    }
}

text_enum! {
    HmacAlgorithm { Sha1 = "sha1", Sha256 = "sha256", Sha512 = "sha512" }
}

text_enum! {
    /// Whether a request with the same body as an earlier one is the same delivery. Only for senders
    /// that sign the body alone: a signed time or id distinguishes deliveries.
    #[derive(Default)]
    Deduplicate {
        /// Yes, for 24 hours. A copy of a request has no effect.
        #[default]
        Body = "body",
        /// No: each request is an event. Anyone who has seen a request can send a copy of it.
        None = "none",
    }
}

text_enum! {
    SignatureEncoding { Hex = "hex", Base64 = "base64" }
}

/// How a source verifies its requests. All members except `type`, `secret`, `tolerance_seconds` and
/// `deduplicate` are for the type `hmac`. `Debug` leaves out the secret, so that the secret is never logged.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    pub r#type: VerifyType,
    /// Present only in a request that sets the secret, and in the answer to a request that sets or
    /// generates it. Not stored in this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// How far the signed time may be from the server's clock; 300 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = TOLERANCE_SECONDS_MAX))]
    pub tolerance_seconds: Option<u32>,
    /// The header of the signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// `sha256` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<HmacAlgorithm>,
    /// `hex` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<SignatureEncoding>,
    /// Text before the signature in its header, such as `sha256=`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The signed text; `{body}` if absent. It ends with `{body}`, which occurs once. It contains
    /// `{timestamp}` once if `timestamp_header` is set, and `{id}` once if `id_header` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<String>,
    /// The header of `{timestamp}`: seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp_header: Option<String>,
    /// The header of `{id}`, the sender's id of the delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_header: Option<String>,
    /// `body` if absent. Only for senders that sign the body alone: `github`, `gitlab`, `shopify`, and
    /// `hmac` without `timestamp_header` and `id_header`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deduplicate: Option<Deduplicate>,
}

/// Where the last part of an event's type comes from. At most one member may be set. If none is
/// set, the type is read from where the provider writes it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TypeRule {
    /// The value of this header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The text at this path of the body, such as `event.type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Always this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    #[error("`verify.{0}` is only for the type `hmac`; leave it out")]
    OnlyHmac(&'static str),
    #[error("the type `hmac` needs `verify.header`, the header of the signature")]
    NoHeader,
    #[error(
        "`{member}` is `{value}`, which is not the name of a header of at most {TEXT_MAX} bytes"
    )]
    Header { member: &'static str, value: String },
    #[error(
        "`verify.signed` is `{0}`; it must end with `{{body}}`, contain it once, and contain `{{timestamp}}` or `{{id}}` exactly if their headers are set"
    )]
    Signed(String),
    #[error("`verify.tolerance_seconds` is {0}; it must be between 1 and {TOLERANCE_SECONDS_MAX}")]
    Tolerance(u32),
    #[error(
        "`verify.deduplicate` is only for senders that sign the body alone (github, gitlab, shopify, and hmac without a time and an id), and this source has the type `{0}`; leave it out"
    )]
    Deduplicate(VerifyType),
    #[error("`{0}` is longer than {TEXT_MAX} bytes, or has control characters")]
    Text(&'static str),
    #[error("`event_type` has more than one of `header`, `body` and `fixed`; choose one")]
    TypeRule,
    #[error("{0} headers are selected; at most {HEADERS_MAX} are allowed")]
    TooManyHeaders(usize),
    #[error("the header `{0}` may contain a credential and cannot be a part of events")]
    SecretHeader(String),
    #[error(
        "the header `{0}` proves who sent a request and cannot be a part of events; leave it out of `headers` and `event_type.header`"
    )]
    ProofHeader(String),
    #[error("a secret must have {} to {} bytes and no control characters; leave it out to get a new one", SECRET_BYTES.start(), SECRET_BYTES.end())]
    Secret,
    #[error("the secret of `standard` is `whsec_` and the base64 of at least 16 bytes")]
    WebhookSecret,
    #[error("the secret of `basic` is the user name, a colon and the password")]
    BasicSecret,
    #[error("a source of the type `none` has no secret; leave it out")]
    NoSecret,
}

impl fmt::Debug for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verification({})", self.r#type)
    }
}

impl Verification {
    /// The settings of a type without further members.
    pub fn of(r#type: VerifyType) -> Self {
        Self {
            r#type,
            secret: None,
            tolerance_seconds: None,
            header: None,
            algorithm: None,
            encoding: None,
            prefix: None,
            signed: None,
            timestamp_header: None,
            id_header: None,
            deduplicate: None,
        }
    }

    /// Whether a signature covers the body and nothing else, so that equal bodies cannot be
    /// distinguished. (GitLab sends its secret and signs nothing.)
    fn signs_only_body(&self) -> bool {
        match self.r#type {
            VerifyType::Github | VerifyType::Gitlab | VerifyType::Shopify => true,
            VerifyType::Hmac => self.timestamp_header.is_none() && self.id_header.is_none(),
            VerifyType::Stripe | VerifyType::Slack | VerifyType::Standard => false,
            // Without an id, each request is a delivery of its own.
            VerifyType::Basic | VerifyType::None => false,
        }
    }

    pub fn check(&self) -> Result<(), SettingsError> {
        if let Some(seconds) = self.tolerance_seconds
            && !(1..=TOLERANCE_SECONDS_MAX).contains(&seconds)
        {
            return Err(SettingsError::Tolerance(seconds));
        }
        if self.deduplicate.is_some() && !self.signs_only_body() {
            return Err(SettingsError::Deduplicate(self.r#type));
        }
        if self.r#type != VerifyType::Hmac {
            let given = [
                ("header", self.header.is_some()),
                ("algorithm", self.algorithm.is_some()),
                ("encoding", self.encoding.is_some()),
                ("prefix", self.prefix.is_some()),
                ("signed", self.signed.is_some()),
                ("timestamp_header", self.timestamp_header.is_some()),
                ("id_header", self.id_header.is_some()),
            ];
            let extra = given.into_iter().find(|(_, is_given)| *is_given);
            return extra.map_or(Ok(()), |(name, _)| Err(SettingsError::OnlyHmac(name)));
        }
        let header = self.header.as_deref().ok_or(SettingsError::NoHeader)?;
        check_header("verify.header", header)?;
        for (member, header) in [
            ("verify.timestamp_header", &self.timestamp_header),
            ("verify.id_header", &self.id_header),
        ] {
            header
                .as_deref()
                .map_or(Ok(()), |name| check_header(member, name))?;
        }
        check_text("verify.prefix", self.prefix.as_deref())?;
        check_text("verify.signed", self.signed.as_deref())?;
        self.check_signed()
    }

    /// The headers of the time and of the id must be signed. Otherwise anyone could change them.
    fn check_signed(&self) -> Result<(), SettingsError> {
        let signed = self.signed_text();
        let count = |part| signed.matches(part).count();
        let is_right = signed.ends_with("{body}")
            && count("{body}") == 1
            && count("{timestamp}") == usize::from(self.timestamp_header.is_some())
            && count("{id}") == usize::from(self.id_header.is_some());
        match is_right {
            true => Ok(()),
            false => Err(SettingsError::Signed(signed.to_owned())),
        }
    }

    pub(super) fn signed_text(&self) -> &str {
        self.signed.as_deref().unwrap_or("{body}")
    }

    /// Checks a secret that the user gave.
    pub fn check_secret(&self, secret: &str) -> Result<(), SettingsError> {
        if self.r#type == VerifyType::None {
            return Err(SettingsError::NoSecret);
        }
        if !SECRET_BYTES.contains(&secret.len()) || secret.chars().any(char::is_control) {
            return Err(SettingsError::Secret);
        }
        match self.r#type {
            VerifyType::Standard if webhook_secret::decode_of_sender(secret).is_none() => {
                Err(SettingsError::WebhookSecret)
            }
            VerifyType::Basic if !secret.contains(':') => Err(SettingsError::BasicSecret),
            _ => Ok(()),
        }
    }
}

impl TypeRule {
    pub fn check(&self) -> Result<(), SettingsError> {
        let given = [&self.header, &self.body, &self.fixed];
        if given.into_iter().flatten().count() > 1 {
            return Err(SettingsError::TypeRule);
        }
        if let Some(header) = &self.header {
            check_header("event_type.header", header)?;
            check_public(header)?;
        }
        check_text("event_type.body", self.body.as_deref())?;
        check_text("event_type.fixed", self.fixed.as_deref())
    }
}

/// Checks the names in the setting `headers`.
pub fn check_headers(names: &[String]) -> Result<(), SettingsError> {
    if names.len() > HEADERS_MAX {
        return Err(SettingsError::TooManyHeaders(names.len()));
    }
    for name in names {
        check_header("headers", name)?;
        check_public(name)?;
    }
    Ok(())
}

/// Checks that the header of the signature or of the credential becomes no part of events.
pub fn check_proof_header(
    verification: &Verification,
    event_type: &TypeRule,
    headers: &[String],
) -> Result<(), SettingsError> {
    let proof = proof_header(verification).unwrap_or_default();
    let mut names = headers.iter().chain(&event_type.header);
    match names.find(|name| name.eq_ignore_ascii_case(proof)) {
        Some(name) => Err(SettingsError::ProofHeader(name.clone())),
        None => Ok(()),
    }
}

fn check_public(header: &str) -> Result<(), SettingsError> {
    let lower = header.to_ascii_lowercase();
    match SECRET_HEADERS.contains(&lower.as_str()) {
        true => Err(SettingsError::SecretHeader(header.to_owned())),
        false => Ok(()),
    }
}

fn check_header(member: &'static str, name: &str) -> Result<(), SettingsError> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if (1..=TEXT_MAX).contains(&name.len()) && name.bytes().all(is_token) {
        return Ok(());
    }
    let value = name.chars().filter(|c| !c.is_control());
    Err(SettingsError::Header {
        member,
        value: value.take(TEXT_MAX).collect(),
    })
}

fn check_text(member: &'static str, text: Option<&str>) -> Result<(), SettingsError> {
    let is_right = |text: &str| text.len() <= TEXT_MAX && !text.chars().any(char::is_control);
    match text.is_none_or(is_right) {
        true => Ok(()),
        false => Err(SettingsError::Text(member)),
    }
}

#[cfg(test)]
mod tests;

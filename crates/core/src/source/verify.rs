//! Verifies a request with the secrets of its source. Secrets and signatures are compared in
//! constant time.

use base64::Engine;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use svc_crypto::{HmacHash, HmacKey, is_equal, sha256};
use thiserror::Error;

use super::{
    rules::{KeyForm, Scheme, SignatureRule, TimestampPlace, scheme},
    settings::{HmacAlgorithm, SignatureEncoding, TOLERANCE_SECONDS, Verification},
};
use crate::{
    timestamp::Timestamp,
    webhook_secret::{self, BASE64},
};

/// The maximum number of signatures of one request that are compared. Some senders send two
/// signatures while a secret is rotated.
const SIGNATURES_MAX: usize = 8;
/// The maximum length of a delivery id, in bytes.
const ID_MAX: usize = 256;

/// The headers of a request, by lower-case names.
pub trait Headers {
    fn find(&self, name: &str) -> Option<&str>;
}

/// Why a request is rejected. The owner of the source sees the text; the sender does not.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Rejection {
    #[error("the header `{0}` is missing; is the sender the provider that the source expects?")]
    MissingHeader(String),
    #[error("the header `{0}` has no signature in the expected form")]
    Malformed(String),
    #[error("the signature does not match; compare the secret of the source with the sender's")]
    WrongSignature,
    #[error("the credential in `{0}` does not match the secret of the source")]
    WrongCredential(String),
    #[error("the signed time `{0}` is not a number of seconds")]
    Timestamp(String),
    #[error(
        "the request was signed {seconds} seconds ago, and {tolerance} are allowed; it is old or a replay, or a clock is wrong"
    )]
    Stale { seconds: u64, tolerance: u32 },
    #[error(
        "the request was signed {seconds} seconds in the future, and {tolerance} are allowed; compare the clocks"
    )]
    Future { seconds: u64, tolerance: u32 },
    #[error("the signed id has more than {ID_MAX} bytes")]
    LongId,
    #[error("the source has no usable secret; rotate it")]
    NoSecret,
}

/// A request that was verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    /// The sender's id of the delivery, if the signature covers it.
    pub signed_id: Option<String>,
    /// The signed text before the body: it contains the signed time and id. Empty if only the body
    /// is signed, or nothing.
    pub signed_head: String,
}

/// Verifies a request. The sender may use any of `secrets`: during a rotation a source has two.
pub fn verify(
    verification: &Verification,
    secrets: &[&str],
    headers: &impl Headers,
    body: &[u8],
    now: Timestamp,
) -> Result<Verified, Rejection> {
    let unsigned = Verified {
        signed_id: None,
        signed_head: String::new(),
    };
    match scheme(verification) {
        Scheme::None => Ok(unsigned),
        Scheme::Token { header } => {
            let presented = require(headers, header)?;
            let is_right = matches_any(secrets, presented.as_bytes());
            is_right.then_some(unsigned).ok_or_else(|| wrong(header))
        }
        Scheme::Basic => {
            let header = "authorization";
            let presented = require(headers, header)?;
            let encoded = presented
                .split_at_checked("basic ".len())
                .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic "))
                .map(|(_, encoded)| encoded.trim());
            let decoded = encoded.and_then(|encoded| BASE64.decode(encoded).ok());
            let decoded = decoded.ok_or_else(|| Rejection::Malformed(header.to_owned()))?;
            let is_right = matches_any(secrets, &decoded);
            is_right.then_some(unsigned).ok_or_else(|| wrong(header))
        }
        Scheme::Signature(rule) => {
            let tolerance = verification.tolerance_seconds.unwrap_or(TOLERANCE_SECONDS);
            verify_signature(&rule, tolerance, secrets, headers, body, now)
        }
    }
}

fn require<'h>(headers: &'h impl Headers, name: &str) -> Result<&'h str, Rejection> {
    let missing = || Rejection::MissingHeader(name.to_owned());
    headers.find(&name.to_ascii_lowercase()).ok_or_else(missing)
}

fn wrong(header: &str) -> Rejection {
    Rejection::WrongCredential(header.to_owned())
}

/// The signature is checked before the time, so that an error about the sender's clock is reported
/// only for requests of the real sender.
fn verify_signature(
    rule: &SignatureRule<'_>,
    tolerance: u32,
    secrets: &[&str],
    headers: &impl Headers,
    body: &[u8],
    now: Timestamp,
) -> Result<Verified, Rejection> {
    let written = require(headers, rule.header)?;
    let parts: Vec<&str> = match rule.separator {
        Some(separator) => written.split(separator).map(str::trim).collect(),
        None => vec![written.trim()],
    };
    let signatures: Vec<Vec<u8>> = parts
        .iter()
        .filter_map(|part| part.strip_prefix(rule.prefix))
        .filter_map(|signature| decode(signature, rule.encoding))
        .take(SIGNATURES_MAX)
        .collect();
    let malformed = || Rejection::Malformed(rule.header.to_owned());
    if signatures.is_empty() {
        return Err(malformed());
    }
    let timestamp = match rule.timestamp {
        None => None,
        Some(TimestampPlace::Header(name)) => Some(require(headers, name)?),
        Some(TimestampPlace::Signature(prefix)) => {
            let part = parts.iter().find_map(|part| part.strip_prefix(prefix));
            Some(part.ok_or_else(malformed)?)
        }
    };
    let id = rule
        .id_header
        .map(|name| require(headers, name))
        .transpose()?;
    let head = signed_head(rule, timestamp, id);
    let keys: Vec<_> = secrets
        .iter()
        .filter_map(|secret| key_of(rule, secret))
        .collect();
    if keys.is_empty() {
        return Err(Rejection::NoSecret);
    }
    let is_signed_by = |key: &HmacKey| {
        let tag = key.sign_parts(&[head.as_bytes(), body]);
        // Every comparison is made, so that the duration does not depend on which signature
        // matches.
        signatures
            .iter()
            .filter(|signature| is_equal(&tag, signature))
            .count()
            > 0
    };
    if keys.iter().filter(|key| is_signed_by(key)).count() == 0 {
        return Err(Rejection::WrongSignature);
    }
    if let Some(timestamp) = timestamp {
        check_time(timestamp, tolerance, now)?;
    }
    if id.is_some_and(|id| id.len() > ID_MAX) {
        return Err(Rejection::LongId);
    }
    Ok(Verified {
        signed_id: id.map(str::to_owned),
        signed_head: head,
    })
}

fn check_time(timestamp: &str, tolerance: u32, now: Timestamp) -> Result<(), Rejection> {
    let unreadable = || Rejection::Timestamp(timestamp.chars().take(30).collect());
    let seconds: i64 = timestamp.parse().map_err(|_| unreadable())?;
    let signed = Timestamp(seconds.checked_mul(1_000).ok_or_else(unreadable)?);
    let (age, ahead) = (now.since(signed).as_secs(), signed.since(now).as_secs());
    if age > u64::from(tolerance) {
        return Err(Rejection::Stale {
            seconds: age,
            tolerance,
        });
    }
    if ahead > u64::from(tolerance) {
        return Err(Rejection::Future {
            seconds: ahead,
            tolerance,
        });
    }
    Ok(())
}

/// The signed text before the body.
fn signed_head(rule: &SignatureRule<'_>, timestamp: Option<&str>, id: Option<&str>) -> String {
    let head = rule.signed.strip_suffix("{body}").unwrap_or(rule.signed);
    // `{timestamp}` and `{id}` are replaced in one pass, because an id may contain the text
    // `{timestamp}`.
    let mut out = String::new();
    let mut rest = head;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{timestamp}") {
            out.push_str(timestamp.unwrap_or_default());
            rest = after;
        } else if let Some(after) = rest.strip_prefix("{id}") {
            out.push_str(id.unwrap_or_default());
            rest = after;
        } else {
            out.push('{');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

fn key_of(rule: &SignatureRule<'_>, secret: &str) -> Option<HmacKey> {
    let hash = match rule.algorithm {
        HmacAlgorithm::Sha1 => HmacHash::Sha1,
        HmacAlgorithm::Sha256 => HmacHash::Sha256,
        HmacAlgorithm::Sha512 => HmacHash::Sha512,
    };
    let key = match rule.key {
        KeyForm::Text => secret.as_bytes().to_vec(),
        KeyForm::Webhook => webhook_secret::decode_of_sender(secret)?,
    };
    Some(HmacKey::new(hash, &key))
}

/// Whether one of the secrets was presented. Compares hashes, so that the duration shows neither the
/// length of a secret nor where it differs.
fn matches_any(secrets: &[&str], presented: &[u8]) -> bool {
    let presented = sha256(presented);
    let is_presented = |secret: &&&str| is_equal(sha256(secret), presented);
    secrets.iter().filter(is_presented).count() > 0
}

fn decode(signature: &str, encoding: SignatureEncoding) -> Option<Vec<u8>> {
    match encoding {
        SignatureEncoding::Base64 => BASE64.decode(signature).ok(),
        SignatureEncoding::Hex => HEXLOWER_PERMISSIVE.decode(signature.as_bytes()).ok(),
    }
}

fn encode(tag: &[u8], encoding: SignatureEncoding) -> String {
    match encoding {
        SignatureEncoding::Base64 => BASE64.encode(tag),
        SignatureEncoding::Hex => HEXLOWER.encode(tag),
    }
}

/// The headers with which a sender signs a request, for tests of a source.
pub fn sign(
    verification: &Verification,
    secret: &str,
    id: &str,
    body: &[u8],
    now: Timestamp,
) -> Vec<(String, String)> {
    match scheme(verification) {
        Scheme::None => Vec::new(),
        Scheme::Token { header } => vec![(header.to_owned(), secret.to_owned())],
        Scheme::Basic => {
            let credential = format!("Basic {}", BASE64.encode(secret));
            vec![("authorization".to_owned(), credential)]
        }
        Scheme::Signature(rule) => {
            let Some(key) = key_of(&rule, secret) else {
                return Vec::new();
            };
            let seconds = (now.0 / 1_000).to_string();
            let head = signed_head(&rule, Some(&seconds), Some(id));
            let tag = key.sign_parts(&[head.as_bytes(), body]);
            let mut written = format!("{}{}", rule.prefix, encode(tag.as_ref(), rule.encoding));
            let mut headers = Vec::new();
            match rule.timestamp {
                Some(TimestampPlace::Header(name)) => {
                    headers.push((name.to_ascii_lowercase(), seconds))
                }
                Some(TimestampPlace::Signature(prefix)) => {
                    written = format!("{prefix}{seconds},{written}");
                }
                None => {}
            }
            headers.extend(
                rule.id_header
                    .map(|name| (name.to_ascii_lowercase(), id.to_owned())),
            );
            headers.push((rule.header.to_ascii_lowercase(), written));
            headers
        }
    }
}

#[cfg(test)]
mod tests;

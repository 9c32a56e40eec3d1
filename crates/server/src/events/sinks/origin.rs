//! A patch that gives the URL of a webhook another origin: scheme, host or port.
//!
//! Stored secrets do not follow to another receiver. Such a patch must give every stored secret
//! again, or remove it with `null`. A signing secret that it does not give is replaced by a new one.
//! `sink_secrets` makes sure that a secret that this check forgot cannot be decrypted.

use serde_json::{Map, Value};
use svc_outbound::{UrlError, origin_of};
use svc_protocol::api::{SinkPatch, WebhookConfig};

use crate::{events::sealed_headers::MASK, records::RecordError};

/// Checks that a patch gives every stored secret again if the URL gets another origin, and that it
/// gives no signing secret otherwise.
pub(super) fn check_secrets(
    current: &WebhookConfig,
    patch: &Map<String, Value>,
    new_url: &str,
) -> Result<(), RecordError> {
    let invalid = |error: UrlError| RecordError::new("invalid_url", error.to_string());
    let (before, after) = (origin_of(&current.url), origin_of(new_url));
    let (before, after) = (before.map_err(invalid)?, after.map_err(invalid)?);
    if before == after {
        return match patch.contains_key("secret") {
            false => Ok(()),
            true => Err(RecordError::new(
                "invalid_secret",
                "a patch changes the secret only together with the origin of the URL; POST to `rotate-secret`, which keeps the old secret valid for a while",
            )),
        };
    }
    let missing = list_missing(current, patch);
    if missing.is_empty() {
        return Ok(());
    }
    let fields: Vec<_> = missing.iter().map(|field| format!("`{field}`")).collect();
    Err(RecordError::new(
        "secret_required",
        format!(
            "the new URL has another origin (`{after}` in place of `{before}`), and stored secrets stay with the receiver that they were given for; give {} again, or `null` to remove",
            fields.join(", ")
        ),
    ))
}

/// The stored secrets that a patch neither gives again nor removes.
fn list_missing(current: &WebhookConfig, patch: &Map<String, Value>) -> Vec<String> {
    let is_given = |value: Option<&Value>| value.is_some_and(|value| value != MASK);
    let headers = patch.get("headers");
    let header = |name: &String| match headers {
        Some(Value::Object(headers)) => headers.get(name),
        // `null` removes all headers.
        other => other,
    };
    let names = current.headers.keys();
    let mut missing: Vec<_> = names
        .filter(|name| !is_given(header(name)))
        .map(|name| format!("webhook.headers.{name}"))
        .collect();
    let fields = [
        ("ca", current.ca.is_some()),
        ("client_certificate", current.client_certificate.is_some()),
        ("client_key", current.client_key.is_some()),
        // Without a secret, the server makes a new one. A mask is none.
        (
            "secret",
            patch.get("secret").is_some_and(|value| value == MASK),
        ),
    ];
    for (field, is_stored) in fields {
        if is_stored && !is_given(patch.get(field)) {
            missing.push(format!("webhook.{field}"));
        }
    }
    missing
}

/// The signing secret in a patch.
pub(super) fn signing_secret(patch: &SinkPatch) -> Option<String> {
    let secret = patch.webhook.as_ref()?.get("secret")?;
    secret.as_str().map(str::to_owned)
}

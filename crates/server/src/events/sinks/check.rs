//! Checks of a sink's fields. A sink with an invalid field is refused when it is saved, with the
//! reason, so that the error does not appear only at the first delivery.

use std::collections::BTreeMap;

use serde_json::Value;
use svc_core::{
    delivery_policy::DeliveryPolicy, name::check_free_name, pattern::Pattern, webhook_secret,
};
use svc_outbound::check_url;
use svc_protocol::{
    api::{
        Members, MergeError, NewSink, PATTERNS_MAX, PatternsInput, ScriptConfig, SinkType,
        WebhookConfig, merge,
    },
    document,
};
use svc_store::sinks::SinkConfig;

use super::origin;
use crate::{
    events::{deliver::webhook, sealed_headers::MASK},
    records::{RecordError, Result, check_description},
};

pub fn name_and_description(name: &str, description: &str) -> Result<()> {
    check_free_name("event sink", name)?;
    check_description(description)
}

/// Parses patterns from an array, or from a text in which commas separate them.
pub fn patterns(input: &PatternsInput) -> Result<Vec<Pattern>> {
    let patterns = match input {
        PatternsInput::Text(text) => Pattern::parse_list(text)?,
        PatternsInput::List(list) => list
            .iter()
            .enumerate()
            .map(|(index, text)| Pattern::parse(text, index + 1))
            .collect::<Result<_, _>>()?,
    };
    if patterns.is_empty() || patterns.len() > PATTERNS_MAX {
        return Err(RecordError::new(
            "invalid_pattern",
            format!(
                "{} patterns; a sink has between 1 and {PATTERNS_MAX} (`*` matches every event)",
                patterns.len()
            ),
        ));
    }
    Ok(patterns)
}

/// Checks the configuration of a new sink. It may contain only the part that belongs to the type of
/// the sink.
pub fn new_config(new: &NewSink) -> Result<SinkConfig> {
    let given = [
        ("webhook", new.webhook.is_some(), SinkType::Webhook),
        ("script", new.script.is_some(), SinkType::Script),
        ("json_rpc", new.json_rpc.is_some(), SinkType::JsonRpc),
    ];
    if let Some((part, ..)) = given
        .iter()
        .find(|(_, is, kind)| *is && *kind != new.r#type)
    {
        return Err(wrong_part(part, new.r#type));
    }
    let config = match new.r#type {
        SinkType::Webhook => {
            let given = new.webhook.clone().ok_or_else(|| {
                RecordError::new(
                    "invalid_config",
                    "a webhook sink needs `webhook` with at least `url`",
                )
            })?;
            if let Some(secret) = &given.secret {
                webhook_secret::decode(secret)
                    .map_err(|error| RecordError::new("invalid_secret", error.to_string()))?;
            }
            reject_masks(&given.headers)?;
            reject_masked_key(&given)?;
            SinkConfig::Webhook(given)
        }
        SinkType::Script => SinkConfig::Script(new.script.clone().ok_or_else(missing_script)?),
        SinkType::JsonRpc => SinkConfig::JsonRpc(new.json_rpc.clone().unwrap_or_default()),
    };
    check_config(config)
}

/// A sink's configuration after a merge patch. `patch` is the part that belongs to the type of the
/// sink.
pub fn merged_config(current: &SinkConfig, patch: &Members) -> Result<SinkConfig> {
    let config = match current {
        SinkConfig::Webhook(current) => {
            let mut merged = merge("webhook", current, patch).map_err(invalid_config)?;
            origin::check_secrets(current, patch, &merged.url)?;
            restore_masked(&mut merged.headers, &current.headers)?;
            if current.client_key.is_none() {
                reject_masked_key(&merged)?;
            }
            SinkConfig::Webhook(merged)
        }
        SinkConfig::Script(current) => {
            let merged = merge("script", current, &drop_replaced(patch));
            SinkConfig::Script(merged.map_err(invalid_config)?)
        }
        SinkConfig::JsonRpc(current) => {
            SinkConfig::JsonRpc(merge("json_rpc", current, patch).map_err(invalid_config)?)
        }
    };
    check_config(config)
}

/// Checks the delivery policy of a sink, except its filter and its key: see [`super::programs`]. A json-rpc
/// sink only formats, so it has no policy.
pub fn policy(policy: DeliveryPolicy, kind: SinkType) -> Result<DeliveryPolicy> {
    if kind == SinkType::JsonRpc && policy != DeliveryPolicy::default() {
        return Err(wrong_part("delivery", kind));
    }
    policy
        .check()
        .map_err(|error| RecordError::new("invalid_policy", format!("in `delivery`: {error}")))?;
    Ok(policy)
}

/// The delivery policy after a merge patch.
pub fn merged_policy(
    current: &DeliveryPolicy,
    patch: &Members,
    kind: SinkType,
) -> Result<DeliveryPolicy> {
    let (mut current, mut patch) = (current.clone(), patch.clone());
    // The two forms of `retry` exclude each other, so a new `retry` replaces the old one as a
    // whole.
    if let Some(retry) = patch.shift_remove("retry") {
        current.retry = match retry {
            Value::Null => None,
            given => document::read_value(given).map_err(|error| {
                RecordError::new("invalid_policy", format!("in `delivery.retry`: {error}"))
            })?,
        };
    }
    let merged = merge("delivery", &current, &patch).map_err(invalid_config)?;
    policy(merged, kind)
}

/// Replaces each masked header value by the stored value, so that a client may read a sink and
/// write it back unchanged.
fn restore_masked(
    headers: &mut BTreeMap<String, String>,
    stored: &BTreeMap<String, String>,
) -> Result<()> {
    for (name, value) in headers.iter_mut().filter(|(_, value)| *value == MASK) {
        match stored.get(name) {
            Some(stored) => value.clone_from(stored),
            None => return Err(mask_without_value(name)),
        }
    }
    Ok(())
}

fn reject_masks(headers: &BTreeMap<String, String>) -> Result<()> {
    match headers.iter().find(|(_, value)| *value == MASK) {
        Some((name, _)) => Err(mask_without_value(name)),
        None => Ok(()),
    }
}

fn reject_masked_key(given: &WebhookConfig) -> Result<()> {
    match given.client_key.as_deref() {
        Some(MASK) => Err(RecordError::new(
            "invalid_tls",
            format!("`{MASK}` means the stored key, but no `client_key` is stored; set the key"),
        )),
        _ => Ok(()),
    }
}

fn mask_without_value(name: &str) -> RecordError {
    RecordError::new(
        "invalid_header",
        format!("`{MASK}` means the stored value, but header `{name}` has none; set its value"),
    )
}

pub fn wrong_part(part: &str, kind: SinkType) -> RecordError {
    let kind = match kind {
        SinkType::Webhook => "webhook",
        SinkType::Script => "script",
        SinkType::JsonRpc => "json-rpc",
    };
    RecordError::new(
        "invalid_config",
        format!("`{part}` does not belong to a sink of type `{kind}`"),
    )
}

fn missing_script() -> RecordError {
    RecordError::new(
        "invalid_config",
        "a script sink needs `script` with either `script_id` or `source`",
    )
}

/// Completes a patch of a script sink: a new `script_id` removes the `source`, and a new `source`
/// removes the `script_id`.
fn drop_replaced(patch: &Members) -> Members {
    let mut patch = patch.clone();
    let given = |key| patch.get(key).is_some_and(|value: &Value| !value.is_null());
    match (given("script_id"), given("source")) {
        (true, false) => patch.insert("source".to_owned(), Value::Null),
        (false, true) => patch.insert("script_id".to_owned(), Value::Null),
        _ => None,
    };
    patch
}

/// Checks everything except the template: see [`super::programs`]. Takes out the signing secret of a
/// webhook, which is stored encrypted, in a column of its own.
fn check_config(mut config: SinkConfig) -> Result<SinkConfig> {
    match &mut config {
        SinkConfig::Webhook(given) => {
            given.secret = None;
            check_url(&given.url)
                .map_err(|error| RecordError::new("invalid_url", error.to_string()))?;
            webhook::check_headers(&given.headers, given.format)
                .map_err(|error| RecordError::new("invalid_header", error.to_string()))?;
            webhook::check_tls_options(&given.url, given)
                .map_err(|error| RecordError::new("invalid_tls", error.to_string()))?;
        }
        SinkConfig::Script(ScriptConfig { script_id, source }) => match (script_id, source) {
            (Some(_), None) | (None, Some(_)) => {}
            _ => return Err(missing_script()),
        },
        SinkConfig::JsonRpc(_) => {}
    }
    Ok(config)
}

fn invalid_config(error: MergeError) -> RecordError {
    RecordError::new("invalid_config", error.to_string())
}

#[cfg(test)]
mod tests;

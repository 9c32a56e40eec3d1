//! The option `--delivery`: settings of a sink's delivery policy.

use serde_json::{Value, json};
use svc_core::delivery_policy::DeliveryPolicy;
use svc_protocol::{api::Members, document};

use crate::{
    commands::times::{seconds_of, split_unit},
    exit::Failure,
};

/// A setting: its name and its JSON value. The value `null` restores the default.
pub type Setting = (String, Value);

/// Parses `attempts=10`. The value is JSON or text. Waits may have units: `retry=5s,1m,2h`.
pub fn parse_setting(text: &str) -> Result<Setting, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("a setting looks like `attempts=10` or `overflow=hold`")?;
    let (name, value) = (name.trim(), value.trim());
    let value = match (name, value) {
        (_, "") => Value::Null,
        ("retry", value) if !value.starts_with('{') => json!({"waits": parse_waits(value)?}),
        ("permanent_statuses", value) if !value.starts_with('[') => parse_statuses(value)?,
        // Expressions are text, even if they look like JSON.
        ("filter" | "key", value) => Value::String(value.to_owned()),
        (_, value) => serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.into())),
    };
    Ok((name.to_owned(), value))
}

fn parse_waits(text: &str) -> Result<Vec<u64>, String> {
    let wait = |part: &str| {
        let (digits, unit) = split_unit(part.trim());
        digits
            .parse::<u64>()
            .ok()?
            .checked_mul(seconds_of(unit)?.into())
    };
    let waits: Option<Vec<u64>> = text.split(',').map(wait).collect();
    waits.ok_or_else(|| format!("`{text}` is not a list of waits such as `5s,1m,2h`"))
}

fn parse_statuses(text: &str) -> Result<Value, String> {
    let statuses: Result<Vec<u16>, _> = text.split(',').map(|one| one.trim().parse()).collect();
    let wrong = |_| format!("`{text}` is not a list of statuses such as `400,410`");
    statuses.map(|statuses| json!(statuses)).map_err(wrong)
}

/// The settings as a merge patch; `None` if there are none.
pub fn to_patch(settings: Vec<Setting>) -> Option<Members> {
    let settings: Members = settings.into_iter().collect();
    (!settings.is_empty()).then_some(settings)
}

/// The policy of a new sink; `None` if there are no settings.
pub fn to_policy(settings: Vec<Setting>) -> Result<Option<DeliveryPolicy>, Failure> {
    let given = settings.into_iter().filter(|(_, value)| !value.is_null());
    let Some(settings) = to_patch(given.collect()) else {
        return Ok(None);
    };
    let policy = document::read_value(Value::Object(settings))
        .map_err(|error| Failure::usage(format!("in `--delivery`: {error}")))?;
    Ok(Some(policy))
}

/// The settings that differ from their defaults, in the form that `--delivery` accepts.
pub fn describe(policy: &DeliveryPolicy) -> String {
    let (Ok(Value::Object(given)), Ok(Value::Object(defaults))) = (
        serde_json::to_value(policy),
        serde_json::to_value(DeliveryPolicy::default()),
    ) else {
        return String::new();
    };
    let changed = given
        .iter()
        .filter(|(name, value)| defaults.get(*name) != Some(value));
    let changed: Vec<_> = changed
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        })
        .collect();
    match changed.is_empty() {
        true => "default".to_owned(),
        false => changed.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_json_text_or_lists_with_units() {
        for (text, name, value) in [
            ("attempts=10", "attempts", json!(10)),
            ("overflow=hold", "overflow", json!("hold")),
            ("notify = true", "notify", json!(true)),
            (
                "retry=5s,2m,1h,1d,7",
                "retry",
                json!({"waits": [5, 120, 3600, 86400, 7]}),
            ),
            (
                r#"retry={"exponential": {"first": 1, "max": 9}}"#,
                "retry",
                json!({"exponential": {"first": 1, "max": 9}}),
            ),
            (
                "permanent_statuses=400, 410",
                "permanent_statuses",
                json!([400, 410]),
            ),
            (
                "filter=event.data.ok == false",
                "filter",
                json!("event.data.ok == false"),
            ),
            ("filter=1", "filter", json!("1")),
            ("attempts=", "attempts", Value::Null),
        ] {
            assert_eq!(parse_setting(text), Ok((name.to_owned(), value)), "{text}");
        }
        for bad in ["attempts", "retry=soon", "retry=5w", "permanent_statuses=x"] {
            assert!(parse_setting(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_policy_is_read_from_settings_and_unknown_ones_are_refused() {
        let parse = |texts: &[&str]| {
            let settings = texts.iter().map(|text| parse_setting(text).expect(text));
            to_policy(settings.collect())
        };
        assert_eq!(parse(&[]).expect("no settings"), None);
        let policy = parse(&["attempts=10", "overflow="]).expect("valid");
        assert_eq!(policy.map(|policy| policy.attempts), Some(10));
        let error = parse(&["attempt=10"]).expect_err("unknown");
        assert!(error.to_string().contains("attempt"), "{error}");
    }
}

//! Texts of users about events: patterns, body templates, filters and cron expressions.

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};
use svc_core::{
    EventId, SpaceId, Timestamp, UserId,
    event::{Event, EventSpace, custom_type, sample},
    pattern::{Pattern, is_event_type},
    schedule::CronRule,
};
use svc_template::{OUTPUT_BYTES_MAX, Scope, compile, expression::Expression, load};

use super::{parts, text};

pub fn pattern(data: &[u8]) {
    let [list, event_type] = parts(data);
    let (Some(list), Some(event_type)) = (text(list), text(event_type)) else {
        return;
    };
    let _ = custom_type(event_type);
    let Ok(patterns) = Pattern::parse_list(list) else {
        return;
    };
    for (pattern, entry) in patterns.iter().zip(list.split(',')) {
        assert_eq!(pattern.to_string(), entry.trim());
        let expected = match entry.trim().strip_suffix('*') {
            Some(prefix) => event_type.starts_with(prefix),
            None => event_type == entry.trim(),
        };
        assert_eq!(pattern.matches(event_type), expected);
    }
    let _ = is_event_type(event_type);
}

/// The input is a template and the payload of an event.
pub fn template(data: &[u8]) {
    let [source, payload] = parts(data);
    let (Some(source), Some(payload)) = (text(source), text(payload)) else {
        return;
    };
    let compiled = compile(source);
    let Ok(template) = load(source) else {
        assert!(compiled.is_err(), "`compile` accepts what `load` refuses");
        return;
    };
    if let Ok(body) = template.render(&scope(&event(payload))) {
        assert!(body.len() <= OUTPUT_BYTES_MAX);
        serde_json::from_str::<&RawValue>(&body).expect("a body is JSON");
    }
}

pub fn filter(data: &[u8]) {
    let [source, payload] = parts(data);
    let (Some(source), Some(payload)) = (text(source), text(payload)) else {
        return;
    };
    let Ok(expression) = Expression::parse(source) else {
        return;
    };
    let event = event(payload);
    let _ = expression.is_true(&scope(&event));
    let _ = expression.key(&scope(&event));
}

fn event(payload: &str) -> Event {
    let data = serde_json::from_str::<Box<RawValue>>(payload).ok();
    let sample = |data| {
        let event_type = Some("custom.sample".to_owned());
        sample::event_by(
            UserId::NIL,
            "ann",
            event_type,
            data,
            EventId::NIL,
            Timestamp(0),
        )
    };
    sample(data.as_deref())
        .or_else(|_| sample(None))
        .expect("the sample is an event")
}

fn scope(event: &Event) -> Scope<'_> {
    static NO_FIELDS: BTreeMap<String, String> = BTreeMap::new();
    Scope {
        event,
        space: EventSpace::without_record(SpaceId::NIL),
        custom: &NO_FIELDS,
    }
}

/// The next runs of a schedule are in order and after the given time. The last run until the given
/// time is not after this time.
pub fn cron(data: &[u8]) {
    let [cron, zone, at] = parts(data);
    let (Some(cron), Some(zone)) = (text(cron), text(zone)) else {
        return;
    };
    let zone = if zone.is_empty() { "UTC" } else { zone };
    let millis = at
        .iter()
        .fold(0_i64, |number, byte| (number << 8) | i64::from(*byte));
    let after = Timestamp(millis.rem_euclid(4_102_444_800_000));
    let Ok(rule) = CronRule::parse(cron, zone) else {
        return;
    };
    let mut before = after;
    for run in rule.upcoming(after, 3) {
        assert!(run > before, "a run is not after the one before");
        before = run;
    }
    if let Some(last) = rule.last_until(after) {
        assert!(last <= after);
    }
    let _ = Value::from(after.0);
}

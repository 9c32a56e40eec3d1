//! Series of methods: bounded, and fair between owners.

use std::{sync::atomic::Ordering, time::Duration};

use uuid::Uuid;

use super::*;
use crate::metrics::Metrics;

const MS: Duration = Duration::from_millis(1);

fn options(methods: usize) -> MetricsOptions {
    MetricsOptions {
        methods,
        ..MetricsOptions::default()
    }
}

fn owner(number: u128) -> UserId {
    UserId(Uuid::from_u128(number))
}

fn open(metrics: &Metrics, owner: UserId, name: &str) -> Arc<MethodMeter> {
    let (name, space) = (Arc::from(name), SpaceId(Uuid::from_u128(7)));
    metrics.methods.open(owner, &name, space, &Arc::default())
}

/// The values in the lines that start with `begin`.
fn values(metrics: &Metrics, begin: &str) -> Vec<f64> {
    let text = metrics.encode(0);
    let lines = text.lines().filter(|line| line.starts_with(begin));
    lines
        .map(|line| {
            let value = line.rsplit(' ').next().expect("a value");
            value.parse().expect("a number")
        })
        .collect()
}

#[test]
fn a_method_has_its_calls_latencies_and_running_calls() {
    let metrics = Metrics::new(options(10));
    let (name, space) = (Arc::from("notes.find"), SpaceId::NIL);
    let running = Arc::new(AtomicU32::new(0));
    let meter = metrics.methods.open(owner(1), &name, space, &running);
    meter.record(CallOutcome::Ok, 3 * MS);
    meter.record(CallOutcome::Ok, 70 * MS);
    meter.record(CallOutcome::TimedOut, 100_000 * MS);
    meter.record(CallOutcome::Notification, MS);
    running.fetch_add(2, Ordering::Relaxed);
    let text = metrics.encode(0);
    for line in [
        r#"svc_method_calls_total{method="notes.find",outcome="ok"} 2"#,
        r#"svc_method_calls_total{method="notes.find",outcome="timeout"} 1"#,
        r#"svc_method_calls_total{method="notes.find",outcome="notification"} 1"#,
        r#"svc_method_calls_total{method="other",outcome="ok"} 0"#,
        r#"svc_method_call_seconds_sum{method="notes.find"} 100.073"#,
        r#"svc_method_call_seconds_count{method="notes.find"} 3"#,
        r#"svc_method_call_seconds_bucket{le="0.002048",method="notes.find"} 0"#,
        r#"svc_method_call_seconds_bucket{le="0.004096",method="notes.find"} 1"#,
        r#"svc_method_call_seconds_bucket{le="33.554432",method="notes.find"} 2"#,
        r#"svc_method_call_seconds_bucket{le="+Inf",method="notes.find"} 3"#,
        r#"svc_method_calls_in_flight{method="notes.find"} 2"#,
        "# TYPE svc_method_call_seconds histogram",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    // A new registration keeps the series.
    running.store(0, Ordering::Relaxed);
    drop(meter);
    let again = metrics.methods.open(owner(1), &name, space, &running);
    again.record(CallOutcome::Ok, MS);
    let ok = r#"svc_method_calls_total{method="notes.find",outcome="ok"}"#;
    assert_eq!(values(&metrics, ok), [3.0]);
}

#[test]
fn one_owner_does_not_take_the_series_of_others() {
    let metrics = Metrics::new(options(10));
    let flood: Vec<_> = (0..10_000)
        .map(|number| open(&metrics, owner(1), &format!("flood.m{number}")))
        .collect();
    flood
        .iter()
        .for_each(|meter| meter.record(CallOutcome::Ok, MS));
    let lines = |begin: &str| values(&metrics, begin).len();
    let count = "svc_method_call_seconds_count";
    assert_eq!(lines(&format!("{count}{{method=\"flood.")), 10);
    let meter = open(&metrics, owner(2), "quiet");
    meter.record(CallOutcome::Ok, MS);
    assert_eq!(lines(&format!("{count}{{method=\"quiet\"")), 1);
    assert_eq!(lines(&format!("{count}{{method=\"flood.")), 9);
    // Counters never fall: only later calls of the method that lost its series count as `other`.
    let other = r#"svc_method_call_seconds_count{method="other"}"#;
    assert_eq!(values(&metrics, other), [9_990.0]);
    flood
        .iter()
        .for_each(|meter| meter.record(CallOutcome::Ok, MS));
    assert_eq!(values(&metrics, other), [9_990.0 + 9_991.0]);
    // The size of the answer does not grow with the number of methods.
    assert!(metrics.encode(0).lines().count() < 1_000);
}

#[test]
fn a_method_with_the_name_other_does_not_repeat_a_series() {
    let metrics = Metrics::new(options(10));
    open(&metrics, owner(1), "other").record(CallOutcome::Ok, MS);
    let other = r#"svc_method_calls_total{method="other",outcome="ok"}"#;
    assert_eq!(values(&metrics, other), [1.0]);
}

#[test]
fn labels_of_owner_and_space_are_optional() {
    let metrics = Metrics::new(options(10));
    for number in [1, 2] {
        open(&metrics, owner(number), "same").record(CallOutcome::Ok, MS);
    }
    let begin = r#"svc_method_calls_total{method="same""#;
    let ok = r#"svc_method_calls_total{method="same",outcome="ok"}"#;
    assert_eq!(values(&metrics, ok), [2.0]);
    let metrics = Metrics::new(MetricsOptions {
        owner_label: true,
        space_label: true,
        ..options(10)
    });
    for number in [1, 2] {
        open(&metrics, owner(number), "same").record(CallOutcome::Ok, MS);
    }
    assert_eq!(values(&metrics, begin).len(), 2 * OUTCOMES.len());
    let (ann, space) = (owner(1), SpaceId(Uuid::from_u128(7)));
    let line = format!(r#"{begin},owner="{ann}",space="{space}",outcome="ok"}}"#);
    assert_eq!(values(&metrics, &line), [1.0]);
}

#[test]
fn statistics_are_taken_once_and_returned_if_they_were_not_written() {
    let metrics = Metrics::new(options(0));
    let meter = open(&metrics, owner(1), "a");
    meter.record(CallOutcome::Ok, MS);
    meter.record(CallOutcome::MethodError, MS);
    meter.record(CallOutcome::Notification, MS);
    let subject = Subject::Method("a".into());
    let unwritten = metrics.methods.find_unwritten(owner(1), &subject);
    assert_eq!((unwritten.calls(), unwritten.errors), (2, 1));
    let taken: Vec<_> = metrics.methods.take_unwritten().into_iter().collect();
    assert!(metrics.methods.take_unwritten().is_empty());
    meter.record(CallOutcome::Ok, MS);
    metrics.methods.put_back(&taken);
    let all = metrics.methods.take_unwritten();
    let count = all[&owner(1)].find(&subject).expect("counted");
    assert_eq!((count.calls(), count.errors), (3, 1));
}

#[test]
fn a_method_without_providers_leaves_no_counters() {
    let metrics = Metrics::new(options(10));
    for number in 0..100 {
        open(&metrics, owner(1), &format!("m{number}")).record(CallOutcome::Ok, MS);
    }
    let meters = || metrics.methods.state.lock().meters.len();
    metrics.encode(0);
    assert_eq!(meters(), 100);
    metrics.encode(0);
    assert_eq!(meters(), 0);
}

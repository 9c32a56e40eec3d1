//! Series of receivers: bounded, and fair between owners.

use std::time::Duration;

use svc_core::LaneId;

use super::*;
use crate::metrics::{Metrics, MetricsOptions};

fn metrics(receivers: usize) -> std::sync::Arc<Metrics> {
    Metrics::new(MetricsOptions {
        receivers,
        ..MetricsOptions::default()
    })
}

#[test]
fn attempts_are_counted_and_running_ones_shown() {
    let metrics = metrics(10);
    let receivers = &metrics.events.receivers;
    for outcome in [Some("delivered"), Some("failed"), None] {
        receivers
            .attempt_started("hook".into(), "ann".into())
            .finish(outcome);
    }
    let _running = receivers.attempt_started("hook".into(), "ann".into());
    let _first = receivers.attempt_started("new".into(), "ann".into());
    let text = metrics.encode(0);
    for line in [
        r#"svc_event_attempts_total{receiver="hook",owner="ann",outcome="delivered"} 1"#,
        r#"svc_event_attempts_total{receiver="hook",owner="ann",outcome="failed"} 1"#,
        r#"svc_event_attempts_total{receiver="hook",owner="ann",outcome="unrenderable"} 0"#,
        r#"svc_event_attempt_seconds_count{receiver="hook",owner="ann"} 2"#,
        r#"svc_event_attempts_in_flight{receiver="hook",owner="ann"} 1"#,
        r#"svc_event_attempts_in_flight{receiver="other",owner=""} 1"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    drop((_running, _first));
    assert!(!metrics.encode(0).contains("in_flight{receiver"));
}

#[test]
fn receivers_without_a_series_are_shown_together() {
    let metrics = metrics(4);
    let receivers = &metrics.events.receivers;
    for number in 0..100 {
        let name = format!("flood{number}");
        receivers
            .attempt_started(name, "ann".into())
            .finish(Some("failed"));
    }
    let now = svc_clock::now();
    let lane = |name: &str, owner: &str, depth, seconds| Backlog {
        lane: LaneId::NIL,
        name: name.into(),
        owner: owner.into(),
        depth,
        oldest: now.minus(Duration::from_secs(seconds)),
    };
    let lanes = [
        lane("flood50", "ann", 2, 10),
        lane("flood51", "ann", 3, 20),
        lane("quiet", "bob", 1, 5),
    ];
    receivers.set_backlog(&lanes, now);
    let text = metrics.encode(0);
    for line in [
        r#"svc_event_attempts_total{receiver="other",owner="",outcome="failed"} 96"#,
        r#"svc_event_queue_depth{receiver="other",owner=""} 5"#,
        r#"svc_event_lag_seconds{receiver="other",owner=""} 20.0"#,
        r#"svc_event_queue_depth{receiver="quiet",owner="bob"} 1"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    receivers.set_backlog(&[], now);
    assert!(!metrics.encode(0).contains("queue_depth{"));
}

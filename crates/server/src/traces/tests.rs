//! Sampling, times of spans, the queue, and headers.

use std::time::Duration;

use svc_core::{
    SpaceId, TraceContext, UserId,
    journal::{CallTimes, CallVia},
};
use uuid::Uuid;

use super::{call::spans_of, *};
use crate::metrics::CallOutcome;

const KEY: [u8; 32] = [7; 32];

fn user(number: u128) -> UserId {
    UserId(Uuid::from_u128(number))
}

fn parent(trace: u128, flags: &str) -> TraceContext {
    let text = format!("00-{trace:032x}-{:016x}-{flags}", 9);
    TraceContext::parse(&text, None).expect("valid")
}

fn recorded() -> RunningTrace {
    RunningTrace {
        context: TraceContext::recorded(1, 2),
        spans: Some(SpanIds {
            parent: 0,
            agent: 3,
            method: 4,
        }),
    }
}

fn call(took: u64, times: Option<(u32, u32)>) -> TracedCall<'static> {
    TracedCall {
        method: Some("a.b"),
        space: Some(SpaceId::NIL),
        sent: true,
        via: CallVia::Api,
        outcome: CallOutcome::Ok,
        code: 0,
        took: Duration::from_micros(took),
        times: times.map(|(queue_us, method_us)| CallTimes {
            queue_us,
            method_us,
        }),
        id: None,
    }
}

#[test]
fn the_ratio_chooses_its_share_and_all_servers_of_a_zone_choose_the_same() {
    let (one, other) = (Sampler::new(&KEY, 0.1, 1), Sampler::new(&KEY, 0.1, 1));
    let chosen: Vec<_> = (0..10_000).filter(|trace| one.chooses(*trace)).collect();
    assert!((800..1_200).contains(&chosen.len()), "{}", chosen.len());
    assert!(chosen.iter().all(|trace| other.chooses(*trace)));
    let keyed = Sampler::new(&[8; 32], 0.1, 1);
    let also = chosen.iter().filter(|trace| keyed.chooses(**trace)).count();
    assert!(also < chosen.len() / 2, "another key chooses other traces");
    for (share, expected) in [(0.0, 0), (1.0, 1_000)] {
        let sampler = Sampler::new(&KEY, share, 1);
        let chosen = (0..1_000).filter(|trace| sampler.chooses(*trace)).count();
        assert_eq!(chosen, expected);
    }
}

#[test]
fn a_sender_that_records_is_followed_within_the_limit_of_its_user() {
    let sampler = Sampler::new(&KEY, 0.0, 5);
    let follows = |user, flags| sampler.follows(user, &parent(1, flags));
    assert!(!follows(user(1), "00"));
    let followed = (0..1_000).filter(|_| follows(user(1), "01")).count();
    assert!((5..100).contains(&followed), "{followed}");
    assert!(
        follows(user(2), "01"),
        "another user has a limit of their own"
    );
    let none = Sampler::new(&KEY, 0.0, 0);
    assert!(!none.follows(user(1), &parent(1, "01")));
    let all = Sampler::new(&KEY, 1.0, 0);
    assert!(all.follows(user(1), &parent(1, "01")));
    assert!(!all.follows(user(1), &parent(1, "00")));
}

#[test]
fn traces_that_are_off_pass_the_context_on() {
    let traces = Traces::off();
    assert!(traces.begin(user(1), None).is_none());
    let sent = parent(5, "01");
    let trace = traces.begin(user(1), Some(&sent)).expect("passed on");
    assert_eq!((trace.context(), &trace.method_context()), (&sent, &sent));
    assert!(!trace.is_recorded());
}

#[test]
fn the_parts_of_a_call_lie_within_each_other() {
    let check = |took, times, agent: (u64, u64), method: (u64, u64)| {
        let spans = spans_of(&recorded(), call(took, times), 1_000_000);
        let parts: Vec<_> = spans.iter().map(|span| (span.start, span.end)).collect();
        assert_eq!(parts[0], (1_000_000 - took * 1_000, 1_000_000));
        assert_eq!((parts[1], parts[2]), (agent, method), "{took} {times:?}");
        let parents: Vec<_> = spans.iter().map(|span| (span.id, span.parent)).collect();
        assert_eq!(parents, [(2, 0), (3, 2), (4, 3)]);
    };
    // The way to the agent and back took 20 µs each.
    check(100, Some((10, 50)), (920_000, 980_000), (930_000, 980_000));
    check(100, None, (900_000, 1_000_000), (900_000, 1_000_000));
    // An agent that reports more time than the call took.
    check(
        100,
        Some((60, u32::MAX)),
        (900_000, 1_000_000),
        (960_000, 1_000_000),
    );
    check(
        100,
        Some((u32::MAX, 1)),
        (900_000, 1_000_000),
        (1_000_000, 1_000_000),
    );
}

#[test]
fn a_call_that_was_not_sent_has_only_the_span_of_the_server() {
    let unsent = TracedCall {
        method: None,
        sent: false,
        outcome: CallOutcome::NotFound,
        code: -32601,
        ..call(1, None)
    };
    let spans = spans_of(&recorded(), unsent, 1_000_000);
    assert_eq!(spans.len(), 1);
    assert_eq!(spans[0].name, "_OTHER");
    assert_eq!(spans[0].error.as_deref(), Some("not_found"));
}

#[test]
fn one_user_fills_at_most_half_of_the_queue() {
    let queue = SpanQueue::new(64);
    let push = |of, count| {
        let spans = spans_of(&recorded(), call(1, None), 1_000_000);
        let spans = std::iter::repeat_n(spans[0].clone(), count);
        queue.push(user(of), spans)
    };
    assert_eq!(push(1, 100), 68);
    assert_eq!(push(2, 10), 0);
    assert_eq!(queue.len(), 42);
    assert_eq!(queue.take(40).len(), 40);
    assert_eq!(push(1, 30), 0, "taken spans make room");
    assert_eq!(queue.take(1_000).len(), 32);
    assert_eq!(queue.len(), 0);
}

#[test]
fn headers_are_read_from_lines_and_errors_do_not_show_them() {
    let headers = parse_headers("# a comment\n\nAuthorization: Bearer a:b\r\nx-team:  blue \n");
    let headers = headers.expect("valid");
    assert_eq!(headers["authorization"], "Bearer a:b");
    assert_eq!(headers["x-team"], "blue");
    assert!(!format!("{headers:?}").contains("Bearer"));
    for bad in ["secret", "a b: secret", ": secret", "a: \u{7f}"] {
        let error = parse_headers(&format!("a: b\n{bad}")).expect_err("not a header");
        assert_eq!(error, HeadersError(2));
        assert!(!error.to_string().contains("secret"));
    }
}

use uuid::Uuid;

use super::*;

const OWN: usize = 0;
const ALL: usize = 1;

fn id(number: u128) -> EventId {
    EventId(Uuid::from_u128(number))
}

fn event(n: usize) -> Event {
    Event {
        emitter: 0,
        n,
        id: id(n as u128),
    }
}

/// A ledger of one emitter with this many acknowledged events.
fn acknowledged(count: usize) -> Ledger {
    let mut ledger = Ledger::new(1);
    for n in 0..count {
        ledger.acknowledge(0, event(n).id);
    }
    ledger
}

fn deliver(ledger: &mut Ledger, sink: usize, events: &[usize]) {
    for &n in events {
        ledger.arrive(sink, event(n));
        ledger.answer(sink, event(n), true);
    }
}

fn kinds(findings: &[Finding]) -> Vec<FindingKind> {
    findings.iter().map(|finding| finding.kind).collect()
}

/// Checks which promises are broken if the events arrive in these orders.
#[track_caller]
fn check(own: &[usize], all: &[usize], expected: &[FindingKind]) {
    let mut ledger = acknowledged(4);
    deliver(&mut ledger, OWN, own);
    deliver(&mut ledger, ALL, all);
    let found = ledger.check(1, &[]);
    assert_eq!(kinds(&found), expected, "{found:?}");
}

#[test]
fn events_that_arrive_in_order_keep_every_promise() {
    check(&[0, 1, 2, 3], &[0, 1, 2, 3], &[]);
}

#[test]
fn repeated_arrivals_keep_every_promise() {
    check(&[0, 1, 0, 1, 2, 3], &[0, 1, 2, 3, 2, 3], &[]);
}

#[test]
fn a_missing_event_is_lost_at_its_sink_only() {
    check(&[0, 1, 3], &[0, 1, 2, 3], &[FindingKind::Lost]);
}

#[test]
fn a_late_first_arrival_is_out_of_order() {
    check(&[0, 2, 1, 3], &[0, 1, 2, 3], &[FindingKind::Inverted]);
}

#[test]
fn an_event_that_was_not_acknowledged_is_invented() {
    check(&[0, 1, 2, 3, 4], &[0, 1, 2, 3], &[FindingKind::Invented]);
}

#[test]
fn an_event_that_was_stored_twice_is_invented() {
    let mut ledger = acknowledged(1);
    deliver(&mut ledger, OWN, &[0]);
    deliver(&mut ledger, ALL, &[0]);
    let again = Event {
        id: id(99),
        ..event(0)
    };
    ledger.arrive(ALL, again);
    assert_eq!(kinds(&ledger.check(1, &[])), [FindingKind::Invented]);
}

#[test]
fn a_dead_delivery_needs_a_receiver_that_refused_it() {
    let dead = [(OWN, event(0).id)];
    let mut ledger = acknowledged(1);
    deliver(&mut ledger, ALL, &[0]);
    assert_eq!(ledger.not_accepted(), [(OWN, event(0))]);
    assert_eq!(kinds(&ledger.check(1, &dead)), [FindingKind::Lost]);

    let mut ledger = acknowledged(1);
    deliver(&mut ledger, ALL, &[0]);
    ledger.arrive(OWN, event(0));
    ledger.answer(OWN, event(0), false);
    assert_eq!(ledger.arrive(OWN, event(0)), 1);
    assert_eq!(kinds(&ledger.check(1, &dead)), []);
    assert_eq!(ledger.totals().dead, 1);
}

#[test]
fn a_refused_event_that_is_not_dead_is_lost() {
    let mut ledger = acknowledged(1);
    deliver(&mut ledger, ALL, &[0]);
    ledger.arrive(OWN, event(0));
    ledger.answer(OWN, event(0), false);
    assert_eq!(kinds(&ledger.check(1, &[])), [FindingKind::Lost]);
}

#[test]
fn a_check_reports_a_finding_once() {
    let mut ledger = acknowledged(2);
    deliver(&mut ledger, OWN, &[1, 0]);
    deliver(&mut ledger, ALL, &[0]);
    let found = kinds(&ledger.check(1, &[]));
    assert_eq!(found, [FindingKind::Inverted, FindingKind::Lost]);
    assert_eq!(ledger.check(2, &[]), []);
}

#[test]
fn totals_count_deliveries_and_repetitions() {
    let mut ledger = acknowledged(2);
    deliver(&mut ledger, OWN, &[0, 1, 1]);
    deliver(&mut ledger, ALL, &[0]);
    assert_eq!(ledger.under_way(0), 1);
    let totals = Totals {
        acknowledged: 2,
        expected: 4,
        arrived: 3,
        repeated: 1,
        dead: 0,
    };
    assert_eq!(ledger.totals(), totals);
}

//! Random sequences of operations: every call ends exactly once.

use std::collections::{HashMap, HashSet};

use proptest::prelude::{
    Just, ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

use super::*;

#[derive(Clone, Debug)]
enum Act {
    Call,
    Notify,
    Write,
    Answer(usize),
    Report(usize),
    Cancel(usize),
    Down,
    Up,
    Expire,
    Release,
    ForgetLink,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Call),
        1 => Just(Act::Notify),
        4 => Just(Act::Write),
        4 => (0usize..8).prop_map(Act::Answer),
        2 => (0usize..8).prop_map(Act::Report),
        2 => (0usize..8).prop_map(Act::Cancel),
        1 => Just(Act::Down),
        1 => Just(Act::Up),
        1 => Just(Act::Expire),
        1 => Just(Act::Release),
        1 => Just(Act::ForgetLink),
    ]
}

fn is_final(in_flight_max: Option<usize>, kind: FrameKind) -> bool {
    kind != FrameKind::Progress && (in_flight_max.is_none() || kind != FrameKind::CancelledSent)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn every_call_ends_exactly_once(
        in_flight_max in prop::sample::select(vec![CONCURRENT, SERIAL, Some(3)]),
        held in prop::bool::ANY,
        acts in prop::collection::vec(act(), 0..80),
    ) {
        let mut bench = Bench::new(in_flight_max, held);
        bench.table.process_up();
        let (mut link, mut next) = (1, 0);
        let mut open: Vec<Caller> = Vec::new();
        let mut sent: Vec<u64> = Vec::new();
        let mut ended: HashMap<Caller, u32> = HashMap::new();
        // Calls of lost links that the table must not answer any more.
        let mut forgotten: HashSet<Caller> = HashSet::new();
        let ends = [Act::Release, Act::Down];
        for act in acts.iter().chain(&ends) {
            bench.now += Duration::from_millis(700);
            let (now, table, effects) = (bench.now, &mut bench.table, &mut bench.effects);
            match act {
                Act::Call => {
                    let caller = Caller { link, frame: next };
                    next += 1;
                    open.push(caller);
                    let user = u32::try_from(next % 3).expect("small");
                    let json = Bytes::from_static(b"call");
                    table.enqueue(user, Some(caller), json, now, effects);
                }
                Act::Notify => table.enqueue(1, None, Bytes::from_static(b"n"), now, effects),
                Act::Write => {
                    let mut lines = Vec::new();
                    table.take(EMPTY_PIPE, now, &mut lines);
                    sent.extend(lines.into_iter().filter_map(|line| line.id));
                }
                Act::Answer(at) => {
                    if let Some(id) = sent.get(*at).copied() {
                        table.answer(id, FrameKind::Result, Bytes::new(), now, effects);
                        sent.remove(*at);
                    }
                }
                Act::Report(at) => {
                    if let Some(id) = sent.get(*at) {
                        table.report(*id, Bytes::new(), now, effects);
                    }
                }
                Act::Cancel(at) => {
                    if let Some(caller) = open.get(*at) {
                        table.cancel(*caller, effects);
                    }
                }
                Act::Down => {
                    table.process_down(now);
                    table.interrupt_sent(effects);
                    sent.clear();
                }
                Act::Up => table.process_up(),
                Act::Expire => table.expire(now, PATIENCE, effects),
                Act::Release => table.release(),
                Act::ForgetLink => {
                    // If calls in flight are limited, a sent call keeps its slot until it is
                    // answered. The table returns that answer, and the outbox drops it.
                    let is_waiting = |caller: &Caller| {
                        matches!(table.states.get(caller), Some(CallState::Waiting(_)))
                    };
                    let lost = open.drain(..);
                    forgotten.extend(lost.filter(|it| in_flight_max.is_none() || is_waiting(it)));
                    table.forget_link(link);
                    link += 1;
                }
            }
            for answer in effects.answers.drain(..) {
                prop_assert!(!forgotten.contains(&answer.caller), "a call of a lost link was answered");
                if is_final(in_flight_max, answer.kind) {
                    open.retain(|caller| *caller != answer.caller);
                    *ended.entry(answer.caller).or_default() += 1;
                }
            }
            prop_assert!(in_flight_max.is_none_or(|most| bench.table.in_flight() <= most));
        }
        bench.table.close(&mut bench.effects);
        for answer in bench.effects.answers.drain(..) {
            prop_assert!(!forgotten.contains(&answer.caller), "a call of a lost link was answered");
            open.retain(|caller| *caller != answer.caller);
            *ended.entry(answer.caller).or_default() += 1;
        }
        prop_assert!(open.is_empty(), "never ended: {open:?}");
        prop_assert!(ended.values().all(|times| *times == 1), "{ended:?}");
        prop_assert!(bench.table.is_idle());
        prop_assert_eq!(bench.table.waiting.bytes(), 0);
        prop_assert!(bench.table.states.is_empty());
    }
}

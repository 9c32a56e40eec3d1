mod reports;

use std::collections::HashMap;

use proptest::prelude::{
    Just, ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

use super::*;

const BYTES_MAX: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(30);
const OVERDUE_AFTER: Duration = Duration::from_secs(10);

fn caller(frame: u64) -> Caller {
    Caller { link: 1, frame }
}

/// A table with its effects and a clock that moves by hand.
struct Bench {
    table: CallTable,
    effects: Effects,
    now: Instant,
}

impl Bench {
    fn new(mode: Mode, held: bool) -> Self {
        let now = Instant::now();
        let ids = Arc::default();
        let table = CallTable::new(mode, ids, TIMEOUT, OVERDUE_AFTER, BYTES_MAX, held, now);
        Self {
            table,
            effects: Effects::default(),
            now,
        }
    }

    fn up(mode: Mode) -> Self {
        let mut bench = Self::new(mode, false);
        bench.table.process_up(&mut bench.effects);
        bench
    }

    fn call(&mut self, frame: u64) -> &mut Self {
        let json = Bytes::from(frame.to_string());
        let (now, effects) = (self.now, &mut self.effects);
        self.table
            .arrive(Some(caller(frame)), json, 0, now, effects);
        self
    }

    fn notify(&mut self, text: &'static str) -> &mut Self {
        let (now, effects) = (self.now, &mut self.effects);
        self.table
            .arrive(None, Bytes::from_static(text.as_bytes()), 0, now, effects);
        self
    }

    fn answer(&mut self, id: u64) -> bool {
        let effects = &mut self.effects;
        self.table
            .answer(id, FrameKind::Result, Bytes::new(), effects)
    }

    fn cancel(&mut self, frame: u64) -> bool {
        self.table.cancel(caller(frame), &mut self.effects)
    }

    /// What was written, as text, since the last look.
    fn lines(&mut self) -> Vec<String> {
        let text = |line: Line| String::from_utf8_lossy(&line.json).into_owned();
        self.effects.lines.drain(..).map(text).collect()
    }

    fn answers(&mut self) -> Vec<(u64, FrameKind)> {
        let pair = |answer: Answer| (answer.caller.frame, answer.kind);
        let mut answers: Vec<_> = self.effects.answers.drain(..).map(pair).collect();
        answers.sort_by_key(|(frame, _)| *frame);
        answers
    }
}

#[test]
fn concurrent_calls_are_sent_at_once_and_answered_in_any_order() {
    let mut bench = Bench::up(Mode::Concurrent);
    bench.call(10).call(11);
    assert_eq!(bench.lines(), ["10", "11"]);
    assert!(bench.answer(1));
    assert!(bench.answer(0));
    assert!(!bench.answer(0), "an id is answered once");
    assert!(!bench.answer(77));
    let result = FrameKind::Result;
    assert_eq!(bench.answers(), [(10, result), (11, result)]);
    assert!(bench.table.is_idle());
}

#[test]
fn a_concurrent_call_that_is_cancelled_is_forgotten() {
    let mut bench = Bench::up(Mode::Concurrent);
    bench.call(10);
    assert!(bench.cancel(10));
    assert!(!bench.cancel(10));
    assert!(!bench.answer(0), "its late answer has no one to go to");
    assert_eq!(bench.answers(), [(10, FrameKind::CancelledSent)]);
    assert!(bench.table.is_idle());
}

#[test]
fn serial_calls_go_one_by_one() {
    let mut bench = Bench::up(Mode::Serial);
    bench.call(10).call(11).call(12);
    assert_eq!(bench.lines(), ["10"]);
    assert_eq!((bench.table.in_flight(), bench.table.queued()), (1, 2));
    bench.answer(0);
    assert_eq!(bench.lines(), ["11"]);
    bench.answer(1);
    assert_eq!(bench.lines(), ["12"]);
}

#[test]
fn a_serial_notification_waits_its_turn_and_frees_its_place() {
    let mut bench = Bench::up(Mode::Serial);
    bench
        .notify("n0")
        .call(10)
        .notify("n1")
        .notify("n2")
        .call(11);
    assert_eq!(bench.lines(), ["n0", "10"]);
    bench.answer(0);
    assert_eq!(bench.lines(), ["n1", "n2", "11"]);
}

#[test]
fn a_cancelled_serial_call_leaves_the_queue_or_holds_its_place() {
    let mut bench = Bench::up(Mode::Serial);
    bench.call(10).call(11).call(12);
    assert!(bench.cancel(11));
    assert_eq!(bench.answers(), [(11, FrameKind::CancelledUnsent)]);
    assert!(bench.cancel(10));
    assert_eq!(bench.answers(), [(10, FrameKind::CancelledSent)]);
    bench.cancel(10);
    assert_eq!(bench.answers(), [], "it is told once");
    assert_eq!(bench.lines(), ["10"]);
    assert_eq!(bench.table.in_flight(), 1);
    bench.answer(0);
    assert_eq!(bench.answers(), [(10, FrameKind::Result)]);
    assert_eq!(bench.lines(), ["12"]);
}

#[test]
fn what_was_sent_to_a_dead_process_is_interrupted_and_the_rest_waits() {
    let mut bench = Bench::up(Mode::Serial);
    bench.call(10).call(11);
    bench.cancel(10);
    bench.answers();
    bench.table.process_down(bench.now);
    bench.call(12);
    assert_eq!(bench.answers(), [], "its last output may still come");
    bench.table.interrupt_sent(&mut bench.effects);
    assert_eq!(bench.answers(), [(10, FrameKind::Interrupted)]);
    bench.lines();
    bench.table.process_up(&mut bench.effects);
    assert_eq!(bench.lines(), ["11"]);
}

#[test]
fn calls_wait_so_long_for_a_restart_and_no_longer() {
    let mut bench = Bench::up(Mode::Concurrent);
    bench.table.process_down(bench.now);
    bench.call(10).call(11).notify("n");
    bench.now += PATIENCE / 2;
    bench.call(12);
    bench.cancel(10);
    bench.answers();
    bench.now += PATIENCE / 2;
    let (now, effects) = (bench.now, &mut bench.effects);
    bench.table.expire(now, PATIENCE, effects);
    assert_eq!(bench.answers(), [(11, FrameKind::Unavailable)]);
    assert_eq!(bench.effects.dropped_notifications, 1);
    bench.table.process_up(&mut bench.effects);
    assert_eq!(bench.lines(), ["12"]);
}

#[test]
fn a_held_table_sends_nothing_before_its_release() {
    let mut bench = Bench::new(Mode::Serial, true);
    bench.table.process_up(&mut bench.effects);
    bench.call(10);
    bench.now += PATIENCE * 10;
    let (now, effects) = (bench.now, &mut bench.effects);
    bench.table.expire(now, PATIENCE, effects);
    assert_eq!((bench.lines().len(), bench.answers().len()), (0, 0));
    bench.table.release(&mut bench.effects);
    assert_eq!(bench.lines(), ["10"]);
}

#[test]
fn a_closed_table_refuses_and_gives_up_what_waits() {
    let mut bench = Bench::up(Mode::Serial);
    bench.call(10).call(11);
    bench.table.close(&mut bench.effects);
    bench.call(12);
    let unavailable = FrameKind::Unavailable;
    assert_eq!(bench.answers(), [(11, unavailable), (12, unavailable)]);
    bench.answer(0);
    assert_eq!(bench.answers(), [(10, FrameKind::Result)]);
}

#[test]
fn a_lost_link_frees_all_but_what_a_serial_server_works_on() {
    let mut bench = Bench::up(Mode::Serial);
    bench.call(10).call(11);
    bench.table.forget_link(1);
    assert_eq!((bench.table.in_flight(), bench.table.queued()), (1, 0));
    bench.call(12);
    assert_eq!(bench.lines(), ["10"]);
    assert!(bench.answer(0), "the outbox drops it: its link is gone");
    assert_eq!(bench.lines(), ["12"]);
    let mut bench = Bench::up(Mode::Concurrent);
    bench.call(10).call(11);
    bench.table.forget_link(1);
    assert!(bench.table.is_idle());
    assert!(!bench.answer(0));
}

#[test]
fn only_a_serial_server_hangs() {
    let after = TIMEOUT + OVERDUE_AFTER;
    for (mode, hangs) in [(Mode::Serial, true), (Mode::Concurrent, false)] {
        let mut bench = Bench::up(mode);
        bench.call(10);
        assert!(!bench.table.is_overdue(bench.now));
        let just_before = bench.now + after - Duration::from_millis(1);
        assert!(!bench.table.is_overdue(just_before));
        assert_eq!(bench.table.is_overdue(bench.now + after), hangs);
    }
}

#[test]
fn a_serial_call_that_was_sent_late_has_its_time_too() {
    let mut bench = Bench::up(Mode::Serial);
    bench.call(10).call(11);
    let late = bench.now + TIMEOUT + OVERDUE_AFTER;
    bench.answer(0);
    assert!(!bench.table.is_overdue(late));
    assert!(bench.table.is_overdue(late + OVERDUE_AFTER));
}

#[test]
fn unwritten_bytes_are_bounded() {
    let mut bench = Bench::up(Mode::Concurrent);
    let json = Bytes::from(vec![b'x'; 500]);
    let (now, effects) = (bench.now, &mut bench.effects);
    let table = &mut bench.table;
    table.arrive(Some(caller(1)), json.clone(), 500, now, effects);
    table.arrive(Some(caller(2)), json.clone(), 501, now, effects);
    table.arrive(None, json, 501, now, effects);
    assert_eq!(bench.answers(), [(2, FrameKind::Unavailable)]);
    assert_eq!(bench.effects.dropped_notifications, 1);
}

#[derive(Clone, Debug)]
enum Act {
    Call,
    Notify,
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

fn is_final(mode: Mode, kind: FrameKind) -> bool {
    kind != FrameKind::Progress && (mode == Mode::Concurrent || kind != FrameKind::CancelledSent)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn every_call_ends_exactly_once(
        serial in prop::bool::ANY,
        held in prop::bool::ANY,
        acts in prop::collection::vec(act(), 0..80),
    ) {
        let mode = if serial { Mode::Serial } else { Mode::Concurrent };
        let mut bench = Bench::new(mode, held);
        bench.table.process_up(&mut bench.effects);
        let (mut link, mut next) = (1, 0);
        let mut open: Vec<Caller> = Vec::new();
        let mut sent: Vec<u64> = Vec::new();
        let mut ended: HashMap<Caller, u32> = HashMap::new();
        let mut forgotten: Vec<Caller> = Vec::new();
        let ends = [Act::Release, Act::Down];
        for act in acts.iter().chain(&ends) {
            bench.now += Duration::from_millis(700);
            let (now, table, effects) = (bench.now, &mut bench.table, &mut bench.effects);
            match act {
                Act::Call => {
                    let caller = Caller { link, frame: next };
                    next += 1;
                    open.push(caller);
                    table.arrive(Some(caller), Bytes::from_static(b"call"), 0, now, effects);
                }
                Act::Notify => table.arrive(None, Bytes::from_static(b"n"), 0, now, effects),
                Act::Answer(at) => {
                    if let Some(id) = sent.get(*at).copied() {
                        table.answer(id, FrameKind::Result, Bytes::new(), effects);
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
                Act::Up => table.process_up(effects),
                Act::Expire => table.expire(now, PATIENCE, effects),
                Act::Release => table.release(effects),
                Act::ForgetLink => {
                    table.forget_link(link);
                    forgotten.append(&mut open);
                    link += 1;
                }
            }
            sent.extend(effects.lines.drain(..).filter_map(|line| line.id));
            for answer in effects.answers.drain(..) {
                if is_final(mode, answer.kind) {
                    open.retain(|caller| *caller != answer.caller);
                    *ended.entry(answer.caller).or_default() += 1;
                }
            }
            prop_assert!(!serial || bench.table.in_flight() <= 1);
        }
        bench.table.close(&mut bench.effects);
        for answer in bench.effects.answers.drain(..) {
            open.retain(|caller| *caller != answer.caller);
            *ended.entry(answer.caller).or_default() += 1;
        }
        prop_assert!(open.is_empty(), "never ended: {open:?}");
        prop_assert!(ended.values().all(|times| *times == 1), "{ended:?}");
        prop_assert!(bench.table.is_idle());
        prop_assert_eq!(bench.table.waiting.bytes(), 0);
        prop_assert!(bench.table.places.is_empty());
    }
}

mod reports;

use std::collections::HashMap;

use proptest::prelude::{
    Just, ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

use super::*;

const BYTES_MAX: usize = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(30);
const OVERDUE_AFTER: Duration = Duration::from_secs(10);

/// A pipe with room for everything.
const EMPTY_PIPE: Pipe = Pipe {
    written: 0,
    last_call: None,
    shared_bytes_max: usize::MAX,
    is_large: false,
};
/// The default user of calls.
const USER: u32 = 7;

/// `in_flight_max` of a concurrent server without a limit, and of a serial server.
const CONCURRENT: Option<usize> = None;
const SERIAL: Option<usize> = Some(1);

fn caller(frame: u64) -> Caller {
    Caller { link: 1, frame }
}

/// A table with its effects, a writer that is always ready, and a manual clock.
struct Bench {
    table: CallTable,
    effects: Effects,
    written: Vec<Line>,
    now: Instant,
}

fn table(in_flight_max: Option<usize>, held: bool, now: Instant) -> CallTable {
    let limits = Limits {
        in_flight_max,
        timeout: TIMEOUT,
        overdue_after: OVERDUE_AFTER,
        waiting_bytes_max: BYTES_MAX,
    };
    CallTable::new(limits, Arc::default(), held, now)
}

impl Bench {
    fn new(in_flight_max: Option<usize>, held: bool) -> Self {
        let now = Instant::now();
        Self {
            table: table(in_flight_max, held, now),
            effects: Effects::default(),
            written: Vec::new(),
            now,
        }
    }

    fn up(in_flight_max: Option<usize>) -> Self {
        let mut bench = Self::new(in_flight_max, false);
        bench.table.process_up();
        bench
    }

    /// Takes all lines that may be written.
    fn write(&mut self) {
        let mut lines = Vec::new();
        while self.table.take(EMPTY_PIPE, &mut lines) != Take::Nothing {
            self.written.append(&mut lines);
        }
    }

    fn call(&mut self, frame: u64) -> &mut Self {
        self.call_as(USER, frame);
        self.write();
        self
    }

    /// Queues a call without taking it.
    fn call_as(&mut self, user: u32, frame: u64) -> &mut Self {
        let json = Bytes::from(frame.to_string());
        let (now, effects) = (self.now, &mut self.effects);
        self.table
            .enqueue(user, Some(caller(frame)), json, now, effects);
        self
    }

    fn notify(&mut self, text: &'static str) -> &mut Self {
        let (now, effects) = (self.now, &mut self.effects);
        let json = Bytes::from_static(text.as_bytes());
        self.table.enqueue(USER, None, json, now, effects);
        self.write();
        self
    }

    fn answer(&mut self, id: u64) -> bool {
        let effects = &mut self.effects;
        let known = self
            .table
            .answer(id, FrameKind::Result, Bytes::new(), effects);
        self.write();
        known
    }

    fn cancel(&mut self, frame: u64) -> bool {
        let found = self.table.cancel(caller(frame), &mut self.effects);
        self.write();
        found
    }

    /// The lines written since the last call, as text.
    fn lines(&mut self) -> Vec<String> {
        self.write();
        self.written.drain(..).map(text).collect()
    }

    fn answers(&mut self) -> Vec<(u64, FrameKind)> {
        let pair = |answer: Answer| (answer.caller.frame, answer.kind);
        let mut answers: Vec<_> = self.effects.answers.drain(..).map(pair).collect();
        answers.sort_by_key(|(frame, _)| *frame);
        answers
    }
}

fn text(line: Line) -> String {
    String::from_utf8_lossy(&line.json).into_owned()
}

#[test]
fn concurrent_calls_are_sent_at_once_and_answered_in_any_order() {
    let mut bench = Bench::up(CONCURRENT);
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
    let mut bench = Bench::up(CONCURRENT);
    bench.call(10);
    assert!(bench.cancel(10));
    assert!(!bench.cancel(10));
    assert!(!bench.answer(0), "its late answer is dropped");
    assert_eq!(bench.answers(), [(10, FrameKind::CancelledSent)]);
    assert!(bench.table.is_idle());
}

#[test]
fn serial_calls_go_one_by_one() {
    let mut bench = Bench::up(SERIAL);
    bench.call(10).call(11).call(12);
    assert_eq!(bench.lines(), ["10"]);
    assert_eq!((bench.table.in_flight(), bench.table.queued()), (1, 2));
    bench.answer(0);
    assert_eq!(bench.lines(), ["11"]);
    bench.answer(1);
    assert_eq!(bench.lines(), ["12"]);
}

#[test]
fn a_serial_notification_waits_its_turn_and_occupies_no_slot() {
    let mut bench = Bench::up(SERIAL);
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
fn a_cancelled_serial_call_leaves_the_queue_or_keeps_its_slot() {
    let mut bench = Bench::up(SERIAL);
    bench.call(10).call(11).call(12);
    assert!(bench.cancel(11));
    assert_eq!(bench.answers(), [(11, FrameKind::CancelledUnsent)]);
    assert!(bench.cancel(10));
    assert_eq!(bench.answers(), [(10, FrameKind::CancelledSent)]);
    bench.cancel(10);
    assert_eq!(bench.answers(), [], "the cancellation is answered once");
    assert_eq!(bench.lines(), ["10"]);
    assert_eq!(bench.table.in_flight(), 1);
    bench.answer(0);
    assert_eq!(bench.answers(), [(10, FrameKind::Result)]);
    assert_eq!(bench.lines(), ["12"]);
}

#[test]
fn calls_sent_to_a_dead_process_are_interrupted_and_the_others_wait() {
    let mut bench = Bench::up(SERIAL);
    bench.call(10).call(11);
    bench.cancel(10);
    bench.answers();
    bench.table.process_down(bench.now);
    bench.call(12);
    assert_eq!(bench.answers(), [], "its last output may still come");
    bench.table.interrupt_sent(&mut bench.effects);
    assert_eq!(bench.answers(), [(10, FrameKind::Interrupted)]);
    bench.lines();
    bench.table.process_up();
    assert_eq!(bench.lines(), ["11"]);
}

#[test]
fn calls_wait_for_a_restart_for_a_limited_time() {
    let mut bench = Bench::up(CONCURRENT);
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
    bench.table.process_up();
    assert_eq!(bench.lines(), ["12"]);
}

#[test]
fn a_held_table_sends_nothing_before_its_release() {
    let mut bench = Bench::new(SERIAL, true);
    bench.table.process_up();
    bench.call(10);
    bench.now += PATIENCE * 10;
    let (now, effects) = (bench.now, &mut bench.effects);
    bench.table.expire(now, PATIENCE, effects);
    assert_eq!((bench.lines().len(), bench.answers().len()), (0, 0));
    bench.table.release();
    assert_eq!(bench.lines(), ["10"]);
}

#[test]
fn a_closed_table_rejects_new_and_waiting_calls() {
    let mut bench = Bench::up(SERIAL);
    bench.call(10).call(11);
    bench.table.close(&mut bench.effects);
    bench.call(12);
    let unavailable = FrameKind::Unavailable;
    assert_eq!(bench.answers(), [(11, unavailable), (12, unavailable)]);
    bench.answer(0);
    assert_eq!(bench.answers(), [(10, FrameKind::Result)]);
}

#[test]
fn a_lost_link_drops_all_calls_except_one_sent_to_a_serial_server() {
    let mut bench = Bench::up(SERIAL);
    bench.call(10).call(11);
    bench.table.forget_link(1);
    assert_eq!((bench.table.in_flight(), bench.table.queued()), (1, 0));
    bench.call(12);
    assert_eq!(bench.lines(), ["10"]);
    assert!(bench.answer(0), "the outbox drops it: its link is gone");
    assert_eq!(bench.lines(), ["12"]);
    let mut bench = Bench::up(CONCURRENT);
    bench.call(10).call(11);
    bench.table.forget_link(1);
    assert!(bench.table.is_idle());
    assert!(!bench.answer(0));
}

#[test]
fn only_a_serial_server_hangs() {
    let after = TIMEOUT + OVERDUE_AFTER;
    for (in_flight_max, hangs) in [(SERIAL, true), (CONCURRENT, false)] {
        let mut bench = Bench::up(in_flight_max);
        bench.call(10);
        assert!(!bench.table.is_overdue(bench.now));
        let just_before = bench.now + after - Duration::from_millis(1);
        assert!(!bench.table.is_overdue(just_before));
        assert_eq!(bench.table.is_overdue(bench.now + after), hangs);
    }
}

#[test]
fn the_time_of_a_serial_call_starts_when_it_is_sent() {
    let mut bench = Bench::up(SERIAL);
    bench.call(10).call(11);
    let late = bench.now + TIMEOUT + OVERDUE_AFTER;
    bench.answer(0);
    assert!(!bench.table.is_overdue(late));
    assert!(bench.table.is_overdue(late + OVERDUE_AFTER));
}

#[test]
fn a_server_with_a_limit_hangs_when_every_slot_is_overdue() {
    let late = TIMEOUT + OVERDUE_AFTER;
    let mut bench = Bench::up(Some(2));
    bench.call(10).call(11).call(12);
    assert_eq!(bench.lines(), ["10", "11"], "at most two at a time");
    assert!(!bench.table.is_overdue(bench.now));
    bench.cancel(10);
    assert_eq!(
        bench.lines(),
        [""; 0],
        "a call without a caller keeps its slot"
    );
    assert!(bench.table.is_overdue(bench.now + late));
    bench.answer(1);
    assert_eq!(bench.lines(), ["12"]);
    assert!(
        !bench.table.is_overdue(bench.now + late),
        "one slot has a call that was sent late"
    );
    assert!(bench.table.is_overdue(bench.now + late + OVERDUE_AFTER));
}

#[test]
fn the_queue_is_bounded_and_no_user_takes_the_share_of_another() {
    let mut bench = Bench::new(CONCURRENT, false);
    let json = Bytes::from(vec![b'x'; 100]);
    let size = 100 + WAITING_BYTES;
    let mut accepted = |user| {
        let (now, effects) = (bench.now, &mut bench.effects);
        let mut count = 0;
        loop {
            let id = caller(u64::from(user) << 32 | count);
            bench
                .table
                .enqueue(user, Some(id), json.clone(), now, effects);
            if !effects.answers.is_empty() {
                assert_eq!(
                    effects.answers.pop().expect("one").kind,
                    FrameKind::Unavailable
                );
                return usize::try_from(count).expect("few") * size;
            }
            count += 1;
        }
    };
    let (first, second) = (accepted(1), accepted(2));
    assert!(first.abs_diff(BYTES_MAX / 2) <= size, "{first}");
    assert!(second.abs_diff(BYTES_MAX / 4) <= size, "{second}");
    bench.notify("n");
    assert_eq!(
        bench.effects.dropped_notifications, 0,
        "another user has room"
    );
    let (now, effects) = (bench.now, &mut bench.effects);
    bench.table.enqueue(1, None, json, now, effects);
    assert_eq!(bench.effects.dropped_notifications, 1);
}

#[test]
fn users_take_turns_in_every_mode() {
    for in_flight_max in [CONCURRENT, SERIAL, Some(3)] {
        let mut bench = Bench::up(in_flight_max);
        for frame in 100..1_100 {
            bench.call_as(1, frame);
        }
        bench.call_as(2, 20).call_as(3, 30).call_as(2, 21);
        let (mut answered, mut order) = (0, Vec::new());
        while order.len() < 1_003 {
            order.append(&mut bench.lines());
            while answered < order.len() as u64 && bench.table.in_flight() > 0 {
                assert!(bench.answer(answered));
                answered += 1;
            }
        }
        let expected = ["100", "20", "30", "101", "21", "102", "103"];
        assert_eq!(order[..7], expected, "{in_flight_max:?}");
    }
}

#[test]
fn a_cancelled_call_that_waits_is_never_written() {
    for in_flight_max in [CONCURRENT, SERIAL] {
        let mut bench = Bench::up(in_flight_max);
        bench.call_as(1, 10).call_as(1, 11).call_as(2, 20);
        bench.table.cancel(caller(10), &mut bench.effects);
        assert_eq!(bench.answers(), [(10, FrameKind::CancelledUnsent)]);
        bench.write();
        bench.answer(0);
        assert_eq!(bench.lines(), ["11", "20"]);
    }
}

/// A pipe with `written` bytes that the writer does not know to be read.
fn pipe(written: usize, last_call: Option<u64>) -> Pipe {
    Pipe {
        written,
        last_call,
        shared_bytes_max: 60,
        is_large: false,
    }
}

#[test]
fn the_pipe_gets_only_the_lines_that_fit() {
    let mut bench = Bench::up(CONCURRENT);
    for frame in 10..40 {
        bench.call_as(1, frame);
    }
    let take = |bench: &mut Bench, pipe| {
        let mut lines = Vec::new();
        let take = bench.table.take(pipe, &mut lines);
        (take, lines.into_iter().map(text).collect::<Vec<_>>())
    };
    let taken = |was_read, lines: &[&str]| {
        let lines: Vec<_> = lines.iter().map(|line| (*line).to_owned()).collect();
        (Take::Lines { was_read }, lines)
    };
    // A single user may fill the pipe. Each line counts 22 bytes.
    let room_for_two = PIPE_BYTES - 44;
    assert_eq!(
        take(&mut bench, pipe(room_for_two, None)),
        taken(false, &["10", "11"])
    );
    assert_eq!(take(&mut bench, pipe(PIPE_BYTES, None)).0, Take::PipeFull);
    // With several users, the writer's limit applies. One line always fits an empty pipe.
    bench.call_as(2, 90);
    assert_eq!(take(&mut bench, pipe(0, None)), taken(false, &["12", "90"]));
    assert_eq!(take(&mut bench, pipe(44, Some(3))).0, Take::PipeFull);
    // The answer to the last line proves that all lines were read.
    assert!(
        bench
            .table
            .answer(3, FrameKind::Result, Bytes::new(), &mut bench.effects)
    );
    assert_eq!(
        take(&mut bench, pipe(44, Some(3))),
        taken(true, &["13", "14"])
    );
    let tight = Pipe {
        shared_bytes_max: 1,
        ..pipe(0, None)
    };
    assert_eq!(take(&mut bench, tight), taken(false, &["15"]));
    // A minute later there is one user again.
    bench.now += Duration::from_secs(61);
    bench.call_as(2, 91).call_as(2, 92);
    bench.now += Duration::from_secs(61);
    bench.call_as(2, 93);
    assert_eq!(take(&mut bench, pipe(0, None)).1.len(), 27);
}

#[test]
fn large_lines_follow_each_other_and_small_ones_wait_for_them() {
    let mut bench = Bench::up(CONCURRENT);
    let large = Bytes::from(vec![b'x'; LARGE_LINE_BYTES]);
    let mut limits = table(CONCURRENT, false, bench.now);
    limits.limits.waiting_bytes_max = 1_000_000;
    bench.table = limits;
    bench.table.process_up();
    for json in [&large, &large, &Bytes::from_static(b"small")] {
        let (now, effects) = (bench.now, &mut bench.effects);
        bench.table.enqueue(1, None, json.clone(), now, effects);
    }
    let mut take = |pipe| {
        let mut lines = Vec::new();
        let take = bench.table.take(pipe, &mut lines);
        (take, lines.len())
    };
    let lines = Take::Lines { was_read: false };
    assert_eq!(take(pipe(0, None)), (lines, 1), "alone");
    let with_large = |written| Pipe {
        is_large: true,
        ..pipe(written, None)
    };
    assert_eq!(take(with_large(LARGE_LINE_BYTES)), (lines, 1));
    assert_eq!(take(with_large(2 * LARGE_LINE_BYTES)), (Take::PipeFull, 0));
    assert_eq!(take(with_large(0)), (lines, 1));
}

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
                    let user = u32::try_from(next % 3).expect("small");
                    let json = Bytes::from_static(b"call");
                    table.enqueue(user, Some(caller), json, now, effects);
                }
                Act::Notify => table.enqueue(1, None, Bytes::from_static(b"n"), now, effects),
                Act::Write => {
                    let mut lines = Vec::new();
                    table.take(EMPTY_PIPE, &mut lines);
                    sent.extend(lines.into_iter().filter_map(|line| line.id));
                }
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
                Act::Up => table.process_up(),
                Act::Expire => table.expire(now, PATIENCE, effects),
                Act::Release => table.release(),
                Act::ForgetLink => {
                    table.forget_link(link);
                    forgotten.append(&mut open);
                    link += 1;
                }
            }
            for answer in effects.answers.drain(..) {
                if is_final(in_flight_max, answer.kind) {
                    open.retain(|caller| *caller != answer.caller);
                    *ended.entry(answer.caller).or_default() += 1;
                }
            }
            prop_assert!(in_flight_max.is_none_or(|most| bench.table.in_flight() <= most));
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
        prop_assert!(bench.table.states.is_empty());
    }
}

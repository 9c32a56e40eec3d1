//! Tests of the call table, with a manual clock and without a process.

mod random;
mod reports;
mod sharing;

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
/// The user who makes the calls, unless a test names another user.
const USER: u32 = 7;

/// `in_flight_max` of a concurrent server without a limit, and of a serial server.
const CONCURRENT: Option<usize> = None;
const SERIAL: Option<usize> = Some(1);

fn caller(frame: u64) -> Caller {
    Caller { link: 1, frame }
}

/// A call table with its effects, a writer that is always ready, and a manual clock.
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
        while self.table.take(EMPTY_PIPE, self.now, &mut lines) != Take::Nothing {
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
        let (now, effects) = (self.now, &mut self.effects);
        let known = self
            .table
            .answer(id, FrameKind::Result, Bytes::new(), now, effects);
        self.write();
        known
    }

    fn cancel(&mut self, frame: u64) -> bool {
        let found = self.table.cancel(caller(frame), &mut self.effects);
        self.write();
        found
    }

    /// The lines written since `lines` was last used, as text.
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
fn a_cancelled_concurrent_call_is_forgotten() {
    let mut bench = Bench::up(CONCURRENT);
    bench.call(10);
    assert!(bench.cancel(10));
    assert!(!bench.cancel(10));
    assert!(!bench.answer(0), "its late answer is dropped");
    assert_eq!(bench.answers(), [(10, FrameKind::CancelledSent)]);
    assert!(bench.table.is_idle());
}

#[test]
fn serial_calls_are_sent_one_at_a_time() {
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
    assert_eq!(bench.answers(), [], "the answer to 10 may still arrive");
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
    assert!(
        bench.answer(0),
        "the table returns the answer, and the outbox drops it"
    );
    assert_eq!(bench.lines(), ["12"]);
    let mut bench = Bench::up(CONCURRENT);
    bench.call(10).call(11);
    bench.table.forget_link(1);
    assert!(bench.table.is_idle());
    assert!(!bench.answer(0));
}

#[test]
fn an_answer_has_the_times_of_the_wait_and_of_the_method_server() {
    let mut bench = Bench::up(SERIAL);
    bench.call(10).call(11);
    for micros in [300, 500] {
        bench.now += Duration::from_micros(micros);
        bench.answer(u64::from(micros == 500));
    }
    let times: Vec<_> = bench.effects.answers.iter().map(|one| one.times).collect();
    let times_of = |queue_us, method_us| {
        Some(CallTimes {
            queue_us,
            method_us,
        })
    };
    assert_eq!(times, [times_of(0, 300), times_of(300, 500)]);
    bench.effects.answers.clear();
    bench.call(12).call(13).cancel(13);
    bench.table.interrupt_sent(&mut bench.effects);
    let times = bench.effects.answers.iter().map(|one| one.times);
    assert!(times.clone().count() == 2 && times.flatten().next().is_none());
}

#[test]
fn a_serial_server_can_be_overdue_and_an_unlimited_concurrent_server_cannot() {
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
fn the_overdue_time_starts_at_the_first_check_if_that_is_after_the_timeout() {
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
    assert_eq!(bench.lines(), [""; 0], "a cancelled call keeps its slot");
    assert!(bench.table.is_overdue(bench.now + late));
    bench.answer(1);
    assert_eq!(bench.lines(), ["12"]);
    assert!(
        !bench.table.is_overdue(bench.now + late),
        "this is the first check of call 12"
    );
    assert!(bench.table.is_overdue(bench.now + late + OVERDUE_AFTER));
}

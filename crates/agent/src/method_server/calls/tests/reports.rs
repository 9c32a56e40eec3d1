//! Progress reports of calls, and the limit on how many are sent.

use super::*;

/// The maximum number of reports of one call in a second.
const PER_SECOND_MAX: usize = 20;

impl Bench {
    fn report(&mut self, id: u64, text: &str) -> ReportOutcome {
        let report = Bytes::from(text.to_owned());
        let (now, effects) = (self.now, &mut self.effects);
        self.table.report(id, report, now, effects)
    }

    /// Frame, kind and payload of each report and answer that was sent, in order.
    fn sent(&mut self) -> Vec<(u64, FrameKind, String)> {
        let read = |answer: Answer| {
            let payload = String::from_utf8_lossy(&answer.payload).into_owned();
            (answer.caller.frame, answer.kind, payload)
        };
        self.effects.answers.drain(..).map(read).collect()
    }
}

#[test]
fn reports_are_sent_in_order_and_before_the_answer() {
    let mut bench = Bench::up(CONCURRENT);
    bench.call(10);
    for text in ["0", "50", "100"] {
        assert_eq!(bench.report(0, text), ReportOutcome::Done);
    }
    bench.answer(0);
    for (id, text) in [(0, "late"), (7, "of an unknown call")] {
        assert_eq!(bench.report(id, text), ReportOutcome::Unknown);
    }
    let progress = |text: &str| (10, FrameKind::Progress, text.to_owned());
    let answer = (10, FrameKind::Result, String::new());
    assert_eq!(
        bench.sent(),
        [progress("0"), progress("50"), progress("100"), answer]
    );
}

#[test]
fn reports_beyond_the_limit_are_skipped_but_the_last_report_is_always_sent() {
    let mut bench = Bench::up(CONCURRENT);
    bench.call(10);
    let start = bench.now;
    let mut times = Vec::new();
    for number in 0..30_000_u64 {
        bench.now = start + Duration::from_micros(number * 100);
        assert_ne!(bench.report(0, &number.to_string()), ReportOutcome::Unknown);
        times.extend(bench.sent().iter().map(|_| bench.now));
    }
    bench.answer(0);
    let last = bench.sent();
    assert_eq!(
        last[0].2, "29999",
        "the newest report is sent before the answer"
    );
    times.push(bench.now);
    assert!(times.len() >= 30, "{}", times.len());
    for (at, begin) in times.iter().enumerate() {
        let within = |time: &&Instant| **time <= *begin + Duration::from_secs(1);
        let in_a_second = times[at..].iter().filter(within).count();
        assert!(in_a_second <= PER_SECOND_MAX, "{in_a_second}");
    }
}

#[test]
fn a_held_report_is_sent_when_it_is_due() {
    let mut bench = Bench::up(CONCURRENT);
    bench.call(10).call(11);
    let mut last = ReportOutcome::Unknown;
    for number in 0..100 {
        last = bench.report(0, &number.to_string());
        bench.report(1, &number.to_string());
    }
    let ReportOutcome::Held { until } = last else {
        panic!("{last:?}");
    };
    let passed = bench.sent().len();
    bench.answer(1);
    assert_eq!(bench.sent().len(), 2, "the last report and the answer");
    let (table, effects) = (&mut bench.table, &mut bench.effects);
    assert_eq!(table.send_held_reports(bench.now, effects), Some(until));
    assert!(effects.answers.is_empty(), "the report is not due yet");
    assert_eq!(table.send_held_reports(until, effects), None);
    assert_eq!(bench.sent()[0].2, "99");
    assert!(bench.table.held_reports.is_empty());
    assert!(passed < 40, "{passed}");
}

#[test]
fn a_cancelled_call_sends_no_report() {
    let mut bench = Bench::up(SERIAL);
    bench.call(10);
    bench.cancel(10);
    bench.answers();
    assert_eq!(bench.report(0, "1"), ReportOutcome::Done);
    assert!(bench.sent().is_empty());
}

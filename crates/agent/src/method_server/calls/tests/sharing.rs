//! How users share the queue and the pipe.

use super::*;

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
        "the queue has room for another user"
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

/// A pipe with `written` bytes, which the method server may not have read yet.
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
        let take = bench.table.take(pipe, bench.now, &mut lines);
        (take, lines.into_iter().map(text).collect::<Vec<_>>())
    };
    let taken = |was_read, lines: &[&str]| {
        let lines: Vec<_> = lines.iter().map(|line| (*line).to_owned()).collect();
        (Take::Lines { was_read }, lines)
    };
    // A single user may fill the pipe. Each line counts as 22 bytes: 2 of JSON, and 20 for the id
    // and the end of the line.
    let room_for_two = PIPE_BYTES - 44;
    assert_eq!(
        take(&mut bench, pipe(room_for_two, None)),
        taken(false, &["10", "11"])
    );
    assert_eq!(take(&mut bench, pipe(PIPE_BYTES, None)).0, Take::PipeFull);
    // While several users call, `shared_bytes_max` is the limit.
    bench.call_as(2, 90);
    assert_eq!(take(&mut bench, pipe(0, None)), taken(false, &["12", "90"]));
    assert_eq!(take(&mut bench, pipe(44, Some(3))).0, Take::PipeFull);
    // The answer to the last line proves that all lines were read.
    assert!(bench.table.answer(
        3,
        FrameKind::Result,
        Bytes::new(),
        bench.now,
        &mut bench.effects
    ));
    assert_eq!(
        take(&mut bench, pipe(44, Some(3))),
        taken(true, &["13", "14"])
    );
    // An empty pipe takes one line, even if the line is larger than the limit.
    let tight = Pipe {
        shared_bytes_max: 1,
        ..pipe(0, None)
    };
    assert_eq!(take(&mut bench, tight), taken(false, &["15"]));
    // After a minute with a single caller, only one user counts as active.
    bench.now += Duration::from_secs(61);
    bench.call_as(2, 91).call_as(2, 92);
    bench.now += Duration::from_secs(61);
    bench.call_as(2, 93);
    assert_eq!(take(&mut bench, pipe(0, None)).1.len(), 27);
}

#[test]
fn large_lines_share_the_pipe_and_a_small_line_waits_until_they_are_read() {
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
        let take = bench.table.take(pipe, bench.now, &mut lines);
        (take, lines.len())
    };
    let lines = Take::Lines { was_read: false };
    assert_eq!(
        take(pipe(0, None)),
        (lines, 1),
        "a large line is taken alone"
    );
    let with_large = |written| Pipe {
        is_large: true,
        ..pipe(written, None)
    };
    assert_eq!(take(with_large(LARGE_LINE_BYTES)), (lines, 1));
    assert_eq!(take(with_large(2 * LARGE_LINE_BYTES)), (Take::PipeFull, 0));
    assert_eq!(take(with_large(0)), (lines, 1));
}

//! How calls share the method server: modes, limits, and the order of users.

use super::*;

#[tokio::test]
async fn a_serial_server_gets_one_call_at_a_time() {
    let mut serial = definition("while read -r line; do echo x >> got; sleep 0.05; done");
    serial.mode = Mode::Serial;
    let mut bench = start_with(serial, short_policy()).await.expect("starts");
    bench.call(1);
    bench.call(2);
    let got = bench.path("got");
    eventually("the first call", || got.exists()).await;
    let status = bench.server.status();
    assert_eq!((status.in_flight, status.queued), (1, 1));
    assert!(bench.server.cancel(Caller { link: 1, frame: 2 }));
    assert_eq!(bench.answer().await.1, FrameKind::CancelledUnsent);
    bench.server.stop().await;
    assert_eq!(
        bench.answer().await,
        (1, FrameKind::Interrupted, String::new())
    );
    assert_eq!(fs::read_to_string(got).expect("there"), "x\n");
}

#[tokio::test]
async fn max_in_flight_limits_the_calls_of_a_concurrent_server() {
    let mut limited = definition("cat >> got");
    limited.max_in_flight = Some(3);
    let bench = start_with(limited, short_policy()).await.expect("starts");
    for frame in 0..10 {
        bench.call(frame);
    }
    let got = bench.path("got");
    let lines = || fs::read_to_string(&got).unwrap_or_default().lines().count();
    eventually("three calls", || lines() == 3).await;
    let status = bench.server.status();
    assert_eq!((status.in_flight, status.queued), (3, 7));
    assert_eq!(status.max_in_flight, Some(3));
    // A cancelled call frees no slot: the method server still has the call.
    assert!(bench.server.cancel(Caller { link: 1, frame: 0 }));
    assert_eq!(bench.server.status().in_flight, 3);
    assert_eq!(lines(), 3);
    bench.server.stop().await;
}

#[tokio::test]
async fn lines_of_every_size_arrive_whole_and_in_order() {
    let bench = start("cat > got").await;
    let sizes = [
        10, 4_000, 5_000, 100, 20_000, 30, 200_000, 17_000, 1, 4_096, 3, 1_000_000, 7,
    ];
    let mut expected = String::new();
    for round in 0..5 {
        for (at, size) in sizes.iter().enumerate() {
            let text = format!("{round}-{at}-{}", "x".repeat(*size));
            expected.push_str(&text);
            expected.push('\n');
            let user = u32::try_from(at % 2).expect("small");
            bench.server.enqueue(user, None, text.into());
            // Wait until the line is written, so that the two users do not take turns.
            eventually("the line is written", || bench.server.is_idle()).await;
        }
    }
    let got = bench.path("got");
    eventually("all lines are read", || {
        fs::metadata(&got).is_ok_and(|file| file.len() == expected.len() as u64)
    })
    .await;
    assert!(fs::read_to_string(&got).expect("there") == expected);
    // Without waiting after each line, no line is lost either.
    for (at, size) in sizes.iter().cycle().take(200).enumerate() {
        let user = u32::try_from(at % 3).expect("small");
        let text = "y".repeat(*size % 50_000);
        bench.server.enqueue(user, None, text.into());
    }
    let bytes: usize = sizes
        .iter()
        .cycle()
        .take(200)
        .map(|size| size % 50_000 + 1)
        .sum();
    eventually("the rest is read", || {
        fs::metadata(&got).is_ok_and(|file| file.len() == (expected.len() + bytes) as u64)
    })
    .await;
    bench.server.stop().await;
}

#[tokio::test]
async fn calls_to_a_server_that_never_reads_are_refused_when_its_queue_is_full() {
    let policy = Policy {
        unwritten_bytes_max: 300_000,
        ..short_policy()
    };
    let bench = start_with(definition("sleep 60"), policy).await;
    let mut bench = bench.expect("starts");
    let json = Bytes::from(vec![b'x'; 100_000]);
    for frame in 0..8 {
        let caller = Caller { link: 1, frame };
        bench.server.enqueue(1, Some(caller), json.clone());
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.answer().await.1, FrameKind::Unavailable);
    bench.server.stop().await;
}

/// Answers one call at a time, each after a delay.
const SLOW_ECHO: &str = r#"
while read -r line; do
  sleep 0.01; id=${line##*\"id\":}; echo "{\"id\":${id%\}},\"result\":1}"
done"#;

impl Bench {
    /// Number of answers to other calls before the answer to this call.
    async fn answers_before(&mut self, frame: u64) -> usize {
        let mut before = 0;
        loop {
            let (id, kind, _) = self.answer().await;
            assert_eq!(kind, FrameKind::Result);
            if id == frame {
                return before;
            }
            before += 1;
        }
    }
}

#[tokio::test]
async fn a_late_user_does_not_wait_for_all_calls_of_another_user() {
    for mode in [Mode::Concurrent, Mode::Serial] {
        let mut slow = definition(SLOW_ECHO);
        slow.mode = mode;
        slow.timeout = 60;
        let mut bench = start_with(slow, short_policy()).await.expect("starts");
        for frame in 0..500 {
            bench.call_as(1, frame);
        }
        assert_eq!(bench.answer().await.1, FrameKind::Result);
        bench.call_as(2, 1_000);
        let first = bench.answers_before(1_000).await;
        assert!(first <= 200, "{mode}: {first} of 500 came first");
        // From now on two users call, so the agent writes fewer calls ahead into the pipe.
        for frame in 1_001..1_010 {
            bench.call_as(2, frame);
            let before = bench.answers_before(frame).await;
            assert!(before <= 20, "{mode}: {before} came first");
        }
        assert!(bench.server.status().queued > 100);
        bench.server.stop().await;
    }
}

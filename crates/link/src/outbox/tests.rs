use std::time::Duration;

use super::*;

fn server_outbox() -> (Outbox, OutboxReader) {
    outbox(OutboxLimits::SERVER)
}

fn frame(id: u64) -> Frame {
    Frame::empty(id, FrameKind::Ping)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_frame_reaches_the_writer_in_the_order_of_its_sender() {
    const FRAMES: u64 = 10_000;
    let (outbox, mut outgoing) = server_outbox();
    let outbox = Arc::new(outbox);
    for sender in 0..2_u64 {
        let outbox = outbox.clone();
        tokio::spawn(async move {
            for n in 0..FRAMES {
                outbox.put(None, frame(2 * n + sender)).expect("it is open");
                tokio::task::yield_now().await;
            }
        });
    }
    let (mut batch, mut next) = (Vec::new(), [0, 1]);
    while next != [2 * FRAMES, 2 * FRAMES + 1] {
        batch.clear();
        outgoing.take(&mut batch, 7, 1_000).await;
        assert!((1..=7).contains(&batch.len()));
        for frame in &batch {
            let next = &mut next[(frame.id % 2) as usize];
            assert_eq!(frame.id, *next);
            *next += 2;
        }
    }
}

#[test]
fn closing_an_outbox_returns_the_queued_frames_and_rejects_new_ones() {
    let (outbox, mut outgoing) = server_outbox();
    outbox.put(None, frame(1)).expect("it is open");
    let left: Vec<u64> = outgoing.close().iter().map(|frame| frame.id).collect();
    assert_eq!(left, [1]);
    assert!(outbox.put(None, frame(2)).is_err());
}

#[test]
fn an_outbox_is_closed_when_its_writer_ends() {
    let (outbox, outgoing) = server_outbox();
    drop(outgoing);
    assert!(outbox.put(None, frame(1)).is_err());
}

fn call(id: u64, bytes: usize) -> Frame {
    Frame::new(id, FrameKind::Call, vec![b'x'; bytes])
}

#[tokio::test]
async fn a_users_large_calls_do_not_delay_another_user() {
    const MIB: usize = 1024 * 1024;
    let (outbox, mut outgoing) = server_outbox();
    for id in 0..3 {
        outbox.put(Some(1), call(id, 8 * MIB)).expect("room");
    }
    outbox.put(Some(2), call(100, 50)).expect("room");
    outbox.put(None, frame(200)).expect("room");
    let mut batch = Vec::new();
    outgoing.take(&mut batch, 256, 64 * 1024).await;
    let ids: Vec<u64> = batch.iter().map(|frame| frame.id).collect();
    assert_eq!(ids, [200, 100, 0], "one large frame at a time");
}

#[test]
fn a_user_who_fills_the_outbox_leaves_room_for_others() {
    const MIB: usize = 1024 * 1024;
    let (outbox, mut outgoing) = server_outbox();
    let fill = |user, size| {
        let queued = (0..1_000)
            .take_while(|_| outbox.put(Some(user), call(1, size)).is_ok())
            .count();
        queued * size
    };
    assert_eq!(fill(1, MIB) / MIB, 32, "half of 64 MiB");
    assert_eq!(outbox.put(Some(1), call(2, MIB)), Err(OutboxError::Full));
    assert_eq!(fill(2, MIB) / MIB, 16);
    assert!(outbox.put(Some(3), call(2, 8 * MIB)).is_ok());
    // A cancel is queued although user 1 may queue no more calls.
    let cancel = Frame::empty(1, FrameKind::Cancel);
    assert_eq!(outbox.put(Some(1), cancel), Ok(()));
    assert!(outgoing.close().len() > 48);
}

#[tokio::test]
async fn a_cancel_stays_behind_the_call_it_cancels() {
    let (outbox, mut outgoing) = server_outbox();
    outbox.put(Some(1), call(1, 100_000)).expect("room");
    outbox.put(Some(2), call(2, 10)).expect("room");
    let cancel = Frame::empty(1, FrameKind::Cancel);
    outbox.put(Some(1), cancel).expect("room");
    let mut batch = Vec::new();
    outgoing.take(&mut batch, 256, usize::MAX).await;
    let sent: Vec<_> = batch.iter().map(|frame| (frame.id, frame.kind)).collect();
    let (call, cancel) = (FrameKind::Call, FrameKind::Cancel);
    assert_eq!(sent, [(2, call), (1, call), (1, cancel)]);
}

#[test]
fn one_pong_answers_any_number_of_pings() {
    let (outbox, mut outgoing) = server_outbox();
    for _ in 0..3 {
        outbox.put_pong().expect("it is open");
    }
    assert_eq!(outgoing.close().len(), 1);
}

#[tokio::test]
async fn a_pong_that_was_not_queued_does_not_prevent_the_next_one() {
    let limits = OutboxLimits {
        total: 2 * size_of::<Frame>(),
        ..OutboxLimits::SERVER
    };
    let (outbox, mut outgoing) = outbox(limits);
    outbox.put(None, frame(1)).expect("it is open");
    assert_eq!(outbox.put_pong(), Err(OutboxError::Overflow));
    outgoing.next().await;
    assert_eq!(outbox.put_pong(), Ok(()));
    assert_eq!(outgoing.next().await.kind, FrameKind::Pong);
}

#[tokio::test]
async fn a_full_outbox_has_no_room_until_it_is_written() {
    let (outbox, mut outgoing) = outbox(OutboxLimits::agent(100));
    outbox.room().await;
    let frame = Frame::new(1, FrameKind::Control, vec![0; 100]);
    outbox.put(None, frame).expect("it is open");
    let mut batch = Vec::new();
    for _ in 0..2 {
        let waited = tokio::time::timeout(Duration::from_millis(20), outbox.room()).await;
        assert!(waited.is_err(), "there is no room");
        // The first `take` returns the frame, whose bytes still count while it is written. The
        // second `take` means that the frame was written.
        let take = outgoing.take(&mut batch, 256, usize::MAX);
        let _ = tokio::time::timeout(Duration::ZERO, take).await;
    }
    outbox.room().await;
}

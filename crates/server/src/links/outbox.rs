//! Frames that wait to be written: any number of senders, one writer. Users take turns, so that one
//! user's large calls do not delay another's. A queue of a channel has room for many frames before
//! the first has come; here an idle link has none.

use std::{
    collections::VecDeque,
    future::poll_fn,
    num::NonZeroUsize,
    sync::Arc,
    task::{Poll, Waker},
};

use parking_lot::Mutex;
use svc_core::fair_queue::{FairQueue, Turn};
use svc_protocol::link::Frame;

/// Bytes that may wait unwritten for one agent, so that an agent that does not read cannot make the
/// server buffer without bound. One user may take as much as is free: alone half of it. Past it,
/// the user's calls go elsewhere or fail.
const QUEUED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes a user sends before it is another user's turn.
const TURN_BYTES: NonZeroUsize = NonZeroUsize::new(64 * 1024).expect("not zero");

/// Room that an empty queue may keep, in frames.
const KEPT_FRAMES: usize = 256;

/// Where frames are put.
pub struct Outbox(Arc<Mutex<Queue>>);

/// Where the writer takes them from; closes the outbox when dropped.
pub struct Outgoing(Arc<Mutex<Queue>>);

/// Why a frame was not queued.
#[derive(Debug, PartialEq, Eq)]
pub enum NotQueued {
    /// The writer is gone, or takes no more.
    Closed,
    /// The user has no share left of what may wait.
    Full,
    /// Not even frames without a payload have room any more: the agent does not read.
    Overflow,
}

struct Queue {
    /// Frames that belong to no user.
    urgent: VecDeque<Frame>,
    urgent_bytes: usize,
    /// Calls, notifications and cancellations, by user.
    frames: FairQueue<Frame>,
    is_closed: bool,
    /// The writer, while it waits for a frame.
    writer: Option<Waker>,
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.frames.is_empty()
    }

    fn pop(&mut self) -> Option<Frame> {
        match self.urgent.pop_front() {
            Some(frame) => {
                self.urgent_bytes -= cost(&frame);
                Some(frame)
            }
            None => self.frames.pop(),
        }
    }

    fn push(&mut self, user: Option<u32>, frame: Frame) -> Result<(), NotQueued> {
        let cost = cost(&frame);
        let waiting = self.urgent_bytes + self.frames.bytes() + cost;
        // Frames without a payload have room beyond: a cancel must not be lost to a burst of calls.
        if frame.payload.is_empty() && waiting > 2 * QUEUED_BYTES_MAX {
            return Err(NotQueued::Overflow);
        }
        match user {
            Some(user) if frame.payload.is_empty() => {
                self.frames.push(user, frame, cost);
            }
            Some(user) => {
                let left = QUEUED_BYTES_MAX.saturating_sub(self.urgent_bytes);
                let pushed = self.frames.push_within(user, frame, cost, left);
                pushed.map_err(|_| NotQueued::Full)?;
            }
            None if waiting > 2 * QUEUED_BYTES_MAX => return Err(NotQueued::Full),
            None => {
                self.urgent_bytes += cost;
                self.urgent.push_back(frame);
            }
        }
        Ok(())
    }

    /// An idle link keeps no memory for a burst that is over.
    fn shrink_empty(&mut self) {
        self.frames.shrink_empty(KEPT_FRAMES);
        if self.urgent.is_empty() && self.urgent.capacity() > KEPT_FRAMES {
            self.urgent = VecDeque::new();
        }
    }
}

/// What a queued frame takes: its bytes, and the memory of the frame itself.
fn cost(frame: &Frame) -> usize {
    frame.len() + size_of::<Frame>()
}

pub fn outbox() -> (Outbox, Outgoing) {
    let queue = Arc::new(Mutex::new(Queue {
        urgent: VecDeque::new(),
        urgent_bytes: 0,
        frames: FairQueue::new(Turn::Bytes(TURN_BYTES)),
        is_closed: false,
        writer: None,
    }));
    (Outbox(queue.clone()), Outgoing(queue))
}

impl Outbox {
    /// Queues a frame of a user behind the user's others, or one that belongs to no user ahead of
    /// all that do.
    pub fn put(&self, user: Option<u32>, frame: Frame) -> Result<(), NotQueued> {
        let mut queue = self.0.lock();
        if queue.is_closed {
            return Err(NotQueued::Closed);
        }
        queue.push(user, frame)?;
        let writer = queue.writer.take();
        drop(queue);
        if let Some(writer) = writer {
            writer.wake();
        }
        Ok(())
    }
}

impl Outgoing {
    /// Waits until there are frames, and moves some of them to the end of `batch`: at most
    /// `frames_max`, and no more once they have `bytes_max` together. What is taken is ahead of
    /// everything that comes later.
    pub async fn take(&mut self, batch: &mut Vec<Frame>, frames_max: usize, bytes_max: usize) {
        poll_fn(|context| {
            let mut queue = self.0.lock();
            if queue.is_empty() {
                queue.writer = Some(context.waker().clone());
                return Poll::Pending;
            }
            let (mut frames, mut bytes) = (0, 0);
            while frames < frames_max
                && bytes < bytes_max
                && let Some(frame) = queue.pop()
            {
                frames += 1;
                bytes += frame.len();
                batch.push(frame);
            }
            if queue.is_empty() {
                queue.shrink_empty();
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Takes no more frames, and gives those that still wait.
    pub fn close(&mut self) -> Vec<Frame> {
        let mut queue = self.0.lock();
        queue.is_closed = true;
        std::iter::from_fn(|| queue.pop()).collect()
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use svc_protocol::link::FrameKind;

    use super::*;

    fn frame(id: u64) -> Frame {
        Frame::empty(id, FrameKind::Ping)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_frame_reaches_the_writer_in_the_order_of_its_sender() {
        const FRAMES: u64 = 10_000;
        let (outbox, mut outgoing) = outbox();
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
    fn a_closed_outbox_gives_what_waited_and_takes_nothing() {
        let (outbox, mut outgoing) = outbox();
        outbox.put(None, frame(1)).expect("it is open");
        let left: Vec<u64> = outgoing.close().iter().map(|frame| frame.id).collect();
        assert_eq!(left, [1]);
        assert!(outbox.put(None, frame(2)).is_err());
    }

    #[test]
    fn an_outbox_is_closed_when_its_writer_ends() {
        let (outbox, outgoing) = outbox();
        drop(outgoing);
        assert!(outbox.put(None, frame(1)).is_err());
    }

    fn call(id: u64, bytes: usize) -> Frame {
        Frame::new(id, FrameKind::UserCall, vec![b'x'; bytes])
    }

    #[tokio::test]
    async fn a_users_large_calls_do_not_delay_another_user() {
        const MIB: usize = 1024 * 1024;
        let (outbox, mut outgoing) = outbox();
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
        let (outbox, mut outgoing) = outbox();
        let fill = |user, size| {
            let queued = (0..1_000)
                .take_while(|_| outbox.put(Some(user), call(1, size)).is_ok())
                .count();
            queued * size
        };
        assert_eq!(fill(1, MIB) / MIB, 32, "half of 64 MiB");
        assert_eq!(outbox.put(Some(1), call(2, MIB)), Err(NotQueued::Full));
        assert_eq!(fill(2, MIB) / MIB, 16);
        assert!(outbox.put(Some(3), call(2, 8 * MIB)).is_ok());
        // A cancel is never lost to a burst of calls.
        let cancel = Frame::empty(1, FrameKind::Cancel);
        assert_eq!(outbox.put(Some(1), cancel), Ok(()));
        assert!(outgoing.close().len() > 48);
    }

    #[tokio::test]
    async fn a_cancel_stays_behind_the_call_it_cancels() {
        let (outbox, mut outgoing) = outbox();
        outbox.put(Some(1), call(1, 100_000)).expect("room");
        outbox.put(Some(2), call(2, 10)).expect("room");
        let cancel = Frame::empty(1, FrameKind::Cancel);
        outbox.put(Some(1), cancel).expect("room");
        let mut batch = Vec::new();
        outgoing.take(&mut batch, 256, usize::MAX).await;
        let sent: Vec<_> = batch.iter().map(|frame| (frame.id, frame.kind)).collect();
        let (call, cancel) = (FrameKind::UserCall, FrameKind::Cancel);
        assert_eq!(sent, [(2, call), (1, call), (1, cancel)]);
    }
}

//! The queue of frames to be written: any number of senders, one writer. Users take turns, so that
//! one user's large calls do not delay another user's calls. An idle link keeps little memory for
//! frames.

use std::{
    collections::VecDeque,
    future::poll_fn,
    num::NonZeroUsize,
    sync::Arc,
    task::{Poll, Waker},
};

use parking_lot::Mutex;
use svc_core::fair_queue::{FairQueue, Turn};
use tokio::sync::Notify;

use crate::frame::{Frame, FrameKind};

/// The number of bytes that one user may send in a turn.
const TURN_BYTES: NonZeroUsize = NonZeroUsize::new(64 * 1024).expect("not zero");

/// The maximum capacity that an empty queue keeps, in frames.
const KEPT_FRAMES: usize = 256;

/// Limits of an outbox, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct OutboxLimits {
    /// Limit for all queued frames that applies when a frame of a user is added, unless this frame
    /// has no payload. The queued bytes of this user, including the new frame, must not exceed the
    /// bytes that are still free. So a single user gets about half of the limit.
    pub users: usize,
    /// Limit for all frames together, with and without a user.
    pub total: usize,
    /// [`Outbox::room`] waits while the queued frames and the frames being written have this many
    /// bytes or more.
    pub room: usize,
}

impl OutboxLimits {
    /// The limits of the server: an agent that does not read must not make the server buffer
    /// without bound. Beyond `users`, a user's calls go to another provider or fail. Frames without
    /// a payload may exceed `users`: a burst of calls must not prevent a cancel.
    pub const SERVER: Self = Self {
        users: 64 * 1024 * 1024,
        total: 128 * 1024 * 1024,
        room: usize::MAX,
    };

    /// The limits of the agent: no frame is rejected, and producers of many bytes wait for
    /// [`Outbox::room`].
    pub const fn agent(room: usize) -> Self {
        Self {
            users: usize::MAX,
            total: usize::MAX,
            room,
        }
    }
}

/// The sending end of the queue.
#[derive(Clone)]
pub struct Outbox(Arc<OutboxState>);

/// The writer's end of the queue. Closes the outbox when dropped.
pub struct OutboxReader(Arc<OutboxState>);

/// Why a frame was not queued.
#[derive(Debug, PartialEq, Eq)]
pub enum OutboxError {
    /// The writer has ended, or has closed the outbox.
    Closed,
    /// The user has used up their share of the queue. For a frame without a user, the whole queue
    /// is full.
    Full,
    /// The queue is full even for frames without a payload: the other end does not read.
    Overflow,
}

struct OutboxState {
    queue: Mutex<Queue>,
    /// Wakes the producers that wait in [`Outbox::room`].
    room: Notify,
}

struct Queue {
    limits: OutboxLimits,
    /// Frames without a user; written first.
    urgent: VecDeque<Frame>,
    urgent_bytes: usize,
    /// Calls, notifications and cancellations, by user.
    frames: FairQueue<Frame>,
    /// Bytes of the batch that the writer took last and may still be writing.
    writing_bytes: usize,
    /// Whether a pong is queued. One pong answers any number of pings.
    has_pong: bool,
    is_closed: bool,
    /// The writer, while it waits for a frame.
    writer: Option<Waker>,
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.frames.is_empty()
    }

    fn waiting_bytes(&self) -> usize {
        self.urgent_bytes + self.frames.bytes()
    }

    fn has_room(&self) -> bool {
        self.is_closed || self.waiting_bytes() + self.writing_bytes < self.limits.room
    }

    fn pop(&mut self) -> Option<Frame> {
        match self.urgent.pop_front() {
            Some(frame) => {
                self.urgent_bytes -= cost(&frame);
                if frame.kind == FrameKind::Pong {
                    self.has_pong = false;
                }
                Some(frame)
            }
            None => self.frames.pop(),
        }
    }

    fn push(&mut self, user: Option<u32>, frame: Frame) -> Result<(), OutboxError> {
        let cost = cost(&frame);
        let is_over = self.waiting_bytes() + cost > self.limits.total;
        if frame.payload.is_empty() && is_over {
            return Err(OutboxError::Overflow);
        }
        match user {
            Some(user) if frame.payload.is_empty() => {
                self.frames.push(user, frame, cost);
            }
            Some(user) => {
                let left = self.limits.users.saturating_sub(self.urgent_bytes);
                let pushed = self.frames.push_within(user, frame, cost, left);
                pushed.map_err(|_| OutboxError::Full)?;
            }
            None if is_over => return Err(OutboxError::Full),
            None => {
                self.urgent_bytes += cost;
                self.has_pong |= frame.kind == FrameKind::Pong;
                self.urgent.push_back(frame);
            }
        }
        Ok(())
    }

    /// Frees the memory that an empty queue has kept from a burst.
    fn shrink_empty(&mut self) {
        self.frames.shrink_empty(KEPT_FRAMES);
        if self.urgent.is_empty() && self.urgent.capacity() > KEPT_FRAMES {
            self.urgent = VecDeque::new();
        }
    }
}

/// The memory of a queued frame: its bytes on the wire, and the struct [`Frame`].
fn cost(frame: &Frame) -> usize {
    frame.len() + size_of::<Frame>()
}

pub fn outbox(limits: OutboxLimits) -> (Outbox, OutboxReader) {
    let queue = Queue {
        limits,
        urgent: VecDeque::new(),
        urgent_bytes: 0,
        frames: FairQueue::new(Turn::Bytes(TURN_BYTES)),
        writing_bytes: 0,
        has_pong: false,
        is_closed: false,
        writer: None,
    };
    let state = Arc::new(OutboxState {
        queue: Mutex::new(queue),
        room: Notify::new(),
    });
    (Outbox(state.clone()), OutboxReader(state))
}

impl Outbox {
    /// Queues a frame: after the other frames of its user, or, without a user, ahead of all users'
    /// frames.
    pub fn put(&self, user: Option<u32>, frame: Frame) -> Result<(), OutboxError> {
        let mut queue = self.0.queue.lock();
        if queue.is_closed {
            return Err(OutboxError::Closed);
        }
        queue.push(user, frame)?;
        let writer = queue.writer.take();
        drop(queue);
        if let Some(writer) = writer {
            writer.wake();
        }
        Ok(())
    }

    /// Queues the answer to a ping, unless one is queued already.
    pub fn put_pong(&self) -> Result<(), OutboxError> {
        if self.0.queue.lock().has_pong {
            return Ok(());
        }
        self.put(None, Frame::empty(0, FrameKind::Pong))
    }

    /// Whether a producer of many bytes may continue.
    pub fn has_room(&self) -> bool {
        self.0.queue.lock().has_room()
    }

    /// Waits while too many bytes are queued. Returns at once if the outbox is closed.
    pub async fn room(&self) {
        loop {
            let notified = self.0.room.notified();
            if self.has_room() {
                return;
            }
            notified.await;
        }
    }
}

impl OutboxReader {
    /// Waits until there are frames, and appends some of them to `batch`: at most `frames_max`, and
    /// none after the batch has reached `bytes_max`. At the next call, these frames count as
    /// written.
    pub async fn take(&mut self, batch: &mut Vec<Frame>, frames_max: usize, bytes_max: usize) {
        poll_fn(|context| {
            let mut queue = self.0.queue.lock();
            let had_room = queue.has_room();
            let (mut frames, mut bytes) = (0, 0);
            while frames < frames_max
                && bytes < bytes_max
                && let Some(frame) = queue.pop()
            {
                frames += 1;
                bytes += frame.len();
                batch.push(frame);
            }
            queue.writing_bytes = bytes;
            if frames == 0 {
                queue.writer = Some(context.waker().clone());
            } else if queue.is_empty() {
                queue.shrink_empty();
            }
            if !had_room && queue.has_room() {
                self.0.room.notify_waiters();
            }
            match frames {
                0 => Poll::Pending,
                _ => Poll::Ready(()),
            }
        })
        .await;
    }

    /// The next frame.
    pub async fn next(&mut self) -> Frame {
        let mut batch = Vec::with_capacity(1);
        self.take(&mut batch, 1, usize::MAX).await;
        batch.remove(0)
    }

    /// Closes the outbox, and returns the queued frames.
    pub fn close(&mut self) -> Vec<Frame> {
        let mut queue = self.0.queue.lock();
        queue.is_closed = true;
        self.0.room.notify_waiters();
        std::iter::from_fn(|| queue.pop()).collect()
    }
}

impl Drop for OutboxReader {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;

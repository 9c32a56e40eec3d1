//! Frames that wait to be written: any number of senders, one writer. A queue of a channel has
//! room for many frames before the first has come; here an idle link has none.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
};

use parking_lot::Mutex;
use svc_protocol::link::Frame;

/// Room that an empty queue may keep, in frames.
const KEPT_FRAMES: usize = 256;

/// Where frames are put.
pub struct Outbox(Arc<Mutex<Queue>>);

/// Where the writer takes them from; closes the outbox when dropped.
pub struct Outgoing(Arc<Mutex<Queue>>);

/// The writer is gone, or takes no more.
#[derive(Debug)]
pub struct Closed;

#[derive(Default)]
struct Queue {
    frames: VecDeque<Frame>,
    is_closed: bool,
    /// The writer, while it waits for a frame.
    writer: Option<Waker>,
}

pub fn outbox() -> (Outbox, Outgoing) {
    let queue = Arc::<Mutex<Queue>>::default();
    (Outbox(queue.clone()), Outgoing(queue))
}

impl Outbox {
    pub fn put(&self, frame: Frame) -> Result<(), Closed> {
        let mut queue = self.0.lock();
        if queue.is_closed {
            return Err(Closed);
        }
        queue.frames.push_back(frame);
        let writer = queue.writer.take();
        drop(queue);
        if let Some(writer) = writer {
            writer.wake();
        }
        Ok(())
    }
}

impl Outgoing {
    /// Waits until there are frames, and moves at most `most` of them to the end of `batch`.
    pub async fn take(&mut self, batch: &mut Vec<Frame>, most: usize) {
        poll_fn(|context| {
            let mut queue = self.0.lock();
            if queue.frames.is_empty() {
                queue.writer = Some(context.waker().clone());
                return Poll::Pending;
            }
            let count = queue.frames.len().min(most);
            batch.extend(queue.frames.drain(..count));
            if queue.frames.is_empty() && queue.frames.capacity() > KEPT_FRAMES {
                queue.frames = VecDeque::new();
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Takes no more frames, and gives those that still wait.
    pub fn close(&mut self) -> VecDeque<Frame> {
        let mut queue = self.0.lock();
        queue.is_closed = true;
        std::mem::take(&mut queue.frames)
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
                    outbox.put(frame(2 * n + sender)).expect("it is open");
                    tokio::task::yield_now().await;
                }
            });
        }
        let (mut batch, mut next) = (Vec::new(), [0, 1]);
        while next != [2 * FRAMES, 2 * FRAMES + 1] {
            batch.clear();
            outgoing.take(&mut batch, 7).await;
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
        outbox.put(frame(1)).expect("it is open");
        let left: Vec<u64> = outgoing.close().iter().map(|frame| frame.id).collect();
        assert_eq!(left, [1]);
        assert!(outbox.put(frame(2)).is_err());
    }

    #[test]
    fn an_outbox_is_closed_when_its_writer_ends() {
        let (outbox, outgoing) = outbox();
        drop(outgoing);
        assert!(outbox.put(frame(1)).is_err());
    }
}

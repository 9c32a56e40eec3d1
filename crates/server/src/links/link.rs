//! One live link, as the rest of the server sees it: something calls can be put on.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_protocol::link::{Control, Frame, FrameKind, Goodbye, PROGRESS_BYTES_MAX};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    calls::{Answer, CallTable, InFlight},
    outbox::{Outbox, Outgoing, outbox},
    reports::Reports,
};
use crate::identity::Caller;

/// Bytes that may wait unwritten for one agent. Past it, calls go elsewhere or fail, so that an
/// agent that does not read cannot make the server buffer without bound.
const QUEUED_BYTES_MAX: usize = 32 * 1024 * 1024;

pub struct Link {
    /// Tells a reconnect from a second agent.
    pub instance: String,
    /// Whose agent token opened the link.
    pub caller: Caller,
    outbox: Outbox,
    queued_bytes: AtomicUsize,
    calls: Mutex<CallTable>,
    /// Cancelled to end the link.
    ending: CancellationToken,
    /// What to say before the link ends.
    last_words: Mutex<Option<Goodbye>>,
    /// What the agent said before it left.
    agent_goodbye: Mutex<Option<Goodbye>>,
    /// A pong is queued: one answers any number of pings.
    pong_owed: AtomicBool,
}

/// The frame could not be queued; nothing was sent.
#[derive(Debug)]
pub struct NotSent;

impl Link {
    pub fn new(
        instance: String,
        caller: Caller,
        ending: CancellationToken,
    ) -> (Arc<Self>, Outgoing) {
        let (outbox, outgoing) = outbox();
        let link = Self {
            instance,
            caller,
            outbox,
            queued_bytes: AtomicUsize::new(0),
            calls: Mutex::default(),
            ending,
            last_words: Mutex::default(),
            agent_goodbye: Mutex::default(),
            pong_owed: AtomicBool::new(false),
        };
        (Arc::new(link), outgoing)
    }

    /// Puts a call on the link. Dropping the pending call before its answer cancels it.
    pub fn call(
        self: &Arc<Self>,
        payload: Bytes,
        in_flight: &Arc<AtomicU32>,
        serial: bool,
        reports: Option<Reports>,
    ) -> Result<PendingCall, NotSent> {
        let (id, answer) = self
            .calls
            .lock()
            .insert(InFlight::new(in_flight), serial, reports)
            .ok_or(NotSent)?;
        let pending = PendingCall {
            link: Arc::clone(self),
            id,
            answer,
            done: false,
        };
        match self.send(Frame {
            id,
            kind: FrameKind::Call,
            payload,
        }) {
            Ok(()) => Ok(pending),
            Err(NotSent) => {
                // Nothing reached the agent, so nothing needs to be cancelled there.
                self.calls.lock().complete(id, Answer::Unavailable);
                pending.forget();
                Err(NotSent)
            }
        }
    }

    pub fn notify(&self, payload: Bytes) -> Result<(), NotSent> {
        self.send(Frame {
            id: 0,
            kind: FrameKind::Notify,
            payload,
        })
    }

    pub fn control(&self, id: u64, message: &Control) -> Result<(), NotSent> {
        let payload = serde_json::to_vec(message).expect("control messages are always JSON");
        self.send(Frame::new(id, FrameKind::Control, payload))
    }

    pub fn send(&self, frame: Frame) -> Result<(), NotSent> {
        let cost = cost(&frame);
        let waiting = self.queued_bytes.fetch_add(cost, Ordering::Relaxed) + cost;
        // Frames without a payload have room beyond: a cancel must not be lost to a burst of calls.
        let small = frame.payload.is_empty();
        let room = if small {
            2 * QUEUED_BYTES_MAX
        } else {
            QUEUED_BYTES_MAX
        };
        let fits = waiting <= room;
        if small && !fits {
            self.end(Goodbye::Protocol);
        }
        if self.ending.is_cancelled() || !fits || self.outbox.put(frame).is_err() {
            self.queued_bytes.fetch_sub(cost, Ordering::Relaxed);
            return Err(NotSent);
        }
        Ok(())
    }

    /// Answers a ping.
    pub fn pong(&self) {
        if !self.pong_owed.swap(true, Ordering::Relaxed) {
            let _ = self.send(Frame::empty(0, FrameKind::Pong));
        }
    }

    /// The writer has put these frames on the wire.
    pub fn written(&self, frames: &[Frame]) {
        let bytes: usize = frames.iter().map(cost).sum();
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        if frames.iter().any(|frame| frame.kind == FrameKind::Pong) {
            self.pong_owed.store(false, Ordering::Relaxed);
        }
    }

    pub fn complete(&self, id: u64, answer: Answer) {
        self.calls.lock().complete(id, answer);
    }

    /// The agent says how far a call is.
    pub fn report(&self, id: u64, report: Bytes) {
        if report.len() <= PROGRESS_BYTES_MAX {
            self.calls.lock().report(id, report);
        }
    }

    /// Ends the link after saying why.
    pub fn end(&self, reason: Goodbye) {
        self.last_words.lock().get_or_insert(reason);
        self.ending.cancel();
    }

    pub fn last_words(&self) -> Option<Goodbye> {
        *self.last_words.lock()
    }

    pub fn set_agent_goodbye(&self, reason: Goodbye) {
        *self.agent_goodbye.lock() = Some(reason);
    }

    pub fn agent_goodbye(&self) -> Option<Goodbye> {
        *self.agent_goodbye.lock()
    }

    pub fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    /// Fails every call in flight: their callers see an interruption.
    pub fn interrupt_calls(&self) {
        self.calls.lock().clear();
    }

    pub fn is_idle(&self) -> bool {
        self.calls.lock().is_empty()
    }

    fn cancel(&self, id: u64) {
        // A link that takes no more frames is ending, and with it the call.
        let _ = self.send(Frame::empty(id, FrameKind::Cancel));
    }
}

/// What a queued frame takes: its bytes, and the room of the frame itself.
fn cost(frame: &Frame) -> usize {
    frame.len() + size_of::<Frame>()
}

/// A call that has been sent and not yet answered.
pub struct PendingCall {
    link: Arc<Link>,
    id: u64,
    answer: oneshot::Receiver<Answer>,
    done: bool,
}

impl PendingCall {
    /// Waits for the answer; a link that dies is an interruption.
    pub async fn answer(&mut self) -> Answer {
        let answer = (&mut self.answer).await.unwrap_or(Answer::Interrupted);
        self.done = true;
        answer
    }

    /// Asks the agent to give the call up; `answer` then tells whether it had been sent.
    pub fn cancel(&self) {
        self.link.cancel(self.id);
    }

    fn forget(mut self) {
        self.done = true;
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if !self.done && self.link.calls.lock().abandon(self.id) {
            self.link.cancel(self.id);
        }
    }
}

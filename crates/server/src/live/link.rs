//! One live link: the rest of the server puts calls and control messages on it.

use std::{
    hash::{DefaultHasher, Hasher},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_core::{ServerId, UserId, journal::CallTimes};
use svc_link::{
    Closing, Control, Frame, FrameKind, Goodbye, Outbox, OutboxError, OutboxLimits, OutboxReader,
    PROGRESS_BYTES_MAX, control_frame, outbox, read_times,
};
use tokio::sync::oneshot;

use super::{
    calls::{Answer, Answered, CallTable, InFlight},
    reports::Reports,
};
use crate::{
    identity::Caller,
    limits::{Account, BudgetFull, ByteBudgets},
};

/// Identifies a user on the links of one space. The calls of different users are sent in turn. In
/// the unlikely case that two users have the same number, they count as one user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserNumber(pub u32);

pub struct Link {
    /// Identifies the agent process; distinguishes a reconnect from a second agent.
    pub instance: String,
    /// The caller that the agent token of this link stands for.
    pub caller: Caller,
    outbox: Outbox,
    /// The agent's home, if it is another server. Then this is a side link: it carries calls, and
    /// never changes the state of the space.
    home: Option<ServerId>,
    /// Whether the agent has registered on this link.
    has_registered: AtomicBool,
    /// Hashes users to numbers that reveal nothing about them. For one space, every server of the
    /// zone gives a user the same number, so that the agent lets users take turns across all its
    /// links.
    numbers: DefaultHasher,
    calls: Mutex<CallTable>,
    /// Count the calls that wait for this link, and the answers of the agent until their callers
    /// have read them.
    budgets: ByteBudgets,
    /// Ends this link. The server's shutdown signal does not end it: calls in flight finish first.
    closing: Closing,
    /// The agent's goodbye.
    agent_goodbye: Mutex<Option<Goodbye>>,
}

/// The properties of a new link.
pub struct LinkSetup {
    pub instance: String,
    pub caller: Caller,
    /// The agent's home, if it is another server.
    pub home: Option<ServerId>,
    /// Secret, and the same for all links of the space.
    pub user_key: [u8; 32],
    pub budgets: ByteBudgets,
}

/// Why a frame was not queued. Nothing was sent.
#[derive(Debug)]
pub enum NotSent {
    /// The link has ended, or its queue is full. Another provider may be tried.
    Unavailable,
    /// The user has no memory left for the frame, on any link.
    BudgetFull(BudgetFull),
}

impl Link {
    pub fn new(setup: LinkSetup) -> (Arc<Self>, OutboxReader) {
        let (outbox, outgoing) = outbox(OutboxLimits::SERVER);
        let mut numbers = DefaultHasher::new();
        numbers.write(&setup.user_key);
        let link = Self {
            instance: setup.instance,
            caller: setup.caller,
            outbox,
            home: setup.home,
            has_registered: AtomicBool::new(false),
            numbers,
            calls: Mutex::default(),
            budgets: setup.budgets,
            closing: Closing::default(),
            agent_goodbye: Mutex::default(),
        };
        (Arc::new(link), outgoing)
    }

    pub fn number_of(&self, user: UserId) -> UserNumber {
        let mut hasher = self.numbers.clone();
        hasher.write_u128(user.0.as_u128());
        // The lower half of the hash is as random as the whole.
        UserNumber(hasher.finish() as u32)
    }

    pub fn is_side(&self) -> bool {
        self.home.is_some()
    }

    /// The agent's home, if it is another server.
    pub fn home(&self) -> Option<ServerId> {
        self.home
    }

    /// Whether this is the first registration on this link. True once.
    pub fn take_first_registration(&self) -> bool {
        !self.has_registered.swap(true, Ordering::Relaxed)
    }

    /// Counts the payload of a frame for a user until it is written. The links of all spaces share
    /// the user's budget: the user may call methods on any number of links that do not read.
    pub fn charge(&self, user: UserId, payload: Vec<u8>) -> Result<Bytes, NotSent> {
        let charged = self.budgets.bodies.charge(Account::User(user), payload);
        charged.map_err(NotSent::BudgetFull)
    }

    /// Puts a call on the link. Dropping the pending call before its answer cancels the call.
    pub fn call(
        self: &Arc<Self>,
        (payer, user): (Option<UserId>, UserNumber),
        payload: Bytes,
        in_flight: &Arc<AtomicU32>,
        serial: bool,
        reports: Option<Reports>,
    ) -> Result<PendingCall, NotSent> {
        let (id, answer) = self
            .calls
            .lock()
            .insert((payer, user.0), InFlight::new(in_flight), serial, reports)
            .ok_or(NotSent::Unavailable)?;
        let pending = PendingCall {
            link: Arc::clone(self),
            user,
            id,
            answer,
            times: CallTimes::default(),
            done: false,
        };
        match self.send_for(user, Frame::new(id, FrameKind::Call, payload)) {
            Ok(()) => Ok(pending),
            Err(error) => {
                // Nothing reached the agent, so nothing needs to be cancelled there.
                self.calls.lock().complete(id, Answer::Unavailable);
                pending.forget();
                Err(error)
            }
        }
    }

    pub fn notify(&self, user: UserNumber, payload: Bytes) -> Result<(), NotSent> {
        self.send_for(user, Frame::new(0, FrameKind::Notify, payload))
    }

    pub fn control(&self, id: u64, message: &Control) -> Result<(), NotSent> {
        self.queue(|| self.outbox.put(None, control_frame(id, message)))
    }

    /// Answers a ping.
    pub fn pong(&self) {
        let _ = self.queue(|| self.outbox.put_pong());
    }

    fn send_for(&self, user: UserNumber, frame: Frame) -> Result<(), NotSent> {
        self.queue(|| self.outbox.put(Some(user.0), frame))
    }

    fn queue(&self, put: impl FnOnce() -> Result<(), OutboxError>) -> Result<(), NotSent> {
        if self.closing.is_ended() {
            return Err(NotSent::Unavailable);
        }
        match put() {
            Ok(()) => Ok(()),
            Err(OutboxError::Closed | OutboxError::Full) => Err(NotSent::Unavailable),
            // The agent does not read: end the link instead of using more memory.
            Err(OutboxError::Overflow) => {
                self.closing.end(Goodbye::Protocol);
                Err(NotSent::Unavailable)
            }
        }
    }

    pub fn complete(&self, id: u64, answer: Answer) {
        self.calls.lock().receive(id, answer, &self.budgets.answers);
    }

    /// Stores the times of a call. The agent sends them before its answer to the call.
    pub fn set_times(&self, id: u64, payload: &[u8]) {
        if let Some(times) = read_times(payload) {
            self.calls.lock().set_times(id, times);
        }
    }

    /// Passes on a progress report of the agent.
    pub fn report(&self, id: u64, report: Bytes) {
        if report.len() <= PROGRESS_BYTES_MAX {
            self.calls.lock().report(id, report, &self.budgets.answers);
        }
    }

    pub fn set_agent_goodbye(&self, reason: Goodbye) {
        *self.agent_goodbye.lock() = Some(reason);
    }

    pub fn agent_goodbye(&self) -> Option<Goodbye> {
        *self.agent_goodbye.lock()
    }

    pub fn closing(&self) -> &Closing {
        &self.closing
    }

    /// Fails every call in flight: the callers get [`Answer::Interrupted`].
    pub fn interrupt_calls(&self) {
        self.calls.lock().clear();
    }

    pub fn is_idle(&self) -> bool {
        self.calls.lock().is_empty()
    }

    /// Queues a cancel frame behind the user's calls, so that the frame does not overtake its call.
    fn cancel(&self, user: UserNumber, id: u64) {
        // A cancel frame is refused only by a link that is ending, which ends the call too.
        let _ = self.send_for(user, Frame::empty(id, FrameKind::Cancel));
    }
}

/// A call that has been sent and not yet answered.
pub struct PendingCall {
    link: Arc<Link>,
    user: UserNumber,
    id: u64,
    answer: oneshot::Receiver<Answered>,
    /// Known after the answer; zero if the agent did not report them. Not an `Option`, which would
    /// make the future of a call larger.
    times: CallTimes,
    done: bool,
}

impl PendingCall {
    /// Waits for the answer. If the link is lost, the answer is [`Answer::Interrupted`].
    pub async fn answer(&mut self) -> Answer {
        let answered = (&mut self.answer).await.unwrap_or(Answered {
            answer: Answer::Interrupted,
            times: None,
        });
        self.done = true;
        self.times = answered.times.unwrap_or_default();
        answered.answer
    }

    /// How long the call took in the agent, if the agent said so before its answer.
    pub fn times(&self) -> Option<CallTimes> {
        (self.times != CallTimes::default()).then_some(self.times)
    }

    /// Asks the agent to cancel the call. `answer` then returns [`Answer::Cancelled`], or the
    /// answer that was already on its way.
    pub fn cancel(&self) {
        self.link.cancel(self.user, self.id);
    }

    fn forget(mut self) {
        self.done = true;
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if !self.done && self.link.calls.lock().abandon(self.id) {
            self.link.cancel(self.user, self.id);
        }
    }
}

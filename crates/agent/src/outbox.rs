//! The queues of frames for the servers, one for each open link.
//!
//! An answer names the link of its call and is dropped if that link has ended. Putting a frame into
//! the outbox never waits: a producer of many bytes awaits [`Outbox::room`] first. At most one link
//! is the home link. Control messages go to the home link, except in [`Outbox::control_all`] and in
//! functions that take the number of a link.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_core::journal::CallTimes;
use svc_link::{Control, Frame, FrameKind, OutboxLimits, OutboxReader, control_frame, times_frame};
use svc_protocol::agent_api::LinkRecord;
use thiserror::Error;
use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::CancellationToken;

/// How long one full link may delay the answers for the other links. After that the full link ends.
const FULL_MAX: Duration = Duration::from_secs(2);

/// The call that an answer belongs to: a frame id on one link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Caller {
    /// Number of the link, counted from the agent's start.
    pub link: u64,
    pub frame: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the link to the server was lost")]
pub struct LinkLost;

pub struct Outbox {
    open: Mutex<OpenLinks>,
    queued_bytes_max: usize,
    next_id: AtomicU64,
    next_link: AtomicU64,
}

#[derive(Default)]
struct OpenLinks {
    /// The number of the home link.
    home: Option<u64>,
    /// A short list: `Policy::links_max` limits it.
    links: Vec<OpenLink>,
}

struct OpenLink {
    number: u64,
    frames: svc_link::Outbox,
    /// Control messages that the server has not answered yet.
    requests: HashMap<u64, oneshot::Sender<Control>>,
    /// Cancelled if this link stays full while other links are open.
    stuck: CancellationToken,
    record: LinkRecord,
}

impl OpenLinks {
    fn find(&mut self, number: u64) -> Option<&mut OpenLink> {
        self.links.iter_mut().find(|link| link.number == number)
    }

    fn home(&mut self) -> Option<&mut OpenLink> {
        self.find(self.home?)
    }
}

impl Outbox {
    pub fn new(queued_bytes_max: usize) -> Self {
        Self {
            open: Mutex::default(),
            queued_bytes_max,
            next_id: AtomicU64::new(1),
            next_link: AtomicU64::new(1),
        }
    }

    /// The number of a new link.
    pub fn new_link(&self) -> u64 {
        self.next_link.fetch_add(1, Ordering::Relaxed)
    }

    /// Opens the queue of a new link, whose writer takes the frames. The token is cancelled if the
    /// link must end because its server does not read.
    pub fn open(&self, number: u64, record: LinkRecord) -> (OutboxReader, CancellationToken) {
        let (frames, outgoing) = svc_link::outbox(OutboxLimits::agent(self.queued_bytes_max));
        let stuck = CancellationToken::new();
        let mut open = self.open.lock();
        if record.is_home {
            open.home = Some(number);
            // The old home link of an agent that moves stays open for its calls.
            open.links
                .iter_mut()
                .for_each(|link| link.record.is_home = false);
        }
        open.links.push(OpenLink {
            number,
            frames,
            requests: HashMap::new(),
            stuck: stuck.clone(),
            record,
        });
        (outgoing, stuck)
    }

    /// Closes the queue of a link: open requests fail, answers to its calls are dropped.
    pub fn close(&self, number: u64) {
        let mut open = self.open.lock();
        open.links.retain(|link| link.number != number);
        if open.home == Some(number) {
            open.home = None;
        }
    }

    /// The open links, the home link first.
    pub fn links(&self) -> Vec<LinkRecord> {
        let open = self.open.lock();
        let mut links: Vec<_> = open.links.iter().map(|link| link.record.clone()).collect();
        links.sort_by_key(|link| (!link.is_home, link.since));
        links
    }

    /// Answers a call or reports on it, if its link is still up.
    pub fn answer(
        &self,
        caller: Caller,
        kind: FrameKind,
        payload: Bytes,
        times: Option<CallTimes>,
    ) {
        if let Some(link) = self.open.lock().find(caller.link) {
            if let Some(times) = times {
                link.put(times_frame(caller.frame, times));
            }
            link.put(Frame::new(caller.frame, kind, payload));
        }
    }

    /// Sends a control message, which gets no answer, on the home link. Returns `false` if the
    /// message was not queued.
    pub fn control(&self, control: &Control) -> bool {
        let frame = control_frame(self.new_id(), control);
        let mut open = self.open.lock();
        open.home().is_some_and(|link| link.put(frame))
    }

    /// Sends a control message, which gets no answer, on every link.
    pub fn control_all(&self, control: &Control) {
        let frame = control_frame(self.new_id(), control);
        for link in &self.open.lock().links {
            link.put(frame.clone());
        }
    }

    /// Answers a ping.
    pub fn pong(&self, number: u64) {
        if let Some(link) = self.open.lock().find(number) {
            // An error means that the link is ending.
            let _ = link.frames.put_pong();
        }
    }

    /// Sends a control message on the home link and waits for the answer with its id.
    pub async fn request(&self, control: &Control) -> Result<Control, LinkLost> {
        let home = self.open.lock().home.ok_or(LinkLost)?;
        self.request_on(home, control).await
    }

    /// Waits until the server has stored the log lines of earlier control messages. Does not wait if
    /// no home link is up.
    pub async fn flush_log(&self) {
        // If the link is lost, the lines may be lost too.
        let _ = self.request(&Control::FlushLog).await;
    }

    /// Like [`request`](Self::request), but on the link with this number.
    pub async fn request_on(&self, number: u64, control: &Control) -> Result<Control, LinkLost> {
        let id = self.new_id();
        let (sender, receiver) = oneshot::channel();
        {
            let mut open = self.open.lock();
            let link = open.find(number).ok_or(LinkLost)?;
            link.requests.insert(id, sender);
            link.put(control_frame(id, control));
        }
        receiver.await.map_err(|_| LinkLost)
    }

    /// Passes the server's answer to the request. Returns `false` if no request of this link has
    /// this id.
    pub fn answered(&self, number: u64, id: u64, control: Control) -> bool {
        let mut open = self.open.lock();
        let asked = open.find(number).and_then(|link| link.requests.remove(&id));
        asked.is_some_and(|sender| sender.send(control).is_ok())
    }

    /// Waits while too many bytes are queued for one of the links. If there are other links, a link
    /// that stays full for `FULL_MAX` is ended, because the answers for the other links wait too.
    pub async fn room(&self) {
        let (full, stuck) = {
            let open = self.open.lock();
            let full = open.links.iter().find(|link| !link.frames.has_room());
            let Some(link) = full else { return };
            let stuck = (open.links.len() > 1).then(|| link.stuck.clone());
            (link.frames.clone(), stuck)
        };
        match stuck {
            None => full.room().await,
            Some(stuck) => {
                if timeout(FULL_MAX, full.room()).await.is_err() {
                    stuck.cancel();
                }
            }
        }
    }

    fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}

impl OpenLink {
    /// Queues a frame. Returns `false` if the link accepts no more frames.
    fn put(&self, frame: Frame) -> bool {
        self.frames.put(None, frame).is_ok()
    }
}

#[cfg(test)]
pub fn test_record(is_home: bool) -> LinkRecord {
    LinkRecord {
        server_id: svc_core::ServerId::NIL,
        url: "http://a".to_owned(),
        is_home,
        since: svc_core::Timestamp::default(),
    }
}

#[cfg(test)]
impl Outbox {
    /// Opens the queue of a home link.
    pub fn open_home(&self, number: u64) -> OutboxReader {
        self.open(number, test_record(true)).0
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;

    #[tokio::test]
    async fn answers_to_an_earlier_links_calls_are_dropped() {
        let outbox = Outbox::new(1_000);
        let _first = outbox.open_home(1);
        outbox.close(1);
        let mut second = outbox.open_home(2);
        let answer = |link| {
            outbox.answer(
                Caller { link, frame: 7 },
                FrameKind::Result,
                Bytes::new(),
                None,
            );
        };
        answer(1);
        answer(2);
        let sent: Vec<u64> = second.close().iter().map(|frame| frame.id).collect();
        assert_eq!(sent, [7], "only the answer to the second link's call");
    }

    #[tokio::test]
    async fn times_are_sent_before_their_answer() {
        let outbox = Outbox::new(1_000);
        let mut frames = outbox.open_home(1);
        let caller = Caller { link: 1, frame: 7 };
        let times = Some(CallTimes::default());
        outbox.answer(caller, FrameKind::Result, Bytes::new(), times);
        let sent: Vec<_> = frames.close().iter().map(|frame| frame.kind).collect();
        assert_eq!(sent, [FrameKind::Times, FrameKind::Result]);
    }

    #[tokio::test]
    async fn a_request_fails_when_the_link_is_lost() {
        let outbox = Arc::new(Outbox::new(1_000));
        assert_eq!(outbox.request(&Control::Unregister).await, Err(LinkLost));
        let mut frames = outbox.open_home(1);
        let asking = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move { outbox.request(&Control::Unregister).await }
        });
        let id = frames.next().await.id;
        assert!(outbox.answered(1, id, Control::Unregistered));
        assert!(!outbox.answered(1, id, Control::Unregistered));
        assert_eq!(asking.await.expect("runs"), Ok(Control::Unregistered));
        let asking = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move { outbox.request(&Control::Unregister).await }
        });
        frames.next().await;
        outbox.close(1);
        assert_eq!(asking.await.expect("runs"), Err(LinkLost));
    }

    #[tokio::test]
    async fn a_full_outbox_has_no_room_until_it_is_written() {
        let outbox = Outbox::new(100);
        let mut frames = outbox.open_home(1);
        outbox.room().await;
        let caller = Caller { link: 1, frame: 7 };
        outbox.answer(caller, FrameKind::Result, vec![0; 100].into(), None);
        let waited = timeout(Duration::from_millis(20), outbox.room()).await;
        assert!(waited.is_err(), "there is no room");
        frames.close();
        outbox.room().await;
    }

    #[tokio::test]
    async fn answers_use_the_link_of_their_call_and_control_messages_the_home_link() {
        let outbox = Outbox::new(1_000);
        let mut home = outbox.open_home(1);
        let (mut side, _) = outbox.open(2, test_record(false));
        let caller = Caller { link: 2, frame: 7 };
        outbox.answer(caller, FrameKind::Result, Bytes::new(), None);
        assert!(outbox.control(&Control::Unregister));
        let kinds = |frames: Vec<Frame>| frames.iter().map(|frame| frame.kind).collect::<Vec<_>>();
        outbox.control_all(&Control::Unregister);
        let (answer, control) = (FrameKind::Result, FrameKind::Control);
        assert_eq!(kinds(side.close()), [answer, control]);
        assert_eq!(kinds(home.close()), [control, control]);
        let are_home = || -> Vec<_> { outbox.links().iter().map(|link| link.is_home).collect() };
        assert_eq!(are_home(), [true, false]);
        outbox.close(1);
        assert!(!outbox.control(&Control::Unregister));
        assert_eq!(outbox.links().len(), 1);
        // A new home link leaves the old home link open.
        let (_old, _new) = (outbox.open_home(3), outbox.open_home(4));
        assert_eq!(are_home(), [true, false, false]);
        outbox.close(3);
        assert!(outbox.control(&Control::Unregister));
    }

    #[tokio::test]
    async fn a_link_that_stays_full_ends_if_other_links_wait_for_it() {
        let outbox = Outbox::new(100);
        let _home = outbox.open_home(1);
        let (_frames, stuck) = outbox.open(2, test_record(false));
        let caller = Caller { link: 2, frame: 7 };
        outbox.answer(caller, FrameKind::Result, vec![0; 100].into(), None);
        outbox.room().await;
        assert!(stuck.is_cancelled());
    }
}

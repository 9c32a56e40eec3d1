//! Queue of everything bound for the server, linked or not.
//!
//! Answers name the link their call came in on; after a reconnect they are dropped. The outbox
//! never waits: a producer of many bytes awaits [`Outbox::room`] first.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_protocol::link::{Control, Frame, FrameKind};
use thiserror::Error;
use tokio::sync::{Notify, mpsc, oneshot};

/// Who waits for an answer: a frame id on one link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Caller {
    /// Counts the links of this agent's life.
    pub link: u64,
    pub frame: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the link to the server was lost")]
pub struct LinkLost;

pub struct Outbox {
    open: Mutex<Option<OpenLink>>,
    queued_bytes: AtomicUsize,
    queued_bytes_max: usize,
    room: Notify,
    next_id: AtomicU64,
}

struct OpenLink {
    number: u64,
    /// Whether the server knows what a report on a call is.
    takes_progress: bool,
    frames: mpsc::UnboundedSender<Frame>,
    /// Our control messages that the server has yet to answer.
    requests: HashMap<u64, oneshot::Sender<Control>>,
}

impl Outbox {
    pub fn new(queued_bytes_max: usize) -> Self {
        Self {
            open: Mutex::new(None),
            queued_bytes: AtomicUsize::new(0),
            queued_bytes_max,
            room: Notify::new(),
            next_id: AtomicU64::new(1),
        }
    }

    /// Opens the outbox for a new link; its writer takes the frames from the receiver.
    pub fn open(&self, number: u64, takes_progress: bool) -> mpsc::UnboundedReceiver<Frame> {
        let (frames, receiver) = mpsc::unbounded_channel();
        *self.open.lock() = Some(OpenLink {
            number,
            takes_progress,
            frames,
            requests: HashMap::new(),
        });
        receiver
    }

    /// Ends the link for all who use it: requests fail, answers to its calls are dropped.
    pub fn close(&self) {
        let mut open = self.open.lock();
        *open = None;
        self.queued_bytes.store(0, Ordering::Relaxed);
        self.room.notify_waiters();
    }

    /// Answers a call or reports on it, if its link still stands.
    pub fn answer(&self, caller: Caller, kind: FrameKind, payload: Bytes) {
        let open = self.open.lock();
        if let Some(link) = open.as_ref()
            && link.number == caller.link
            && (kind != FrameKind::Progress || link.takes_progress)
        {
            self.push(link, Frame::new(caller.frame, kind, payload));
        }
    }

    /// Sends a frame that belongs to no call; `false` while unlinked.
    pub fn send(&self, frame: Frame) -> bool {
        let open = self.open.lock();
        open.as_ref().is_some_and(|link| self.push(link, frame))
    }

    /// Sends a control message that nothing answers; `false` while unlinked.
    pub fn control(&self, control: &Control) -> bool {
        self.send(control_frame(self.new_id(), control))
    }

    /// Sends a control message and waits for the answer under its id.
    pub async fn request(&self, control: &Control) -> Result<Control, LinkLost> {
        let id = self.new_id();
        let (sender, receiver) = oneshot::channel();
        {
            let mut open = self.open.lock();
            let link = open.as_mut().ok_or(LinkLost)?;
            link.requests.insert(id, sender);
            self.push(link, control_frame(id, control));
        }
        receiver.await.map_err(|_| LinkLost)
    }

    /// Hands the server's answer to whoever asked; `false` if nobody did.
    pub fn answered(&self, id: u64, control: Control) -> bool {
        let mut open = self.open.lock();
        let asked = open.as_mut().and_then(|link| link.requests.remove(&id));
        asked.is_some_and(|sender| sender.send(control).is_ok())
    }

    /// The writer reports what it wrote.
    pub fn written(&self, bytes: usize) {
        // Saturating: the last frames of a link are written after it was closed and counted out.
        let before = self
            .queued_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |queued| {
                Some(queued.saturating_sub(bytes))
            })
            .unwrap_or_default();
        if before >= self.queued_bytes_max && before < self.queued_bytes_max + bytes {
            self.room.notify_waiters();
        }
    }

    /// Waits while too many bytes are queued for a slow link.
    pub async fn room(&self) {
        while self.queued_bytes.load(Ordering::Relaxed) >= self.queued_bytes_max {
            let notified = self.room.notified();
            if self.queued_bytes.load(Ordering::Relaxed) < self.queued_bytes_max {
                return;
            }
            notified.await;
        }
    }

    fn push(&self, link: &OpenLink, frame: Frame) -> bool {
        // Counted first: the writer may take it at once.
        self.queued_bytes.fetch_add(frame.len(), Ordering::Relaxed);
        link.frames.send(frame).is_ok()
    }

    fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}

pub fn control_frame(id: u64, control: &Control) -> Frame {
    let json = serde_json::to_vec(control).expect("a control message is always JSON");
    Frame::new(id, FrameKind::Control, json)
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;

    #[tokio::test]
    async fn answers_to_an_earlier_links_calls_are_dropped() {
        let outbox = Outbox::new(1_000);
        let _first = outbox.open(1, true);
        outbox.close();
        let mut second = outbox.open(2, true);
        let answer = |link| {
            outbox.answer(Caller { link, frame: 7 }, FrameKind::Result, Bytes::new());
        };
        answer(1);
        assert!(second.try_recv().is_err());
        answer(2);
        assert_eq!(second.try_recv().expect("sent").id, 7);
    }

    #[tokio::test]
    async fn a_request_fails_when_the_link_goes() {
        let outbox = Arc::new(Outbox::new(1_000));
        assert_eq!(outbox.request(&Control::Unregister).await, Err(LinkLost));
        let mut frames = outbox.open(1, true);
        let asking = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move { outbox.request(&Control::Unregister).await }
        });
        let id = frames.recv().await.expect("asked").id;
        assert!(outbox.answered(id, Control::Unregistered));
        assert!(!outbox.answered(id, Control::Unregistered));
        assert_eq!(asking.await.expect("runs"), Ok(Control::Unregistered));
        let asking = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move { outbox.request(&Control::Unregister).await }
        });
        frames.recv().await.expect("asked");
        outbox.close();
        assert_eq!(asking.await.expect("runs"), Err(LinkLost));
    }

    #[tokio::test]
    async fn a_full_outbox_has_no_room_until_it_is_written() {
        let outbox = Outbox::new(100);
        let _frames = outbox.open(1, true);
        outbox.room().await;
        outbox.send(Frame::new(1, FrameKind::Control, vec![0; 100]));
        let waited = tokio::time::timeout(Duration::from_millis(20), outbox.room()).await;
        assert!(waited.is_err(), "there is no room");
        outbox.written(113);
        outbox.room().await;
    }
}

//! The queue of frames for the server.
//!
//! An answer names the link of its call and is dropped after a reconnect. Putting a frame into the
//! outbox never waits: a producer of many bytes awaits [`Outbox::room`] first.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_link::{Control, Frame, FrameKind, OutboxLimits, OutboxReader, control_frame};
use thiserror::Error;
use tokio::sync::oneshot;

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
    open: Mutex<Option<OpenLink>>,
    queued_bytes_max: usize,
    next_id: AtomicU64,
}

struct OpenLink {
    number: u64,
    frames: svc_link::Outbox,
    /// Control messages that the server has not answered yet.
    requests: HashMap<u64, oneshot::Sender<Control>>,
}

impl Outbox {
    pub fn new(queued_bytes_max: usize) -> Self {
        Self {
            open: Mutex::new(None),
            queued_bytes_max,
            next_id: AtomicU64::new(1),
        }
    }

    /// Opens the outbox for a new link, whose writer takes the frames.
    pub fn open(&self, number: u64) -> OutboxReader {
        let (frames, outgoing) = svc_link::outbox(OutboxLimits::agent(self.queued_bytes_max));
        *self.open.lock() = Some(OpenLink {
            number,
            frames,
            requests: HashMap::new(),
        });
        outgoing
    }

    /// Closes the outbox of the link: open requests fail, answers to its calls are dropped.
    pub fn close(&self) {
        *self.open.lock() = None;
    }

    /// Answers a call or reports on it, if its link is still up.
    pub fn answer(&self, caller: Caller, kind: FrameKind, payload: Bytes) {
        let open = self.open.lock();
        if let Some(link) = open.as_ref()
            && link.number == caller.link
        {
            link.put(Frame::new(caller.frame, kind, payload));
        }
    }

    /// Sends a control message that gets no answer. Returns `false` without a link.
    pub fn control(&self, control: &Control) -> bool {
        let frame = control_frame(self.new_id(), control);
        let open = self.open.lock();
        open.as_ref().is_some_and(|link| link.put(frame))
    }

    /// Answers a ping.
    pub fn pong(&self) {
        if let Some(link) = self.open.lock().as_ref() {
            // An error means that the link is ending.
            let _ = link.frames.put_pong();
        }
    }

    /// Sends a control message and waits for the answer with its id.
    pub async fn request(&self, control: &Control) -> Result<Control, LinkLost> {
        let id = self.new_id();
        let (sender, receiver) = oneshot::channel();
        {
            let mut open = self.open.lock();
            let link = open.as_mut().ok_or(LinkLost)?;
            link.requests.insert(id, sender);
            link.put(control_frame(id, control));
        }
        receiver.await.map_err(|_| LinkLost)
    }

    /// Passes the server's answer to the request. Returns `false` if no request has this id.
    pub fn answered(&self, id: u64, control: Control) -> bool {
        let mut open = self.open.lock();
        let asked = open.as_mut().and_then(|link| link.requests.remove(&id));
        asked.is_some_and(|sender| sender.send(control).is_ok())
    }

    /// Waits while too many bytes are queued for a slow link.
    pub async fn room(&self) {
        let full = match self.open.lock().as_ref() {
            Some(link) if !link.frames.has_room() => link.frames.clone(),
            _ => return,
        };
        full.room().await;
    }

    fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}

impl OpenLink {
    /// Queues a frame. Returns whether the link still accepts frames.
    fn put(&self, frame: Frame) -> bool {
        self.frames.put(None, frame).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;

    #[tokio::test]
    async fn answers_to_an_earlier_links_calls_are_dropped() {
        let outbox = Outbox::new(1_000);
        let _first = outbox.open(1);
        outbox.close();
        let mut second = outbox.open(2);
        let answer = |link| {
            outbox.answer(Caller { link, frame: 7 }, FrameKind::Result, Bytes::new());
        };
        answer(1);
        answer(2);
        let sent: Vec<u64> = second.close().iter().map(|frame| frame.id).collect();
        assert_eq!(sent, [7], "only the answer to the second link's call");
    }

    #[tokio::test]
    async fn a_request_fails_when_the_link_is_lost() {
        let outbox = Arc::new(Outbox::new(1_000));
        assert_eq!(outbox.request(&Control::Unregister).await, Err(LinkLost));
        let mut frames = outbox.open(1);
        let asking = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move { outbox.request(&Control::Unregister).await }
        });
        let id = frames.next().await.id;
        assert!(outbox.answered(id, Control::Unregistered));
        assert!(!outbox.answered(id, Control::Unregistered));
        assert_eq!(asking.await.expect("runs"), Ok(Control::Unregistered));
        let asking = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move { outbox.request(&Control::Unregister).await }
        });
        frames.next().await;
        outbox.close();
        assert_eq!(asking.await.expect("runs"), Err(LinkLost));
    }

    #[tokio::test]
    async fn a_full_outbox_has_no_room_until_it_is_written() {
        let outbox = Outbox::new(100);
        let mut frames = outbox.open(1);
        outbox.room().await;
        let caller = Caller { link: 1, frame: 7 };
        outbox.answer(caller, FrameKind::Result, vec![0; 100].into());
        let waited = tokio::time::timeout(Duration::from_millis(20), outbox.room()).await;
        assert!(waited.is_err(), "there is no room");
        frames.close();
        outbox.room().await;
    }
}

//! An agent with its method server, as the server sees it over the link.

use std::{collections::HashSet, sync::Arc, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use svc_link::{CALL_HEADER_BYTES, Frame, FrameKind, Goodbye, OutboxReader};
use svc_simulation::{Random, Trace};
use tokio::time::sleep;

use super::Executions;
use crate::{
    identity::Caller,
    limits::ByteBudgets,
    live::{Answer, Link, LinkSetup, LiveSpace},
};

pub struct SimulatedAgent {
    pub live: Arc<LiveSpace>,
    pub trace: Arc<Trace>,
    pub executions: Arc<Executions>,
    pub random: Mutex<Random>,
    /// A fault: the agent reports that a call was not sent, although it was executed.
    pub lies: bool,
}

/// The agent's end of one link.
#[derive(Clone)]
struct LinkEnd {
    link: Arc<Link>,
    /// Ids of the calls that were received and not yet sent to the method server.
    waiting: Arc<Mutex<HashSet<u64>>>,
}

impl LinkEnd {
    fn answer(&self, id: u64, kind: FrameKind, payload: Bytes) {
        // The server reads nothing from a link that has ended.
        if !self.link.closing().is_ended() {
            let answer = Answer::from_frame(kind, payload).expect("a valid answer");
            self.link.complete(id, answer);
        }
    }
}

impl SimulatedAgent {
    /// Opens a link, as `links::session` does it.
    pub fn link(self: &Arc<Self>, caller: Caller) {
        let (link, outgoing) = Link::new(LinkSetup {
            instance: "agent".to_owned(),
            caller,
            home: None,
            user_key: [7; 32],
            budgets: ByteBudgets::new(1 << 26, 1 << 26),
        });
        if let Some(old) = self.live.attach(Arc::clone(&link)) {
            old.closing().end(Goodbye::Reconnect);
        }
        let end = LinkEnd {
            link,
            waiting: Arc::default(),
        };
        tokio::spawn(Arc::clone(self).serve(end, outgoing));
    }

    /// Breaks the connection. The server notices at once; the agent continues its calls.
    pub fn lose_link(&self) {
        if let Some(link) = self.live.link() {
            self.trace
                .note(&format!("{} loses its link", self.live.name));
            link.closing().end_silently();
        }
    }

    fn time_below(&self, limit: Duration) -> Duration {
        self.random.lock().time_below(limit)
    }

    /// Reads the frames of a link until it ends.
    async fn serve(self: Arc<Self>, end: LinkEnd, mut outgoing: OutboxReader) {
        let link = &end.link;
        loop {
            tokio::select! {
                biased;
                () = link.closing().ended() => break,
                frame = outgoing.next() => {
                    sleep(self.time_below(Duration::from_millis(20))).await;
                    self.receive(&end, frame);
                }
            }
        }
        link.interrupt_calls();
        self.live.detach(link);
    }

    fn receive(self: &Arc<Self>, end: &LinkEnd, frame: Frame) {
        let id = frame.id;
        match frame.kind {
            FrameKind::Call => {
                let text = &frame.payload[CALL_HEADER_BYTES..];
                // The agent appends its own id.
                let request = [text, b"0}"].concat();
                let request: Value = serde_json::from_slice(&request).expect("a call is JSON");
                let call = request["params"].as_u64().expect("the number of a call");
                end.waiting.lock().insert(id);
                tokio::spawn(Arc::clone(self).execute(end.clone(), id, call));
            }
            FrameKind::Cancel => {
                let kind = match end.waiting.lock().remove(&id) {
                    true => FrameKind::CancelledUnsent,
                    false => FrameKind::CancelledSent,
                };
                end.answer(id, kind, Bytes::new());
            }
            kind => panic!("a server sends no {kind:?} here"),
        }
    }

    /// Lets the method server execute a call, unless the call is cancelled or refused before.
    async fn execute(self: Arc<Self>, end: LinkEnd, id: u64, call: u64) {
        sleep(self.time_below(Duration::from_secs(2))).await;
        if !end.waiting.lock().remove(&id) {
            return;
        }
        let percent = self.random.lock().below(100);
        if percent < 20 && !self.lies {
            return end.answer(id, FrameKind::Unavailable, Bytes::new());
        }
        self.trace
            .note(&format!("{} executes call {call}", self.live.name));
        self.executions.add(call);
        sleep(self.time_below(Duration::from_secs(7))).await;
        let (kind, payload) = match percent {
            0..20 => (FrameKind::Unavailable, String::new()),
            20..30 => (FrameKind::Interrupted, String::new()),
            30..40 => (FrameKind::Error, r#"{"code":1,"message":"x"}"#.to_owned()),
            _ => (FrameKind::Result, call.to_string()),
        };
        end.answer(id, kind, payload.into());
    }
}

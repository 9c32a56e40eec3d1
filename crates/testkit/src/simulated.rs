//! Many simulated agents in one process. Each has a real link to the server and answers a call with
//! the params of the call; there is no method server.

mod zone;

pub use zone::SimulatedZoneAgents;

use std::net::SocketAddr;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use svc_link::{CALL_HEADER_BYTES, Frame, FrameKind};
use tokio::task::JoinSet;

use crate::raw_link::RawLink;

/// Agents that stay linked and answer calls until this value is dropped.
pub struct SimulatedAgents {
    links: JoinSet<String>,
}

impl SimulatedAgents {
    /// Links one agent per token, `at_once` at a time. Each registers `methods` methods named
    /// `{{space}}.m0`, `{{space}}.m1`…
    pub async fn link(
        address: SocketAddr,
        agent_tokens: Vec<String>,
        methods: usize,
        at_once: usize,
    ) -> Self {
        let mut links = JoinSet::new();
        let mut tokens = agent_tokens.into_iter();
        loop {
            let group: Vec<_> = tokens.by_ref().take(at_once).collect();
            if group.is_empty() {
                return Self { links };
            }
            let mut joining = JoinSet::new();
            for token in group {
                joining.spawn(async move { RawLink::publish(address, &token, methods).await });
            }
            for link in joining.join_all().await {
                links.spawn(serve(link));
            }
        }
    }

    pub fn len(&self) -> usize {
        self.links.len()
    }

    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Why links have ended since the last call of this function; empty if none has ended.
    pub fn ended(&mut self) -> Vec<String> {
        let mut reasons = Vec::new();
        while let Some(ended) = self.links.try_join_next() {
            reasons.push(ended.unwrap_or_else(|error| error.to_string()));
        }
        reasons
    }
}

/// Responds to calls and pings until the link ends; returns the reason.
async fn serve(mut link: RawLink) -> String {
    loop {
        let frame = match link.next().await {
            Ok(frame) => frame,
            Err(why) => return why,
        };
        let Some(answer) = answer(&frame) else {
            continue;
        };
        if let Err(why) = link.send(&[answer]).await {
            return why;
        }
    }
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

fn answer(frame: &Frame) -> Option<Frame> {
    match frame.kind {
        FrameKind::Ping => Some(Frame::empty(frame.id, FrameKind::Pong)),
        FrameKind::Cancel => Some(Frame::empty(frame.id, FrameKind::CancelledSent)),
        FrameKind::Call => {
            let mut request = frame.payload[CALL_HEADER_BYTES..].to_vec();
            request.extend_from_slice(b"0}");
            let call: Call<'_> = serde_json::from_slice(&request).expect("a call is a request");
            let params = call.params.map_or("null", RawValue::get).to_owned();
            Some(Frame::new(frame.id, FrameKind::Result, Bytes::from(params)))
        }
        _ => None,
    }
}

//! One side link: connects to a server that is not the home server, and reconnects while the server
//! is announced.

use std::{sync::Arc, time::Duration};

use svc_client::Target;
use svc_core::ServerId;
use svc_link::{RefusalCode, SideLink};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    Link, OpenSide,
    connect::{ConnectError, connect},
    reconnect::ReconnectDelays,
    session,
};
use crate::backoff::jitter;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SideEnd {
    /// The agent stops, or the agent needs no side link to this server any more.
    Finished,
    /// The server refused the link. A retry cannot succeed until the home link or the list of
    /// announced servers changes.
    Refused,
}

pub struct SideLinkTask {
    pub link: Arc<Link>,
    pub server: ServerId,
    pub target: Target,
    /// Ends the attempts to link, but not a link that is up.
    pub no_retry: CancellationToken,
    pub finish: CancellationToken,
}

impl SideLinkTask {
    /// Connects after `delay`, and again whenever the link is lost.
    pub async fn run(self, mut delay: Duration) -> SideEnd {
        let mut delays = ReconnectDelays::new(&self.link.policy);
        let mut is_failing = false;
        loop {
            tokio::select! {
                () = sleep(delay) => {}
                () = self.no_retry.cancelled() => return SideEnd::Finished,
                () = self.finish.cancelled() => return SideEnd::Finished,
            }
            let began = Instant::now();
            match self.link_once().await {
                Ok(Some(reason)) => {
                    tracing::info!(server.url = %self.target, %reason, "a side link ended");
                    is_failing = false;
                }
                Ok(None) => return SideEnd::Finished,
                Err(ConnectError::Refused(refusal)) if !is_temporary(&refusal) => {
                    tracing::debug!(server.url = %self.target, error = %refusal.detail, "no side link");
                    return SideEnd::Refused;
                }
                Err(error) => {
                    // One warning for each outage. The agent continues with fewer links.
                    if !std::mem::replace(&mut is_failing, true) {
                        tracing::warn!(server.url = %self.target, %error, "no side link to a server of the zone");
                    }
                }
            }
            if !is_failing && began.elapsed() >= self.link.policy.reconnect_reset {
                delays = ReconnectDelays::new(&self.link.policy);
            }
            delay = jitter(delays.next_delay(Instant::now()));
        }
    }

    /// Connects once and runs the link to its end. Returns why the link ended, or `None` if the
    /// agent must not connect again.
    async fn link_once(&self) -> Result<Option<String>, ConnectError> {
        let link = &self.link;
        let home = link.status.borrow().server.unwrap_or(self.server);
        let opened = tokio::select! {
            opened = connect(link, &self.target, Some(SideLink { home })) => opened?,
            () = self.no_retry.cancelled() => return Ok(None),
            () = self.finish.cancelled() => return Ok(None),
        };
        if opened.welcome.server_id != self.server {
            return Err(ConnectError::OtherServer {
                url: self.target.to_string(),
                announced: self.server,
                found: opened.welcome.server_id,
            });
        }
        let (session, frames) = link.open_session(&self.target, self.server, false, &self.finish);
        let number = session.number;
        let _registered = RegisteredSide::new(link, number, self);
        tracing::info!(server.id = %self.server, server.url = %self.target, "side link to a server of the zone");
        let end = tokio::select! {
            end = session::run(session, opened, frames) => end,
            never = link.registrar.keep_side_registered(number) => match never {},
        };
        Ok(match end {
            session::End::Finished => None,
            session::End::Goodbye(reason) => Some(format!("the server ended it ({reason:?})")),
            session::End::Lost(error) => Some(error),
        })
    }
}

/// The entry of an open side link in `Link::sides`. Dropping this value, also during a panic,
/// removes the entry, closes the link's outbox and drops the calls of the link.
struct RegisteredSide<'a> {
    link: &'a Link,
    number: u64,
}

impl<'a> RegisteredSide<'a> {
    fn new(link: &'a Link, number: u64, task: &SideLinkTask) -> Self {
        link.sides.lock().push(OpenSide {
            number,
            server: task.server,
            target: task.target.clone(),
        });
        Self { link, number }
    }
}

impl Drop for RegisteredSide<'_> {
    fn drop(&mut self) {
        let mut sides = self.link.sides.lock();
        sides.retain(|side| side.number != self.number);
        drop(sides);
        self.link.outbox.close(self.number);
        self.link.registrar.routes.forget_link(self.number);
    }
}

/// Whether a retry can succeed while the home link and the list of announced servers stay the same.
fn is_temporary(refusal: &svc_link::Refusal) -> bool {
    refusal.retry && refusal.code != RefusalCode::HomeHere
}

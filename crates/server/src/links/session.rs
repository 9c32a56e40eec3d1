//! Serves one link: hello, frames in both directions, goodbye.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use svc_core::{
    SpaceId, UserId,
    space::HealthCheck,
    text::{LOGGED_BYTES_MAX, shorten},
};
use svc_link::{
    AnnouncedServers, Control, FrameSink, FrameSource, Hello, MISSED_HEARTBEATS_MAX, OutboxReader,
    Refusal, SpaceIdentity, VERSION, Welcome, WriteEnd,
};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::{
    Links,
    reader::{AgentIo, read},
    refusals::{denial, draining, link_refusal, log_refusal, too_many},
};
use crate::{
    identity::Caller,
    lifecycle::{DeployedSpace, LinkRefused},
    live::{Link, LinkSetup, LiveSpace},
};

/// The maximum number of control messages of an agent that wait to be handled. While the queue is
/// full, the server does not read from the link.
const CONTROL_QUEUE: usize = 16;

impl Links {
    /// Serves one link until it ends.
    pub async fn serve(self: Arc<Self>, upgraded: Upgraded, caller: Caller, space: SpaceId) {
        let (mut sink, mut source) = svc_link::accept(TokioIo::new(upgraded)).await;
        // One-time steps are boxed, because their memory would otherwise be held until the link
        // ends.
        let hello = match Box::pin(svc_link::read_hello(&mut source)).await {
            Ok(hello) => hello,
            Err(refusal) => return Box::pin(refuse(&mut sink, refusal)).await,
        };
        let admitted = match &hello.side {
            Some(side) => Box::pin(self.admit_side(&hello, side, caller, space)).await,
            None => Box::pin(self.admit(&hello, caller, space)).await,
        };
        match admitted {
            Ok((live, link, outgoing)) => {
                self.run(&live, &link, outgoing, sink, source).await;
                Box::pin(self.part(live, &link)).await;
            }
            Err(refusal) => Box::pin(refuse(&mut sink, refusal)).await,
        }
    }

    /// Refuses the link of an agent whose user is deactivated.
    pub async fn refuse_inactive(upgraded: Upgraded) {
        let (mut sink, mut source) = svc_link::accept(TokioIo::new(upgraded)).await;
        let refusal = match svc_link::read_hello(&mut source).await {
            Ok(_) => link_refusal(LinkRefused::OwnerInactive),
            Err(refusal) => refusal,
        };
        refuse(&mut sink, refusal).await;
    }

    /// Decides whether to accept the agent, and attaches its link to the space.
    async fn admit(
        self: &Arc<Self>,
        hello: &Hello,
        caller: Caller,
        space: SpaceId,
    ) -> Result<(Arc<LiveSpace>, Arc<Link>, OutboxReader), Refusal> {
        // Before any use of the database, so that an agent that links in a loop costs nothing.
        self.begin_link(space)?;
        let owner = caller.user.id;
        let identity = self
            .lifecycle
            .identity_of(space)
            .await
            .map_err(|refused| log_refusal(owner, refused))?;
        let (live, _transition) = self.enter_locked(identity, space).await;
        // The token was checked when the connection was opened. A token that was revoked since then
        // must neither deploy the space nor replace its agent.
        let directory = &self.publisher.directory;
        directory
            .recheck(&caller, svc_clock::now())
            .map_err(denial)?;
        let linked = self.lifecycle.link_up(space, &hello.instance).await;
        let DeployedSpace {
            health_check,
            started,
            declares,
        } = linked.map_err(|refused| {
            if matches!(refused, LinkRefused::Gone | LinkRefused::Stopped) {
                self.forget(space);
            }
            log_refusal(owner, refused)
        })?;
        self.note_declaring(space, declares);
        let (link, outgoing) = Link::new(LinkSetup {
            instance: hello.instance.clone(),
            caller,
            home: None,
            user_key: self.keys.users_of(space),
            budgets: self.budgets.clone(),
        });
        // Read under the lock of `announce`, so that this link misses no change of the list of
        // servers.
        let announced = self.announced.read();
        let welcome = self.welcome(&live, health_check, announced.clone());
        // The channel is new and empty, so the welcome is the first frame on it.
        let _ = link.control(0, &Control::Welcome(Box::new(welcome)));
        let old = live.attach(Arc::clone(&link));
        drop(announced);
        self.replace(&live, &link, old);
        info!(owner.id = %live.owner, space.id = %space, space.name = %live.name, started, "agent linked");
        Ok((Arc::clone(&live), link, outgoing))
    }

    fn begin_link(&self, space: SpaceId) -> Result<(), Refusal> {
        if self.shutdown.is_cancelled() {
            return Err(draining());
        }
        let begun = self.link_pace.take(space, Instant::now());
        begun.map_err(too_many)
    }

    pub(super) fn welcome(
        &self,
        live: &LiveSpace,
        health_check: HealthCheck,
        announced: Option<AnnouncedServers>,
    ) -> Welcome {
        Welcome {
            version: VERSION,
            server_id: self.server_id,
            svc_version: env!("CARGO_PKG_VERSION").to_owned(),
            space: live.identity.clone(),
            health_check,
            heartbeat_seconds: u32::try_from(self.policy.heartbeat.as_secs())
                .unwrap_or(10)
                .max(1),
            announced,
            features: Vec::new(),
        }
    }

    /// Returns the live space with its transition lock held. Repeats if the space is removed from
    /// memory during the wait for the lock.
    pub(super) async fn enter_locked(
        &self,
        (owner, identity): (UserId, SpaceIdentity),
        space: SpaceId,
    ) -> (Arc<LiveSpace>, tokio::sync::OwnedMutexGuard<()>) {
        loop {
            let live = self.enter(owner, identity.clone());
            let transition = Arc::clone(&live.transition).lock_owned().await;
            if self
                .find(space)
                .is_some_and(|current| Arc::ptr_eq(&current, &live))
            {
                return (live, transition);
            }
        }
    }

    async fn run(
        self: &Arc<Self>,
        live: &Arc<LiveSpace>,
        link: &Arc<Link>,
        outgoing: OutboxReader,
        sink: FrameSink<AgentIo>,
        source: FrameSource<AgentIo>,
    ) {
        let _counted = self.metrics.link_up(link.is_side());
        let (control, messages) = mpsc::channel(CONTROL_QUEUE);
        let writing = tokio::spawn(write(
            sink,
            outgoing,
            Arc::clone(link),
            self.policy.heartbeat,
        ));
        let handling = tokio::spawn(Arc::clone(self).handle_control(
            Arc::clone(live),
            Arc::clone(link),
            messages,
        ));
        let parsing = (&self.publisher.compute, live.owner);
        match read(source, link, control, parsing).await {
            Ok(()) => debug!(space.id = %live.id, "link closed"),
            Err(error) => {
                let error = error.to_string();
                let shown = shorten(&error, LOGGED_BYTES_MAX);
                warn!(owner.id = %live.owner, space.id = %live.id, "link broken: {shown}");
            }
        }
        link.closing().end_silently();
        link.interrupt_calls();
        // Both tasks end now: the link has ended, and the channel of the control messages is
        // closed.
        let _ = tokio::join!(writing, handling);
    }
}

/// Writes the frames of a link until it ends, then the goodbye.
async fn write(
    mut sink: FrameSink<AgentIo>,
    mut outgoing: OutboxReader,
    link: Arc<Link>,
    heartbeat: Duration,
) {
    let (closing, owner) = (link.closing(), link.caller.user.id);
    match svc_link::write(&mut sink, &mut outgoing, closing, heartbeat).await {
        WriteEnd::Closing | WriteEnd::Failed(_) => {}
        WriteEnd::Silent => {
            warn!(owner.id = %owner, "link dead: no frame received for {MISSED_HEARTBEATS_MAX} heartbeats");
        }
        WriteEnd::Stuck => warn!(owner.id = %owner, "link dead: the agent does not read"),
    }
    closing.end_silently();
    Box::pin(svc_link::farewell(sink, outgoing, closing)).await;
}

async fn refuse(sink: &mut FrameSink<AgentIo>, refusal: Refusal) {
    debug!(code = ?refusal.code, "link refused: {}", refusal.detail);
    svc_link::refuse(sink, refusal).await;
}

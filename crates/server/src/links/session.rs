//! The life of one link: hello, frames both ways, goodbye.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use hyper::upgrade::Upgraded;
use svc_core::{SpaceId, UserId, space::HealthCheck};
use svc_protocol::link::{
    Control, FEATURE_PROGRESS, FEATURE_USERS, Frame, FrameKind, FrameReader, Goodbye, Hello,
    Refusal, SpaceIdentity, VERSION, Welcome,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{
    Link, Links, LiveSpace,
    outbox::Outgoing,
    socket::{self, FrameSink, FrameSource},
    wire::{WRITE_MAX, read, write},
};
use crate::{
    identity::Caller,
    spaces::lifecycle::{LinkRefused, Linked},
};

/// How long an agent may take to say hello.
const HELLO_MAX: Duration = Duration::from_secs(10);
/// Characters of an agent's instance, which it makes up itself.
const INSTANCE_MAX: usize = 64;
/// Control messages that may wait to be handled; past it the link is not read any further.
const CONTROL_QUEUE: usize = 16;

impl Links {
    /// Serves one link until it ends.
    pub async fn serve(self: Arc<Self>, upgraded: Upgraded, caller: Caller, space: SpaceId) {
        let (mut sink, mut source) = socket::accept(upgraded).await;
        // Boxed, here and below, is what a link does once: it would take its room for good.
        let hello = tokio::time::timeout(HELLO_MAX, read_hello(&mut source));
        let hello = match Box::pin(hello).await {
            Ok(Ok(hello)) => hello,
            Ok(Err(refusal)) => return Box::pin(refuse(&mut sink, refusal)).await,
            Err(_) => {
                let refusal = refusal("protocol", "no hello in time", true);
                return Box::pin(refuse(&mut sink, refusal)).await;
            }
        };
        match Box::pin(self.admit(&hello, caller, space)).await {
            Ok((live, link, outgoing)) => {
                self.run(&live, &link, outgoing, sink, source).await;
                Box::pin(self.part(live, &link)).await;
            }
            Err(refusal) => Box::pin(refuse(&mut sink, refusal)).await,
        }
    }

    /// Decides whether this agent gets the space, and puts its link in place.
    async fn admit(
        self: &Arc<Self>,
        hello: &Hello,
        caller: Caller,
        space: SpaceId,
    ) -> Result<(Arc<LiveSpace>, Arc<Link>, Outgoing), Refusal> {
        check_hello(hello)?;
        if self.shutdown.is_cancelled() {
            return Err(refusal("draining", "the server is stopping", true));
        }
        let identity = self
            .lifecycle
            .identity_of(space)
            .await
            .map_err(link_refusal)?;
        let (live, _transition) = self.enter_locked(identity, space).await;
        // The token was checked when the connection came; it may have been revoked since, and
        // must then neither deploy the space nor replace its agent.
        let directory = &self.publisher.directory;
        directory
            .recheck(&caller, svc_clock::now())
            .map_err(|denied| refusal("unauthorized", denied.to_string(), false))?;
        let linked = self.lifecycle.link_up(space, &hello.instance).await;
        let Linked {
            health_check,
            started,
            declares,
        } = linked.map_err(|refused| {
            if matches!(refused, LinkRefused::Gone | LinkRefused::Stopped) {
                self.forget(space);
            }
            link_refusal(refused)
        })?;
        self.note_declaring(space, declares);
        // A link outlives the shutdown signal: it is drained first.
        let (link, outgoing) = Link::new(
            hello.instance.clone(),
            caller,
            hello.has_feature(FEATURE_USERS),
            CancellationToken::new(),
        );
        let welcome = self.welcome(&live, health_check);
        // The channel is new and empty, so the welcome is the first frame on it.
        let _ = link.control(0, &Control::Welcome(Box::new(welcome)));
        if let Some(old) = live.attach(Arc::clone(&link)) {
            let second_agent = old.instance != link.instance;
            old.end(if second_agent {
                Goodbye::Replaced
            } else {
                Goodbye::Protocol
            });
        }
        // And once more, now that a revocation finds the link.
        if self.is_denied(&live) {
            link.end(Goodbye::Revoked);
        }
        self.expect_registration(&live);
        info!(space.id = %space, space.name = %live.name, started, "agent linked");
        Ok((Arc::clone(&live), link, outgoing))
    }

    fn welcome(&self, live: &LiveSpace, health_check: HealthCheck) -> Welcome {
        Welcome {
            version: VERSION,
            server_id: self.server_id,
            svc_version: env!("CARGO_PKG_VERSION").to_owned(),
            space: live.identity.clone(),
            health_check,
            heartbeat_seconds: u32::try_from(self.policy.heartbeat.as_secs())
                .unwrap_or(10)
                .max(1),
            features: vec![FEATURE_PROGRESS.to_owned()],
        }
    }

    /// The live form of a space, its transitions held still. A space that is forgotten while we
    /// wait for that is entered anew.
    async fn enter_locked(
        &self,
        (owner, identity): (UserId, SpaceIdentity),
        space: SpaceId,
    ) -> (Arc<LiveSpace>, tokio::sync::OwnedMutexGuard<()>) {
        loop {
            let live = self.enter(|| LiveSpace::new(owner, identity.clone()), space);
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
        outgoing: Outgoing,
        sink: FrameSink,
        source: FrameSource,
    ) {
        let _counted = self.metrics.link_up();
        let heard = Arc::new(AtomicBool::new(true));
        let (control, messages) = mpsc::channel(CONTROL_QUEUE);
        let writing = tokio::spawn(write(
            sink,
            outgoing,
            Arc::clone(link),
            Arc::clone(&heard),
            self.policy.heartbeat,
        ));
        let handling = tokio::spawn(Arc::clone(self).handle_control(
            Arc::clone(live),
            Arc::clone(link),
            messages,
        ));
        let parsing = (&self.publisher.compute, live.owner);
        match read(source, link, &heard, control, parsing).await {
            Ok(()) => debug!(space.id = %live.id, "link closed"),
            Err(error) => warn!(space.id = %live.id, "link broken: {error}"),
        }
        link.ending().cancel();
        link.interrupt_calls();
        // Both end by themselves now: the writer sees `ending`, the handler a closed channel.
        let _ = tokio::join!(writing, handling);
    }
}

async fn read_hello(source: &mut FrameSource) -> Result<Hello, Refusal> {
    let message = source.next().await.ok().flatten();
    let frame = message.and_then(|message| FrameReader::new(message).next()?.ok());
    match frame.and_then(|frame| serde_json::from_slice(&frame.payload).ok()) {
        Some(Control::Hello(hello)) => Ok(hello),
        _ => Err(refusal(
            "protocol",
            "the first frame of a link must be a hello",
            false,
        )),
    }
}

/// Whether an agent can be understood at all.
fn check_hello(hello: &Hello) -> Result<(), Refusal> {
    if !hello.versions.contains(&VERSION) {
        let detail = format!(
            "the agent (svc {}) speaks link versions {:?}, this server {VERSION}; install the same svc on both",
            hello.svc_version, hello.versions
        );
        return Err(refusal("version", detail, false));
    }
    if hello.instance.len() > INSTANCE_MAX {
        return Err(refusal(
            "protocol",
            "the agent's instance is too long",
            false,
        ));
    }
    Ok(())
}

async fn refuse(sink: &mut FrameSink, refusal: Refusal) {
    debug!(code = refusal.code, "link refused: {}", refusal.detail);
    let payload = serde_json::to_vec(&Control::Refused(refusal)).expect("always JSON");
    let frame = Frame::new(0, FrameKind::Control, payload);
    let _ = tokio::time::timeout(WRITE_MAX, sink.write(&[frame])).await;
    sink.close().await;
}

fn refusal(code: &str, detail: impl Into<String>, retry: bool) -> Refusal {
    Refusal {
        code: code.to_owned(),
        detail: detail.into(),
        retry,
    }
}

fn link_refusal(refused: LinkRefused) -> Refusal {
    match refused {
        LinkRefused::Gone => refusal("unauthorized", "the space does not exist any more", false),
        LinkRefused::OwnerInactive => {
            refusal("unauthorized", "the space's owner is deactivated", false)
        }
        LinkRefused::Stopped => refusal(
            "space_stopped",
            "the space was stopped; start it with `svc space start`",
            true,
        ),
        LinkRefused::Store(error) => {
            warn!("a link was refused: {error}");
            refusal("busy", "the server cannot reach its database", true)
        }
    }
}

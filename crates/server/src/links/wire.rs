//! The two ways of a link, each until it ends: frames put on the wire, and frames taken off it.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use svc_core::UserId;
use svc_protocol::link::{Control, Frame, FrameKind, FrameReader};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior},
};
use tracing::warn;

use super::{
    Answer, Link,
    calls::NoAnswer,
    outbox::Outgoing,
    socket::{FrameSink, FrameSource, SocketError},
};
use crate::fair_pool::{FairPool, PoolError};

/// How long one write may take before the agent counts as gone.
pub const WRITE_MAX: Duration = Duration::from_secs(30);
/// How long a link that ends may take to say its last words.
const FAREWELL_MAX: Duration = Duration::from_secs(2);
/// Frames gathered into one write.
const FRAMES_PER_WRITE: usize = 256;
/// Bytes gathered into one write; a larger frame goes alone. What is gathered delays every frame
/// that comes later.
const BYTES_PER_WRITE: usize = 256 * 1024;
/// Heartbeats without a sign of life that end a link.
const MISSED_HEARTBEATS: u32 = 3;
/// Bytes of a control message that is read at once; larger ones take longer than a millisecond.
const SMALL_CONTROL_BYTES: usize = 32 * 1024;

/// Puts queued frames on the wire, pings, and notices a silent agent.
pub async fn write(
    mut sink: FrameSink,
    mut outgoing: Outgoing,
    link: Arc<Link>,
    heard: Arc<AtomicBool>,
    heartbeat: Duration,
) {
    let mut batch = Vec::new();
    let mut missed = 0;
    let mut beat = tokio::time::interval_at(Instant::now() + heartbeat, heartbeat);
    // A beat that could not be taken in time must not make up for it: silence is what counts.
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ended = pin!(link.ending().cancelled());
    loop {
        batch.clear();
        tokio::select! {
            biased;
            () = &mut ended => break,
            _ = beat.tick() => {
                missed = if heard.swap(false, Ordering::Relaxed) { 0 } else { missed + 1 };
                if missed >= MISSED_HEARTBEATS {
                    warn!("link dead: nothing heard for {missed} heartbeats");
                    break;
                }
                if link.send(Frame::empty(0, FrameKind::Ping)).is_err() { break }
                continue;
            }
            () = outgoing.take(&mut batch, FRAMES_PER_WRITE, BYTES_PER_WRITE) => {}
        }
        let written = tokio::select! {
            written = tokio::time::timeout(WRITE_MAX, sink.write(&batch)) => written,
            () = async { (&mut ended).await; tokio::time::sleep(FAREWELL_MAX).await } => break,
        };
        match written {
            Ok(Ok(())) => link.written(&batch),
            Ok(Err(_)) => break,
            Err(_) => {
                warn!("link dead: the agent does not read");
                break;
            }
        }
    }
    link.ending().cancel();
    // A write that was broken off may have put any of these on the wire: no call is sent twice.
    batch.clear();
    let farewell = Box::pin(async {
        if let Some(reason) = link.last_words() {
            batch.extend(outgoing.close());
            let payload = serde_json::to_vec(&Control::Goodbye { reason }).expect("always JSON");
            batch.push(Frame::new(0, FrameKind::Control, payload));
            let _ = sink.write(&batch).await;
        }
        sink.close().await;
    });
    let _ = tokio::time::timeout(FAREWELL_MAX, farewell).await;
}

/// Takes frames off the wire until the link ends.
pub async fn read(
    mut source: FrameSource,
    link: &Arc<Link>,
    heard: &AtomicBool,
    control: mpsc::Sender<Box<(u64, Control)>>,
    (compute, owner): (&FairPool, UserId),
) -> Result<(), ReadError> {
    let mut ended = pin!(link.ending().cancelled());
    loop {
        let message = tokio::select! {
            biased;
            message = source.next() => message?,
            () = &mut ended => return Ok(()),
        };
        let Some(message) = message else {
            return Ok(());
        };
        heard.store(true, Ordering::Relaxed);
        for frame in FrameReader::new(message) {
            let Frame { id, kind, payload } = frame?;
            match kind {
                FrameKind::Ping => link.pong(),
                FrameKind::Pong => {}
                FrameKind::Progress => link.report(id, payload),
                FrameKind::Control => {
                    let message = if payload.len() <= SMALL_CONTROL_BYTES {
                        serde_json::from_slice(&payload)?
                    } else {
                        let parse = move |_: &_| serde_json::from_slice(&payload);
                        Box::pin(compute.run_unbounded(owner, parse)).await??
                    };
                    // A full queue stops the reading: an agent cannot flood the server.
                    if control.send(Box::new((id, message))).await.is_err() {
                        return Ok(());
                    }
                }
                _ => link.complete(id, Answer::from_frame(kind, payload)?),
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    Frame(#[from] svc_protocol::link::FrameError),
    #[error("a control message is malformed: {0}")]
    Control(#[from] serde_json::Error),
    #[error("a control message was not read: {0}")]
    Pool(#[from] PoolError),
    #[error(transparent)]
    Answer(#[from] NoAnswer),
}

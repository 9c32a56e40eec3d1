//! Reads the frames of an agent from its link.

use std::{pin::pin, sync::Arc};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use svc_core::UserId;
use svc_link::{Control, Frame, FrameError, FrameKind, FrameSource, LinkError, SharedBuffer};
use svc_pool::{FairPool, PoolError};
use tokio::sync::mpsc;

use crate::live::{Answer, InvalidAnswer, Link};

/// The connection of an agent.
pub type AgentIo = SharedBuffer<TokioIo<Upgraded>>;

/// The largest control message that is parsed on this thread. A larger message could block the
/// thread for more than a millisecond, so the compute pool parses it.
const SMALL_CONTROL_BYTES: usize = 32 * 1024;

/// Reads frames until the link ends.
pub async fn read(
    mut source: FrameSource<AgentIo>,
    link: &Arc<Link>,
    control: mpsc::Sender<Box<(u64, Control)>>,
    (compute, owner): (&FairPool, UserId),
) -> Result<(), ReadError> {
    let mut ended = pin!(link.closing().ended());
    loop {
        let frames = tokio::select! {
            biased;
            frames = source.next() => frames?,
            () = &mut ended => return Ok(()),
        };
        let Some(frames) = frames else {
            return Ok(());
        };
        for frame in frames {
            let Frame { id, kind, payload } = frame?;
            match kind {
                FrameKind::Ping => link.pong(),
                FrameKind::Pong => {}
                FrameKind::Progress => link.report(id, payload),
                FrameKind::Times => link.set_times(id, &payload),
                FrameKind::Control => {
                    let message = if payload.len() <= SMALL_CONTROL_BYTES {
                        serde_json::from_slice(&payload)?
                    } else {
                        let parse = move |_: &_| serde_json::from_slice(&payload);
                        Box::pin(compute.run_unbounded(owner, parse)).await??
                    };
                    // A full queue stops the reader, so an agent cannot flood the server.
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
    Link(#[from] LinkError),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("a control message is malformed: {0}")]
    Control(#[from] serde_json::Error),
    #[error("cannot parse a control message: {0}")]
    Pool(#[from] PoolError),
    #[error(transparent)]
    Answer(#[from] InvalidAnswer),
}

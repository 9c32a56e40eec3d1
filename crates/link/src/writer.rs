//! The way out of a link: queued frames and pings until the link ends, then the goodbye.

use std::{pin::pin, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{sleep, timeout},
};

use crate::{
    BYTES_PER_WRITE, FAREWELL_MAX, FRAMES_PER_WRITE, WRITE_MAX,
    closing::Closing,
    control::{Control, control_frame},
    frame::{Frame, FrameKind},
    heartbeat::Heartbeat,
    outbox::Outgoing,
    socket::{FrameSink, LinkError},
};

/// Why no more frames are written.
#[derive(Debug)]
pub enum WriteEnd {
    /// [`Closing`] ended the link.
    Closing,
    /// No frame arrived for [`crate::MISSED_HEARTBEATS_MAX`] heartbeats.
    Silent,
    /// One write took longer than [`WRITE_MAX`]: the other end does not read.
    Stuck,
    Failed(LinkError),
}

/// Writes queued frames, and a ping at each heartbeat, until the link ends.
pub async fn write<S>(
    sink: &mut FrameSink<S>,
    outgoing: &mut Outgoing,
    closing: &Closing,
    heartbeat: Duration,
) -> WriteEnd
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut batch = Vec::new();
    let mut heartbeat = Heartbeat::new(heartbeat);
    let heard = sink.heard().clone();
    let mut ended = pin!(closing.ended());
    loop {
        batch.clear();
        tokio::select! {
            biased;
            () = &mut ended => return WriteEnd::Closing,
            () = heartbeat.tick() => {
                if heartbeat.is_dead(&heard) {
                    return WriteEnd::Silent;
                }
                batch.push(Frame::empty(0, FrameKind::Ping));
            }
            () = outgoing.take(&mut batch, FRAMES_PER_WRITE, BYTES_PER_WRITE) => {}
        }
        let written = {
            let mut writing = pin!(timeout(WRITE_MAX, sink.write(&batch)));
            let mut cut_off = pin!(async {
                (&mut ended).await;
                sleep(FAREWELL_MAX).await;
            });
            loop {
                tokio::select! {
                    biased;
                    written = &mut writing => break written,
                    // A write that is cut off may have sent any of its frames: no call is sent twice.
                    () = &mut cut_off => return WriteEnd::Closing,
                    () = heartbeat.tick() => {
                        if heartbeat.is_dead(&heard) {
                            return WriteEnd::Silent;
                        }
                    }
                }
            }
        };
        match written {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return WriteEnd::Failed(error),
            Err(_) => return WriteEnd::Stuck,
        }
    }
}

/// Sends the frames that still wait and the goodbye, if there is one, and closes the connection.
pub async fn farewell<S>(mut sink: FrameSink<S>, mut outgoing: Outgoing, closing: &Closing)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let last_frames = async {
        if let Some(reason) = closing.goodbye() {
            let mut frames = outgoing.close();
            frames.push(control_frame(0, &Control::Goodbye { reason }));
            let _ = sink.write(&frames).await;
        }
        sink.close().await;
    };
    let _ = timeout(FAREWELL_MAX, last_frames).await;
}

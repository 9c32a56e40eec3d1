//! The writer of a link: sends queued frames and pings until the link ends, then the goodbye.

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
    outbox::OutboxReader,
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
    outgoing: &mut OutboxReader,
    closing: &Closing,
    heartbeat: Duration,
) -> WriteEnd
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut batch = Vec::new();
    let mut heartbeat = Heartbeat::new(heartbeat);
    let activity = sink.activity().clone();
    let mut ended = pin!(closing.ended());
    loop {
        batch.clear();
        tokio::select! {
            biased;
            () = &mut ended => return WriteEnd::Closing,
            () = heartbeat.tick() => {
                if heartbeat.is_dead(&activity) {
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
                    // An interrupted write may have sent any of its frames. Do not queue them
                    // again: no call may be sent twice.
                    () = &mut cut_off => return WriteEnd::Closing,
                    () = heartbeat.tick() => {
                        if heartbeat.is_dead(&activity) {
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

/// If there is a goodbye, sends the queued frames and the goodbye. Then closes the connection.
pub async fn farewell<S>(mut sink: FrameSink<S>, mut outgoing: OutboxReader, closing: &Closing)
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

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};
    use tokio_tungstenite::{
        WebSocketStream,
        tungstenite::{Message, protocol::Role},
    };

    use super::*;
    use crate::{
        control::Goodbye,
        outbox::{Outbox, OutboxLimits, outbox},
        shared_buffer::SharedBuffer,
        socket::{FrameSource, accept, split},
    };

    const LONG: Duration = Duration::from_secs(60);

    struct Ends {
        outbox: Outbox,
        outgoing: OutboxReader,
        sink: FrameSink<SharedBuffer<DuplexStream>>,
        source: FrameSource<SharedBuffer<DuplexStream>>,
        agent: WebSocketStream<DuplexStream>,
    }

    /// Both ends of a link whose connection buffers only 1,000 bytes.
    async fn ends() -> Ends {
        let (server, agent) = duplex(1_000);
        let (sink, source) = accept(server).await;
        let (outbox, outgoing) = outbox(OutboxLimits::SERVER);
        Ends {
            outbox,
            outgoing,
            sink,
            source,
            agent: WebSocketStream::from_raw_socket(agent, Role::Client, None).await,
        }
    }

    async fn read_all(mut source: FrameSource<DuplexStream>) -> Vec<Frame> {
        let mut all = Vec::new();
        while let Ok(Some(frames)) = source.next().await {
            all.extend(frames.map(|frame| frame.expect("whole")));
        }
        all
    }

    #[tokio::test]
    async fn a_link_that_ends_during_a_write_still_sends_its_frames_and_its_goodbye() {
        let mut ends = ends().await;
        let call = |id| Frame::new(id, FrameKind::Call, vec![b'x'; 500_000]);
        ends.outbox.put(Some(1), call(1)).expect("it is open");
        ends.outbox.put(Some(1), call(2)).expect("it is open");
        let closing = Closing::default();
        let (_agent_sink, agent_source) = split(ends.agent);
        let writing = async {
            let end = write(&mut ends.sink, &mut ends.outgoing, &closing, LONG).await;
            assert!(matches!(end, WriteEnd::Closing), "{end:?}");
            farewell(ends.sink, ends.outgoing, &closing).await;
        };
        let reading = async {
            // The first write has started, and waits for its reader.
            tokio::task::yield_now().await;
            closing.end(Goodbye::ServerStopping);
            tokio::task::yield_now().await;
            read_all(agent_source).await
        };
        let ((), frames) = tokio::join!(writing, reading);
        let reason = Goodbye::ServerStopping;
        let goodbye = control_frame(0, &Control::Goodbye { reason });
        assert_eq!(frames.len(), 3, "two calls and the goodbye");
        assert_eq!(frames[1].id, 2);
        assert_eq!(frames[2], goodbye);
    }

    #[tokio::test]
    async fn a_silent_link_is_dead_even_while_a_write_waits() {
        let heartbeat = Duration::from_millis(10);
        for bytes in [10, 100_000] {
            let mut ends = ends().await;
            let frame = Frame::new(1, FrameKind::Call, vec![b'x'; bytes]);
            ends.outbox.put(Some(1), frame).expect("it is open");
            let closing = Closing::default();
            let end = write(&mut ends.sink, &mut ends.outgoing, &closing, heartbeat).await;
            assert!(matches!(end, WriteEnd::Silent), "{bytes}: {end:?}");
        }
    }

    #[tokio::test]
    async fn a_text_message_breaks_the_link() {
        use futures_util::SinkExt;

        let mut ends = ends().await;
        let text = Message::text("hello");
        ends.agent.send(text).await.expect("sent");
        let read = ends.source.next().await;
        assert!(matches!(read, Err(LinkError::NotBinary)));
    }
}

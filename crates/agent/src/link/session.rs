//! One link while it is up: reads frames, writes frames in as few messages as possible, and
//! notices when the other side is gone.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::BytesMut;
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use parking_lot::Mutex;
use svc_protocol::link::{
    Control, Frame, FrameKind, FrameReader, Goodbye, MESSAGE_BYTES_MAX, MESSAGE_BYTES_TARGET,
    put_frame,
};
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_util::sync::CancellationToken;

use super::{
    Link,
    connect::{Connected, Socket},
};
use crate::outbox::{Caller, Outbox};

/// Frames taken from the outbox at a time.
const FRAMES_MAX: usize = 256;
/// Heartbeats without a frame after which a link is dead.
const SILENT_HEARTBEATS_MAX: u32 = 3;

/// Why a link ended.
pub enum End {
    /// We said goodbye.
    Finished,
    /// The server did.
    Goodbye(Goodbye),
    Lost(String),
}

/// Runs the link until it ends. Everything is polled here: nothing of a link outlives it.
pub async fn run(
    link: &Link,
    connected: Connected,
    number: u64,
    frames: mpsc::UnboundedReceiver<Frame>,
    finish: &CancellationToken,
) -> End {
    let (sink, stream) = connected.socket.split();
    let heartbeat = Duration::from_secs(connected.welcome.heartbeat_seconds.max(1).into());
    let heard = Mutex::new(Instant::now());
    let writing = write(sink, frames, &link.outbox);
    for frame in connected.early {
        if let Some(reason) = take(link, number, frame) {
            return End::Goodbye(reason);
        }
    }
    let reading = read(link, stream, number, &heard);
    tokio::pin!(writing, reading);
    let end = tokio::select! {
        end = &mut reading => end,
        end = &mut writing => End::Lost(reason(end)),
        end = beat(&link.outbox, heartbeat, &heard) => end,
        () = link.reset.notified() => End::Lost("the link is made anew".to_owned()),
        () = finish.cancelled() => End::Finished,
    };
    if matches!(end, End::Finished) {
        let reason = Goodbye::AgentStopping;
        link.outbox.control(&Control::Goodbye { reason });
        // The writer sends what is queued and closes. The reader goes on until the server has
        // closed too: a socket closed with bytes unread would take the goodbye with it.
        link.outbox.close();
        let closing = async { tokio::join!(writing, reading) };
        if timeout(link.policy.shutdown_close, closing).await.is_err() {
            tracing::debug!("the server did not close the link in time");
        }
    }
    end
}

fn reason(end: Result<(), tungstenite::Error>) -> String {
    match end {
        Ok(()) => "the outbox was closed".to_owned(),
        Err(error) => format!("writing failed: {error}"),
    }
}

async fn read(
    link: &Link,
    mut stream: SplitStream<Socket>,
    number: u64,
    heard: &Mutex<Instant>,
) -> End {
    loop {
        let message = match stream.next().await {
            Some(Ok(message)) => message,
            Some(Err(error)) => return End::Lost(format!("reading failed: {error}")),
            None => return End::Lost("the server closed the link".to_owned()),
        };
        *heard.lock() = Instant::now();
        let message = match message {
            Message::Binary(message) => message,
            Message::Close(_) => return End::Lost("the server closed the link".to_owned()),
            // WebSocket pings are answered by the library; text is nobody's language here.
            _ => continue,
        };
        for frame in FrameReader::new(message) {
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) => return End::Lost(format!("the server sent a bad frame: {error}")),
            };
            if let Some(reason) = take(link, number, frame) {
                return End::Goodbye(reason);
            }
        }
    }
}

/// Handles one frame; the reason, if it ends the link.
fn take(link: &Link, number: u64, frame: Frame) -> Option<Goodbye> {
    let caller = Caller {
        link: number,
        frame: frame.id,
    };
    match frame.kind {
        FrameKind::Call => link.routes.call(caller, frame.payload, false),
        FrameKind::UserCall => link.routes.call(caller, frame.payload, true),
        FrameKind::Notify => link.routes.notify(frame.payload, false),
        FrameKind::UserNotify => link.routes.notify(frame.payload, true),
        FrameKind::Cancel => link.routes.cancel(caller),
        FrameKind::Ping => {
            link.outbox.send(Frame::empty(frame.id, FrameKind::Pong));
        }
        FrameKind::Control => return take_control(link, &frame),
        FrameKind::Pong => {}
        kind => tracing::debug!(?kind, "the server sent a frame that only agents send"),
    }
    None
}

fn take_control(link: &Link, frame: &Frame) -> Option<Goodbye> {
    match serde_json::from_slice(&frame.payload) {
        Ok(Control::Goodbye { reason }) => return Some(reason),
        Ok(Control::HealthCheckChanged { health_check }) => {
            link.health_check.send_replace(health_check);
        }
        Ok(Control::Displaced { methods }) => {
            // A registrar that is gone is an agent that stops.
            let _ = link.displaced.send(methods);
        }
        Ok(answer) => {
            if !link.outbox.answered(frame.id, answer) {
                tracing::debug!(id = frame.id, "the server answered what nobody asked");
            }
        }
        // A newer server may say more than we understand.
        Err(error) => tracing::debug!(%error, "a control message was not understood"),
    }
    None
}

async fn write(
    mut sink: SplitSink<Socket, Message>,
    mut frames: mpsc::UnboundedReceiver<Frame>,
    outbox: &Arc<Outbox>,
) -> Result<(), tungstenite::Error> {
    let mut batch = Vec::with_capacity(FRAMES_MAX);
    while frames.recv_many(&mut batch, FRAMES_MAX).await > 0 {
        let mut message = BytesMut::new();
        for frame in batch.drain(..) {
            if frame.len() > MESSAGE_BYTES_MAX {
                tracing::error!(bytes = frame.len(), "a frame is too large for the link");
                outbox.written(frame.len());
                continue;
            }
            if !message.is_empty() && message.len() + frame.len() > MESSAGE_BYTES_TARGET {
                feed(&mut sink, &mut message, outbox).await?;
            }
            put_frame(&mut message, &frame);
        }
        if !message.is_empty() {
            feed(&mut sink, &mut message, outbox).await?;
        }
        sink.flush().await?;
    }
    sink.close().await
}

async fn feed(
    sink: &mut SplitSink<Socket, Message>,
    message: &mut BytesMut,
    outbox: &Arc<Outbox>,
) -> Result<(), tungstenite::Error> {
    let message = message.split().freeze();
    let bytes = message.len();
    sink.feed(Message::Binary(message)).await?;
    outbox.written(bytes);
    Ok(())
}

async fn beat(outbox: &Outbox, heartbeat: Duration, heard: &Mutex<Instant>) -> End {
    let mut beats = interval(heartbeat);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats.tick().await;
    loop {
        beats.tick().await;
        let silent = heard.lock().elapsed();
        if silent >= heartbeat * SILENT_HEARTBEATS_MAX {
            return End::Lost(format!("nothing came from the server for {silent:.0?}"));
        }
        outbox.send(Frame::empty(0, FrameKind::Ping));
    }
}

//! One link while it is up: handles the server's frames, until a goodbye or a lost connection.

use std::{sync::Arc, time::Duration};

use svc_link::{
    Closing, Control, Frame, FrameKind, FrameReader, FrameSink, FrameSource, Goodbye, LinkError,
    MISSED_HEARTBEATS_MAX, OpenedLink, OutboxReader, WriteEnd,
};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Link, connect::ServerIo};
use crate::outbox::Caller;

/// Why a link ended.
pub enum End {
    /// The agent said goodbye.
    Finished,
    /// The server said goodbye.
    Goodbye(Goodbye),
    Lost(String),
}

/// One link that is up.
pub struct Session {
    pub link: Arc<Link>,
    pub number: u64,
    /// Cancelled if the server does not read.
    pub stuck: CancellationToken,
    /// Cancelled when the agent has to say goodbye.
    pub finish: CancellationToken,
}

impl Session {
    /// Whether this is the home link now. The agent may make another link its home link at any
    /// time.
    fn is_home(&self) -> bool {
        self.link.status.borrow().link == Some(self.number)
    }
}

/// Runs the link until it ends. Reader and writer are polled here, so neither outlives the link.
pub async fn run(session: Session, opened: OpenedLink<ServerIo>, outgoing: OutboxReader) -> End {
    let link = &session.link;
    let OpenedLink {
        sink,
        source,
        welcome,
        early,
    } = opened;
    let heartbeat = Duration::from_secs(welcome.heartbeat_seconds.max(1).into());
    let closing = Closing::default();
    let writing = write(sink, outgoing, &closing, heartbeat);
    let reading = read(&session, source, early);
    tokio::pin!(writing, reading);
    let end = tokio::select! {
        biased;
        end = &mut reading => end,
        end = &mut writing => end,
        () = session.stuck.cancelled() => {
            End::Lost("the server does not read from the link".to_owned())
        }
        () = session.finish.cancelled() => End::Finished,
    };
    if matches!(end, End::Finished) {
        closing.end(Goodbye::AgentStopping);
        link.outbox.close(session.number);
        // The writer sends the queued frames and closes. The reader continues until the server has
        // closed: closing a socket with unread bytes would discard the goodbye.
        let closing = async { tokio::join!(writing, reading) };
        if timeout(link.policy.shutdown_close, closing).await.is_err() {
            tracing::debug!("the server did not close the link in time");
        }
    }
    end
}

async fn write(
    mut sink: FrameSink<ServerIo>,
    mut outgoing: OutboxReader,
    closing: &Closing,
    heartbeat: Duration,
) -> End {
    match svc_link::write(&mut sink, &mut outgoing, closing, heartbeat).await {
        WriteEnd::Closing => {
            svc_link::farewell(sink, outgoing, closing).await;
            End::Finished
        }
        WriteEnd::Silent => {
            let silent = heartbeat * MISSED_HEARTBEATS_MAX;
            End::Lost(format!("the server sent nothing for {silent:.0?}"))
        }
        WriteEnd::Stuck => End::Lost("the server does not read from the link".to_owned()),
        WriteEnd::Failed(error) => End::Lost(format!("writing failed: {}", reason(error))),
    }
}

fn reason(error: LinkError) -> String {
    match error {
        LinkError::Connection(error) => error.to_string(),
        error => error.to_string(),
    }
}

async fn read(session: &Session, mut source: FrameSource<ServerIo>, early: FrameReader) -> End {
    let mut frames = early;
    loop {
        for frame in frames {
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) => return End::Lost(format!("the server sent a bad frame: {error}")),
            };
            if let Some(reason) = handle(session, frame) {
                return End::Goodbye(reason);
            }
        }
        frames = match source.next().await {
            Ok(Some(frames)) => frames,
            Ok(None) => return End::Lost("the server closed the link".to_owned()),
            Err(error) => return End::Lost(format!("reading failed: {}", reason(error))),
        };
    }
}

/// Handles one frame. Returns the reason if the frame ends the link.
fn handle(session: &Session, frame: Frame) -> Option<Goodbye> {
    let link = &session.link;
    let caller = Caller {
        link: session.number,
        frame: frame.id,
    };
    let routes = &link.registrar.routes;
    match frame.kind {
        FrameKind::Call => routes.call(caller, frame.payload),
        FrameKind::Notify => routes.notify(frame.payload),
        FrameKind::Cancel => routes.cancel(caller),
        FrameKind::Ping => link.outbox.pong(session.number),
        FrameKind::Control => return handle_control(session, &frame),
        FrameKind::Pong => {}
        kind => tracing::debug!(?kind, "the server sent a frame that only agents send"),
    }
    None
}

fn handle_control(session: &Session, frame: &Frame) -> Option<Goodbye> {
    let link = &session.link;
    match serde_json::from_slice(&frame.payload) {
        Ok(Control::Goodbye { reason }) => return Some(reason),
        // Only the home server manages the space. These messages of other servers are ignored.
        Ok(Control::HealthCheckChanged { .. } | Control::Servers(_) | Control::MoveHome { .. })
            if !session.is_home() => {}
        Ok(Control::HealthCheckChanged { health_check }) => {
            link.health_check.send_replace(health_check);
        }
        Ok(Control::Servers(servers)) => link.note_announced(servers),
        Ok(Control::MoveHome { server }) => {
            link.moves.send_replace(Some(server));
        }
        Ok(Control::Displaced { methods }) => link.registrar.remove_displaced(methods),
        Ok(answer) => {
            if !link.outbox.answered(session.number, frame.id, answer) {
                tracing::debug!(id = frame.id, "the server answered an unknown request");
            }
        }
        // A newer server may send messages that this agent does not know.
        Err(error) => tracing::debug!(%error, "ignored an unknown control message"),
    }
    None
}

//! The WebSocket of a link: gathers frames into messages, and limits sizes because the other end is
//! not trusted.

use bytes::BytesMut;
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message,
        protocol::{Role, WebSocketConfig},
    },
};

use crate::{
    MESSAGE_BYTES_MAX, MESSAGE_BYTES_TARGET,
    frame::{Frame, FrameReader, put_frame},
    heartbeat::ActivityFlag,
    shared_buffer::SharedBuffer,
};

/// Read buffer of a link at the server. Small, because most links are idle; large reads go through
/// the [`SharedBuffer`].
const SERVER_READ_BYTES: usize = 512;
/// Read buffer and write buffer of a link at the agent. The library's defaults are 128 KiB each.
const AGENT_BUFFER_BYTES: usize = 8 * 1024;

#[derive(Debug, Error)]
pub enum LinkError {
    #[error("the connection failed")]
    Connection(#[from] tungstenite::Error),
    #[error("the other end sent a message that is not binary")]
    NotBinary,
}

pub struct FrameSink<S> {
    socket: SplitSink<WebSocketStream<S>, Message>,
    activity: ActivityFlag,
}

pub struct FrameSource<S> {
    socket: SplitStream<WebSocketStream<S>>,
    activity: ActivityFlag,
}

/// Starts the server's end of a WebSocket on an upgraded connection.
pub async fn accept<S>(io: S) -> (FrameSink<SharedBuffer<S>>, FrameSource<SharedBuffer<S>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config = bounded_config()
        .read_buffer_size(SERVER_READ_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(MESSAGE_BYTES_MAX * 2);
    let io = SharedBuffer::new(io);
    split(WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await)
}

/// The settings of a WebSocket at the agent.
pub(crate) fn agent_config() -> WebSocketConfig {
    bounded_config()
        .read_buffer_size(AGENT_BUFFER_BYTES)
        .write_buffer_size(AGENT_BUFFER_BYTES)
}

fn bounded_config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX))
}

/// Splits a WebSocket into its sending and its receiving half.
pub fn split<S>(socket: WebSocketStream<S>) -> (FrameSink<S>, FrameSource<S>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (sink, source) = socket.split();
    let activity = ActivityFlag::new();
    let sink = FrameSink {
        socket: sink,
        activity: activity.clone(),
    };
    let source = FrameSource {
        socket: source,
        activity,
    };
    (sink, source)
}

impl<S: AsyncRead + AsyncWrite + Unpin> FrameSink<S> {
    /// Writes frames, many per message, and flushes once.
    pub async fn write(&mut self, frames: &[Frame]) -> Result<(), LinkError> {
        let bytes: usize = frames.iter().map(Frame::len).sum();
        let mut message = BytesMut::with_capacity(bytes.min(2 * MESSAGE_BYTES_TARGET));
        for frame in frames {
            if frame.len() > MESSAGE_BYTES_MAX {
                tracing::error!(
                    bytes = frame.len(),
                    "dropped a frame that is too large for the link"
                );
                continue;
            }
            if !message.is_empty() && message.len() + frame.len() > MESSAGE_BYTES_TARGET {
                let whole = message.split().freeze();
                self.socket.feed(Message::Binary(whole)).await?;
            }
            put_frame(&mut message, frame);
        }
        if !message.is_empty() {
            self.socket.feed(Message::Binary(message.freeze())).await?;
        }
        self.socket.flush().await?;
        Ok(())
    }

    pub async fn close(&mut self) {
        // The other end may have closed the connection already.
        let _ = self.socket.close().await;
    }

    pub(crate) fn activity(&self) -> &ActivityFlag {
        &self.activity
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> FrameSource<S> {
    /// The frames of the next message; `None` when the connection has ended. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<FrameReader>, LinkError> {
        loop {
            match self.socket.next().await {
                None | Some(Ok(Message::Close(_))) => return Ok(None),
                Some(Ok(Message::Binary(message))) => {
                    self.activity.set();
                    return Ok(Some(FrameReader::new(message)));
                }
                // The library answers pings of the WebSocket protocol.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Text(_) | Message::Frame(_))) => {
                    return Err(LinkError::NotBinary);
                }
                Some(Err(error)) => return Err(error.into()),
            }
        }
    }
}

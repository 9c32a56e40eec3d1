//! The WebSocket under a link: buffers kept small because most links are idle most of the time,
//! and sizes bounded because the other end is not trusted.

use bytes::{Bytes, BytesMut};
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use svc_protocol::link::{Frame, MESSAGE_BYTES_MAX, MESSAGE_BYTES_TARGET, put_frame};
use thiserror::Error;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message,
        protocol::{Role, WebSocketConfig},
    },
};

use super::shared_room::SharedRoom;

/// What the library keeps for reading; it takes no more than this at a time, from the shared room.
const READ_BUFFER: usize = 512;

type Socket = WebSocketStream<SharedRoom<TokioIo<Upgraded>>>;

pub struct FrameSink(SplitSink<Socket, Message>);
pub struct FrameSource(SplitStream<Socket>);

#[derive(Debug, Error)]
pub enum SocketError {
    #[error("the connection failed")]
    Io(#[from] tungstenite::Error),
    #[error("the agent sent a message that is not binary")]
    NotBinary,
}

/// Takes over an upgraded connection.
pub async fn accept(upgraded: Upgraded) -> (FrameSink, FrameSource) {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .max_write_buffer_size(MESSAGE_BYTES_MAX * 2)
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX));
    let io = SharedRoom::new(TokioIo::new(upgraded));
    let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let (sink, source) = socket.split();
    (FrameSink(sink), FrameSource(source))
}

impl FrameSink {
    /// Writes frames, many per message, and flushes once.
    pub async fn write(&mut self, frames: &[Frame]) -> Result<(), SocketError> {
        let mut message = BytesMut::with_capacity(
            frames
                .iter()
                .map(Frame::len)
                .sum::<usize>()
                .min(2 * MESSAGE_BYTES_TARGET),
        );
        for frame in frames {
            put_frame(&mut message, frame);
            if message.len() >= MESSAGE_BYTES_TARGET {
                self.0
                    .feed(Message::Binary(message.split().freeze()))
                    .await?;
            }
        }
        if !message.is_empty() {
            self.0.feed(Message::Binary(message.freeze())).await?;
        }
        self.0.flush().await?;
        Ok(())
    }

    pub async fn close(&mut self) {
        // The other end may be gone already; there is nobody left to tell.
        let _ = self.0.close().await;
    }
}

impl FrameSource {
    /// The next binary message; `None` when the connection has ended.
    pub async fn next(&mut self) -> Result<Option<Bytes>, SocketError> {
        loop {
            match self.0.next().await {
                None => return Ok(None),
                Some(Ok(Message::Binary(message))) => return Ok(Some(message)),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_))) => return Ok(None),
                Some(Ok(Message::Text(_) | Message::Frame(_))) => {
                    return Err(SocketError::NotBinary);
                }
                Some(Err(error)) => return Err(error.into()),
            }
        }
    }
}

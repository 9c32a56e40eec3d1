//! Makes one connection: transport, WebSocket, hello and welcome.

use std::io;

use futures_util::{SinkExt, StreamExt};
use http::{HeaderValue, StatusCode, header::AUTHORIZATION};
use svc_client::{
    Target,
    transport::{self, Stream},
};
use svc_protocol::link::{
    Control, FEATURE_USERS, Frame, FrameKind, FrameReader, HEADER_BYTES, Hello, MESSAGE_BYTES_MAX,
    PATH, Refusal, SUBPROTOCOL, VERSION, Welcome, put_frame,
};
use thiserror::Error;
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Message, client::IntoClientRequest, handshake::client::Request,
        protocol::WebSocketConfig,
    },
};

use super::Link;
use crate::outbox::control_frame;

/// The library's defaults cost 128 KiB each way for every idle link.
const BUFFER_BYTES: usize = 8 * 1024;

pub type Socket = WebSocketStream<Box<dyn Stream>>;

pub struct Connected {
    pub socket: Socket,
    pub welcome: Box<Welcome>,
    /// Frames that came with the welcome.
    pub early: Vec<Frame>,
}

#[derive(Debug, Error)]
pub enum ConnectError {
    #[error("the server at `{url}` cannot be reached: {source}")]
    Unreachable { url: String, source: io::Error },
    #[error("the server at `{url}` did not answer in time")]
    TimedOut { url: String },
    #[error("the server at `{0}` refuses the agent token")]
    Unauthorized(String),
    #[error("the server at `{url}` answered {status} to the link")]
    Status { url: String, status: StatusCode },
    #[error("the link to `{url}` failed: {source}")]
    WebSocket {
        url: String,
        source: Box<tungstenite::Error>,
    },
    #[error("the agent token holds characters that no token has")]
    TokenText,
    #[error("the server refuses the link: {}", .0.detail)]
    Refused(Refusal),
    #[error("the server at `{0}` does not speak this link's language")]
    Protocol(String),
}

pub async fn connect(link: &Link, server: &Target) -> Result<Connected, ConnectError> {
    let url = || server.to_string();
    let timed_out = |_| ConnectError::TimedOut { url: url() };
    let stream = timeout(link.policy.connect_timeout, transport::connect(server))
        .await
        .map_err(timed_out)?
        .map_err(|source| ConnectError::Unreachable { url: url(), source })?;
    let shaking = shake_hands(link, server, stream);
    timeout(link.policy.handshake_timeout, shaking)
        .await
        .map_err(timed_out)?
}

async fn shake_hands(
    link: &Link,
    server: &Target,
    stream: Box<dyn Stream>,
) -> Result<Connected, ConnectError> {
    let request = request(server, &link.agent_token)?;
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX));
    let failed = |error| websocket_error(server, error);
    let (mut socket, _) = client_async_with_config(request, stream, Some(config))
        .await
        .map_err(failed)?;
    let hello = Control::Hello(Hello {
        versions: vec![VERSION],
        svc_version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: link.instance.clone(),
        features: vec![FEATURE_USERS.to_owned()],
    });
    let mut message = bytes::BytesMut::with_capacity(HEADER_BYTES + 256);
    put_frame(&mut message, &control_frame(0, &hello));
    socket
        .send(Message::Binary(message.freeze()))
        .await
        .map_err(failed)?;
    let not_ours = || ConnectError::Protocol(server.to_string());
    let (answer, early) = read_answer(&mut socket).await.map_err(failed)?;
    match answer {
        Some(Control::Welcome(welcome)) if welcome.version == VERSION => Ok(Connected {
            socket,
            welcome,
            early,
        }),
        Some(Control::Refused(refusal)) => Err(ConnectError::Refused(refusal)),
        _ => Err(not_ours()),
    }
}

fn request(server: &Target, agent_token: &str) -> Result<Request, ConnectError> {
    let failed = |error| websocket_error(server, error);
    // `http` becomes `ws`, `https` becomes `wss`.
    let url = server.url(PATH).replacen("http", "ws", 1);
    let mut request = url.into_client_request().map_err(failed)?;
    let mut token = HeaderValue::from_str(&format!("Bearer {agent_token}"))
        .map_err(|_| ConnectError::TokenText)?;
    token.set_sensitive(true);
    let headers = request.headers_mut();
    headers.insert(AUTHORIZATION, token);
    headers.insert(
        "sec-websocket-protocol",
        HeaderValue::from_static(SUBPROTOCOL),
    );
    Ok(request)
}

/// The server's first frame, its answer to hello, and what shares a message with it. `None` is
/// nonsense.
async fn read_answer(
    socket: &mut Socket,
) -> Result<(Option<Control>, Vec<Frame>), tungstenite::Error> {
    while let Some(message) = socket.next().await {
        let Message::Binary(message) = message? else {
            continue;
        };
        let mut frames = FrameReader::new(message).map_while(Result::ok);
        let first = frames
            .next()
            .filter(|frame| frame.kind == FrameKind::Control);
        let answer = first.and_then(|frame| serde_json::from_slice(&frame.payload).ok());
        return Ok((answer, frames.collect()));
    }
    Err(tungstenite::Error::ConnectionClosed)
}

fn websocket_error(server: &Target, error: tungstenite::Error) -> ConnectError {
    let url = server.to_string();
    match error {
        tungstenite::Error::Http(response) => match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ConnectError::Unauthorized(url),
            status => ConnectError::Status { url, status },
        },
        source => ConnectError::WebSocket {
            url,
            source: Box::new(source),
        },
    }
}

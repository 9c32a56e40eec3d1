//! The start of a link: the agent opens the WebSocket and sends a hello; the server answers with a
//! welcome or a refusal.

use std::time::Duration;

use http::{HeaderValue, StatusCode, header::AUTHORIZATION};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{self, client::IntoClientRequest, handshake::client::Request},
};

use crate::{
    SUBPROTOCOL, VERSION, WRITE_MAX,
    control::{Control, Hello, Welcome, control_frame},
    frame::{FrameKind, FrameReader},
    refusal::{Refusal, RefusalCode},
    socket::{FrameSink, FrameSource, LinkError, agent_config, split},
};

/// Longest wait for an agent's hello.
const HELLO_MAX: Duration = Duration::from_secs(10);
/// Maximum bytes of a hello's `instance`, the random id that an agent chooses at its start.
const INSTANCE_BYTES_MAX: usize = 64;

/// A link at the agent's end, after the welcome.
pub struct OpenedLink<S> {
    pub sink: FrameSink<S>,
    pub source: FrameSource<S>,
    pub welcome: Box<Welcome>,
    /// Frames that followed the welcome in the same message.
    pub early: FrameReader,
}

/// Why a link could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("the agent token contains characters that are not allowed in a token")]
    TokenText,
    #[error("the server answered the request for a link with {0}")]
    Status(StatusCode),
    #[error("the link failed")]
    WebSocket(#[source] Box<tungstenite::Error>),
    #[error("the server refuses the link: {}", .0.detail)]
    Refused(Refusal),
    #[error("the server's answer does not follow the link protocol")]
    Protocol,
}

impl From<tungstenite::Error> for OpenError {
    fn from(error: tungstenite::Error) -> Self {
        match error {
            tungstenite::Error::Http(response) => Self::Status(response.status()),
            error => Self::WebSocket(Box::new(error)),
        }
    }
}

impl From<LinkError> for OpenError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Connection(error) => error.into(),
            LinkError::NotBinary => Self::Protocol,
        }
    }
}

/// Opens a link on `stream`, a connection to the server. `url` is the server's URL with
/// [`crate::PATH`].
pub async fn open<S>(
    stream: S,
    url: &str,
    agent_token: &str,
    hello: Hello,
) -> Result<OpenedLink<S>, OpenError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sink, mut source) = split(connect(stream, url, agent_token).await?);
    let versions = hello.versions.clone();
    let hello = control_frame(0, &Control::Hello(hello));
    sink.write(&[hello]).await?;
    let Some(mut frames) = source.next().await? else {
        return Err(tungstenite::Error::ConnectionClosed.into());
    };
    match first_control(&mut frames) {
        Some(Control::Welcome(welcome)) if versions.contains(&welcome.version) => Ok(OpenedLink {
            sink,
            source,
            welcome,
            early: frames,
        }),
        Some(Control::Refused(refusal)) => Err(OpenError::Refused(refusal)),
        _ => Err(OpenError::Protocol),
    }
}

/// Opens the WebSocket of a link, without a hello.
pub async fn connect<S>(
    stream: S,
    url: &str,
    agent_token: &str,
) -> Result<WebSocketStream<S>, OpenError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let request = request(url, agent_token)?;
    let (socket, _) = client_async_with_config(request, stream, Some(agent_config())).await?;
    Ok(socket)
}

fn request(url: &str, agent_token: &str) -> Result<Request, OpenError> {
    // `http` becomes `ws`, `https` becomes `wss`.
    let mut request = url.replacen("http", "ws", 1).into_client_request()?;
    let mut token = HeaderValue::from_str(&format!("Bearer {agent_token}"))
        .map_err(|_| OpenError::TokenText)?;
    token.set_sensitive(true);
    let headers = request.headers_mut();
    headers.insert(AUTHORIZATION, token);
    headers.insert(
        "sec-websocket-protocol",
        HeaderValue::from_static(SUBPROTOCOL),
    );
    Ok(request)
}

/// Reads the hello of an agent, and checks its versions and the length of its instance.
pub async fn read_hello<S>(source: &mut FrameSource<S>) -> Result<Hello, Refusal>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Ok(message) = timeout(HELLO_MAX, source.next()).await else {
        let detail = "the agent sent no hello in time";
        return Err(Refusal::new(RefusalCode::Protocol, detail, true));
    };
    let frames = message.ok().flatten();
    match frames.and_then(|mut frames| first_control(&mut frames)) {
        Some(Control::Hello(hello)) => check_hello(&hello).map(|()| hello),
        _ => {
            let detail = "the first frame of a link must be a hello";
            Err(Refusal::new(RefusalCode::Protocol, detail, false))
        }
    }
}

fn first_control(frames: &mut FrameReader) -> Option<Control> {
    let first = frames.next()?.ok()?;
    let is_control = first.kind == FrameKind::Control;
    let control = is_control.then(|| serde_json::from_slice(&first.payload))?;
    control.ok()
}

fn check_hello(hello: &Hello) -> Result<(), Refusal> {
    if !hello.versions.contains(&VERSION) {
        let detail = format!(
            "the agent (svc {}) supports link versions {:?}, this server {VERSION}; install the same svc on both",
            hello.svc_version, hello.versions
        );
        return Err(Refusal::new(RefusalCode::Version, detail, false));
    }
    if hello.instance.len() > INSTANCE_BYTES_MAX {
        let detail = "the agent's instance is too long";
        return Err(Refusal::new(RefusalCode::Protocol, detail, false));
    }
    Ok(())
}

/// Sends a refusal to the agent, and closes the connection.
pub async fn refuse<S>(sink: &mut FrameSink<S>, refusal: Refusal)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let frame = control_frame(0, &Control::Refused(refusal));
    let _ = timeout(WRITE_MAX, sink.write(&[frame])).await;
    sink.close().await;
}

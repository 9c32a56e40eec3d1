//! Opens one link to a server: transport, WebSocket, hello and welcome.

use std::io;

use http::StatusCode;
use svc_client::{
    Target,
    transport::{self, Stream, StrictStream},
};
use svc_core::ServerId;
use svc_link::{Hello, OpenError, OpenedLink, PATH, Refusal, SideLink, VERSION, WebSocketError};
use svc_protocol::http_answer::RequestKind;
use thiserror::Error;
use tokio::time::timeout;

use super::Link;

/// The connection to a server.
pub type ServerIo = Box<dyn Stream>;

#[derive(Debug, Error)]
pub enum ConnectError {
    #[error("the server at `{url}` cannot be reached: {source}")]
    Unreachable { url: String, source: io::Error },
    #[error("the server at `{url}` did not answer in time")]
    TimedOut { url: String },
    #[error("the server at `{0}` refuses the agent token")]
    Unauthorized(String),
    #[error("the server at `{url}` answered {status} to the request for a link")]
    Status { url: String, status: StatusCode },
    #[error("the link to `{url}` failed: {source}")]
    WebSocket {
        url: String,
        source: Box<WebSocketError>,
    },
    #[error(
        "the agent token contains characters that are not allowed in a token; check SVC_AGENT_TOKEN"
    )]
    TokenText,
    #[error("the server refuses the link: {}", .0.detail)]
    Refused(Refusal),
    #[error(
        "`{url}` is announced as server {announced}, but server {found} answers there; check its advertise_url"
    )]
    OtherServer {
        url: String,
        announced: ServerId,
        found: ServerId,
    },
    #[error("the server at `{0}` does not follow the link protocol; is it a server of svc?")]
    Protocol(String),
}

/// Opens the home link if `side` is `None`, else a side link.
pub async fn connect(
    link: &Link,
    server: &Target,
    side: Option<SideLink>,
) -> Result<OpenedLink<ServerIo>, ConnectError> {
    let url = || server.to_string();
    let timed_out = |_| ConnectError::TimedOut { url: url() };
    let stream = timeout(link.policy.connect_timeout, link.dial(server))
        .await
        .map_err(timed_out)?
        .map_err(|source| ConnectError::Unreachable { url: url(), source })?;
    let hello = Hello {
        versions: vec![VERSION],
        svc_version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: link.instance.clone(),
        features: Vec::new(),
        side,
    };
    let link_url = server.url(PATH);
    let opening = svc_link::open(stream, &link_url, &link.agent_token, hello);
    timeout(link.policy.handshake_timeout, opening)
        .await
        .map_err(timed_out)?
        .map_err(|error| connect_error(url(), error))
}

impl Link {
    async fn dial(&self, server: &Target) -> io::Result<ServerIo> {
        #[cfg(test)]
        if let Some(network) = &self.network {
            return network.connect().await;
        }
        dial(server).await
    }
}

async fn dial(server: &Target) -> io::Result<ServerIo> {
    let stream = transport::connect(server).await?;
    // Only the answer to the upgrade is HTTP; the check ends with it.
    Ok(Box::new(StrictStream::new(stream, RequestKind::Usual)))
}

fn connect_error(url: String, error: OpenError) -> ConnectError {
    match error {
        OpenError::TokenText => ConnectError::TokenText,
        OpenError::Status(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
            ConnectError::Unauthorized(url)
        }
        OpenError::Status(status) => ConnectError::Status { url, status },
        OpenError::WebSocket(source) => ConnectError::WebSocket { url, source },
        OpenError::Refused(refusal) => ConnectError::Refused(refusal),
        OpenError::Protocol => ConnectError::Protocol(url),
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    #[tokio::test]
    async fn an_ambiguous_answer_to_the_upgrade_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let answering = async {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                stream.read_buf(&mut request).await.expect("read");
            }
            let answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\n\r\n";
            stream.write_all(answer).await.expect("written");
        };
        let server = Target::parse(&format!("http://{address}"), None).expect("an address");
        let connecting = async {
            let stream = dial(&server).await.expect("connected");
            svc_link::connect(stream, &server.url(PATH), "svc_agt_x").await
        };
        let ((), connected) = tokio::join!(answering, connecting);
        let error = connected.map(drop).expect_err("ambiguous");
        let error = connect_error(server.to_string(), error).to_string();
        assert!(error.contains("a line ends with LF alone"), "{error}");
    }
}

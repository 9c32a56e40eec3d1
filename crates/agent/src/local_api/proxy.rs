//! Forwards requests to the server with the agent's credential, so that programs of the space need
//! no credential.

use std::{io, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response,
    header::{
        AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, ORIGIN, TE, TRAILER,
        TRANSFER_ENCODING, UPGRADE,
    },
    request::Parts,
};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use svc_client::{
    Target,
    transport::{self, Stream, StrictStream},
};
use svc_protocol::http_answer::{AnswerError, RequestKind};
use thiserror::Error;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::servers::Servers;

/// Maximum size of a request body.
pub const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Maximum size of a response body. Event streams have no limit.
const RESPONSE_BYTES_MAX: usize = 64 * 1024 * 1024;

#[derive(Debug, Error)]
pub enum ProxyError {
    #[error("the server at `{url}` cannot be reached: {source}")]
    Unreachable { url: String, source: io::Error },
    #[error("the server at `{0}` did not answer in time")]
    TimedOut(String),
    #[error("the answer of `{url}` is not valid HTTP/1.1: {source}")]
    Answer { url: String, source: AnswerError },
    #[error("the request to `{url}` failed: {source}")]
    Failed {
        url: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

pub struct Proxy {
    servers: Arc<Servers>,
    credential: HeaderValue,
    connect_timeout: Duration,
}

impl Proxy {
    /// `None` if the token contains characters that an HTTP header cannot hold.
    pub fn new(
        servers: Arc<Servers>,
        agent_token: &str,
        connect_timeout: Duration,
    ) -> Option<Self> {
        let mut credential = HeaderValue::from_str(&format!("Bearer {agent_token}")).ok()?;
        credential.set_sensitive(true);
        Some(Self {
            servers,
            credential,
            connect_timeout,
        })
    }

    /// Sends one request and reads the whole response, unless the response is an event stream. Only
    /// connecting has a time limit, because a call may take as long as its method allows. A client
    /// that disconnects cancels the request.
    pub async fn send(&self, head: Parts, body: Bytes) -> Result<Response<Body>, ProxyError> {
        let (server, stream) = self.connect().await?;
        let url = || server.to_string();
        let failed =
            |source: Box<dyn std::error::Error + Send + Sync>| match transport::find_answer_error(
                &*source,
            ) {
                Some(refused) => ProxyError::Answer {
                    url: url(),
                    source: refused.clone(),
                },
                None => ProxyError::Failed { url: url(), source },
            };
        let kind = match head.method {
            Method::HEAD => RequestKind::Head,
            _ => RequestKind::Usual,
        };
        let stream = TokioIo::new(StrictStream::new(stream, kind));
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream)
            .await
            .map_err(|error| failed(error.into()))?;
        let request = self
            .request(&server, head, body)
            .map_err(|error| failed(error.into()))?;
        // Ignore errors of the connection: they also reach `send_request` and the body.
        let driver = AbortOnDropHandle::new(tokio::spawn(async move {
            let _ = connection.await;
        }));
        let (head, body) = sender
            .send_request(request)
            .await
            .map_err(|error| failed(error.into()))?
            .into_parts();
        let body = if is_event_stream(&head.headers) {
            pass_as_it_comes(body, driver)
        } else {
            let whole = Limited::new(body, RESPONSE_BYTES_MAX).collect().await;
            Body::from(whole.map_err(failed)?.to_bytes())
        };
        let mut response = Response::new(body);
        *response.status_mut() = head.status;
        *response.headers_mut() = end_to_end(head.headers);
        Ok(response)
    }

    /// Connects to the current server, or to the first other server that can be reached. The
    /// request has not been sent yet, so trying another server cannot repeat it.
    async fn connect(&self) -> Result<(Target, Box<dyn Stream>), ProxyError> {
        let mut failure = None;
        for server in self.servers.in_turn() {
            let url = || server.to_string();
            let failed = match timeout(self.connect_timeout, transport::connect(&server)).await {
                Ok(Ok(stream)) => return Ok((server, stream)),
                Ok(Err(source)) => ProxyError::Unreachable { url: url(), source },
                Err(_) => ProxyError::TimedOut(url()),
            };
            failure.get_or_insert(failed);
        }
        Err(failure.expect("there is a server to connect to"))
    }

    fn request(
        &self,
        server: &Target,
        head: Parts,
        body: Bytes,
    ) -> http::Result<Request<Full<Bytes>>> {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder()
            .method(head.method)
            .uri(server.path(path))
            .body(Full::new(body))?;
        let mut headers = end_to_end(head.headers);
        // The agent's token identifies the caller, so the client's own credentials are removed or
        // replaced. `Origin` and `Host` were meant for the agent's address.
        for name in [HOST, COOKIE, ORIGIN] {
            headers.remove(name);
        }
        headers.insert(HOST, HeaderValue::from_str(&server.host_header())?);
        headers.insert(AUTHORIZATION, self.credential.clone());
        *request.headers_mut() = headers;
        Ok(request)
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Passes an event stream on piece by piece, because the stream may never end.
fn pass_as_it_comes(body: Incoming, driver: AbortOnDropHandle<()>) -> Body {
    let bytes = stream::unfold((body, driver), async |(mut body, driver)| {
        loop {
            match body.frame().await?.map(|frame| frame.into_data().ok()) {
                Ok(Some(bytes)) => return Some((Ok(bytes), (body, driver))),
                Ok(None) => {}
                Err(error) => return Some((Err(error), (body, driver))),
            }
        }
    });
    Body::from_stream(bytes)
}

/// Removes the headers that apply to a single connection (hop-by-hop headers), and
/// `Content-Length`, which is set again if the length of the new body is known.
fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let known = [
        CONNECTION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
        CONTENT_LENGTH,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-authenticate"),
        HeaderName::from_static("proxy-authorization"),
    ];
    for name in named.iter().chain(&known) {
        headers.remove(name);
    }
    headers
}

//! A minimal HTTP/1.1 client, without redirects, retries, cookies or kept connections.

use std::{fmt::Display, net::SocketAddr, path::PathBuf, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    time::timeout,
};

/// A response that takes longer counts as hanging.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The target of requests. Each request has its own connection.
#[derive(Clone, Debug)]
pub enum Http {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Http {
    /// The target of a URL such as `http://127.0.0.1:8080`.
    pub fn to_url(url: &str) -> Self {
        let address = url
            .strip_prefix("http://")
            .unwrap_or(url)
            .trim_end_matches('/');
        Self::Tcp(
            address
                .parse()
                .unwrap_or_else(|_| panic!("`{url}` is not a plain address")),
        )
    }

    /// Sends a request built from plain text.
    pub async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Full::new(body.into());
        self.send(request.body(body).expect("a test's request is well-formed"))
            .await
    }

    /// Sends a request; panics if no response arrives.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        let shown = format!("{} {}", request.method(), request.uri());
        self.try_send(request)
            .await
            .unwrap_or_else(|error| panic!("{shown}: {error}"))
    }

    /// Sends a request. Returns an error if no response arrives.
    pub async fn try_send(&self, mut request: Request<Full<Bytes>>) -> Result<Answer, String> {
        let headers = request.headers_mut();
        if !headers.contains_key(header::HOST) {
            headers.insert(header::HOST, self.host());
        }
        let exchange = async {
            match self {
                Self::Tcp(address) => {
                    let stream = TcpStream::connect(address).await.map_err(text)?;
                    exchange(stream, request).await
                }
                Self::Unix(path) => {
                    let stream = UnixStream::connect(path).await.map_err(text)?;
                    exchange(stream, request).await
                }
            }
        };
        timeout(ANSWER_LIMIT, exchange)
            .await
            .map_err(|_| format!("no answer within {ANSWER_LIMIT:?}"))?
    }

    fn host(&self) -> header::HeaderValue {
        let host = match self {
            Self::Tcp(address) => address.to_string(),
            Self::Unix(_) => "localhost".to_owned(),
        };
        host.parse().expect("an address is a header value")
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: Request<Full<Bytes>>,
) -> Result<Answer, String> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(text)?;
    let answer = async move {
        let (head, body) = sender
            .send_request(request)
            .await
            .map_err(text)?
            .into_parts();
        let body = body.collect().await.map_err(text)?.to_bytes();
        Ok(Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
        })
    };
    let mut answer = std::pin::pin!(answer);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        // The connection may end before the response has been read.
        _ = &mut connection => answer.await,
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}

impl Answer {
    /// Panics with the body unless the status is `status`.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "answered: {}", self.text());
        self
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!(
                "not JSON ({error}), status {}: {}",
                self.status,
                self.text()
            )
        })
    }

    /// The `code` of an error response; `""` if the response has none.
    pub fn code(&self) -> String {
        serde_json::from_slice::<Value>(&self.body)
            .ok()
            .and_then(|body| body["code"].as_str().map(str::to_owned))
            .unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

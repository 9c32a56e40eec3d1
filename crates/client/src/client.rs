//! The typed client of the server's HTTP API.

mod calls;
mod events;
pub(crate) mod query;
mod routes;
mod sinks;
mod sources;

pub use routes::LoginStep;

use std::{fmt, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::Full;
use serde::{Serialize, de::DeserializeOwned};
use svc_core::TraceContext;
use svc_protocol::{
    document,
    problem::{CHANGES_SETTING, Problem},
};

use crate::{
    error::Error,
    sse::EventStream,
    target::Target,
    transport::{Answer, Policy, Reply, Transport},
};

/// How often a change is sent again if the user makes too many changes per second, and the longest
/// wait before that.
const CHANGE_RETRIES: u32 = 10;
const CHANGE_WAIT_MAX: Duration = Duration::from_secs(10);

/// The credential that a client sends.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Credential {
    /// No credential. An agent's proxy adds its own credential.
    #[default]
    None,
    /// An API token or an agent token.
    Token(String),
    /// The session cookie, as `name=value`.
    Session(String),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Token(_) => "Token(…)",
            Self::Session(_) => "Session(…)",
        })
    }
}

/// A client of one server (or of an agent's proxy), with one credential.
pub struct Client {
    transport: Transport,
    credential: Credential,
    /// The trace that the requests continue.
    trace: Option<TraceContext>,
}

impl Client {
    pub fn new(target: Target) -> Self {
        Self::with_policy(target, Policy::default())
    }

    pub fn with_policy(target: Target, policy: Policy) -> Self {
        Self {
            transport: Transport::new(target, policy),
            credential: Credential::None,
            trace: None,
        }
    }

    /// Makes the following requests a part of a trace.
    pub fn set_trace(&mut self, trace: Option<TraceContext>) {
        self.trace = trace;
    }

    #[must_use]
    pub fn with_credential(mut self, credential: Credential) -> Self {
        self.credential = credential;
        self
    }

    #[must_use]
    pub fn with_token(self, token: impl Into<String>) -> Self {
        self.with_credential(Credential::Token(token.into()))
    }

    pub fn target(&self) -> &Target {
        self.transport.target()
    }

    pub fn credential(&self) -> &Credential {
        &self.credential
    }

    pub fn policy(&self) -> &Policy {
        self.transport.policy()
    }

    /// Sends any request and returns the answer, whatever its status. A `body` is sent as JSON
    /// unless `headers` name another content type.
    pub async fn send_raw(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
        within: Option<Duration>,
    ) -> Result<Answer, Error> {
        let request = self.request(method, path, &headers, body)?;
        let within = within.unwrap_or(self.policy().answer_timeout);
        self.transport.send(request, within).await
    }

    /// Sends any request whose answer may be a stream. `within` limits the time until the whole
    /// answer, or the start of the stream, has arrived.
    pub async fn send_for_reply(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
        within: Duration,
    ) -> Result<Reply, Error> {
        let request = self.request(method, path, &headers, body)?;
        self.transport.send_for_reply(request, within).await
    }

    /// Opens a stream of server-sent events.
    pub(crate) async fn open_stream(
        &self,
        path: &str,
        headers: HeaderMap,
    ) -> Result<EventStream, Error> {
        let request = self.request(Method::GET, path, &headers, None)?;
        self.transport
            .open_stream(request)
            .await?
            .map_err(|answer| self.problem(answer.status, &answer.body))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        headers: &HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<Request<Full<Bytes>>, Error> {
        let has_body = body.is_some();
        let mut request = Request::builder()
            .method(method)
            .uri(self.target().path(path))
            .body(Full::new(Bytes::from(body.unwrap_or_default())))
            .map_err(|error| {
                self.transport
                    .unexpected(format!("`{path}` is not a valid path: {error}"))
            })?;
        self.put_credential(request.headers_mut())?;
        if has_body {
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(header::CONTENT_TYPE, json);
        }
        if let Some(trace) = &self.trace {
            put_trace(request.headers_mut(), trace);
        }
        for (name, value) in headers {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        Ok(request)
    }

    fn put_credential(&self, headers: &mut HeaderMap) -> Result<(), Error> {
        let (name, text) = match &self.credential {
            Credential::None => return Ok(()),
            Credential::Token(token) => (header::AUTHORIZATION, format!("Bearer {token}")),
            Credential::Session(session) => (header::COOKIE, session.clone()),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            self.transport
                .unexpected("the token contains characters that are not allowed in a token")
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }

    /// Sends a request; an answer other than 2xx is an error. If the user makes too many changes per
    /// second, waits and sends the request again: the server did nothing.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Answer, Error> {
        let mut retries = 0;
        loop {
            let sending = self.send_raw(method.clone(), path, HeaderMap::new(), body.clone(), None);
            let answer = sending.await?;
            match wait_for_change(&answer) {
                Some(wait) if retries < CHANGE_RETRIES => tokio::time::sleep(wait).await,
                _ => return self.check_status(answer),
            }
            retries += 1;
        }
    }

    fn check_status(&self, answer: Answer) -> Result<Answer, Error> {
        if answer.status.is_success() {
            Ok(answer)
        } else {
            Err(self.problem(answer.status, &answer.body))
        }
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let answer = self.send(Method::GET, path, None).await?;
        self.read(&answer)
    }

    /// A `POST` without a body.
    async fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let answer = self.send(Method::POST, path, None).await?;
        self.read(&answer)
    }

    async fn post_body(&self, path: &str, body: &impl Serialize) -> Result<Answer, Error> {
        let body = self.write(body)?;
        self.send(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn send_json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let body = self.write(body)?;
        let answer = self.send(method, path, Some(body)).await?;
        self.read(&answer)
    }

    fn write(&self, body: &impl Serialize) -> Result<Vec<u8>, Error> {
        serde_json::to_vec(body).map_err(|error| {
            self.transport
                .unexpected(format!("the request cannot be written as JSON: {error}"))
        })
    }

    pub(crate) fn read<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, Error> {
        document::read_json(&answer.body).map_err(|error| {
            self.transport.unexpected(format!(
                "status {} with a body that this version of svc cannot read: {error}",
                answer.status
            ))
        })
    }

    /// The error for an answer that is not a success, with or without a problem document.
    pub fn problem(&self, status: StatusCode, body: &[u8]) -> Error {
        match serde_json::from_slice::<Problem>(body) {
            Ok(problem) => Error::Problem {
                status,
                problem: Box::new(problem),
            },
            Err(_) => self
                .transport
                .unexpected(format!("status {status} without a problem document")),
        }
    }
}

/// How long to wait if the answer says that the user makes too many changes per second.
fn wait_for_change(answer: &Answer) -> Option<Duration> {
    if answer.status != StatusCode::TOO_MANY_REQUESTS {
        return None;
    }
    let problem: Problem = serde_json::from_slice(&answer.body).ok()?;
    let setting = problem.exceeded?.setting;
    let seconds = answer.headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    let wait = Duration::from_secs(seconds.parse().ok()?);
    (setting == CHANGES_SETTING && wait <= CHANGE_WAIT_MAX).then_some(wait)
}

fn put_trace(headers: &mut HeaderMap, trace: &TraceContext) {
    let header = |text: &str| HeaderValue::from_str(text).ok();
    if let Some(parent) = header(&trace.traceparent()) {
        headers.insert("traceparent", parent);
    }
    if let Some(state) = trace.tracestate().and_then(header) {
        headers.insert("tracestate", state);
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("target", self.target())
            .field("credential", &self.credential)
            .finish()
    }
}

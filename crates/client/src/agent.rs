//! The agent's local API on its Unix socket.

use std::{path::PathBuf, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::json;
use svc_core::TraceContext;
use svc_protocol::{
    agent_api::{RegisterFile, Registered, Status, Unregistered},
    api,
};

use crate::{
    client::{Client, query::with_query},
    error::Error,
    target::Target,
    transport::Policy,
};

/// The timeout of every request that is not a call. It is long, because a registration includes the
/// start of a process and the server's answer.
const REGISTER_TIMEOUT: Duration = Duration::from_secs(120);

/// `wait=<seconds>`: how long the answer may take (RFC 7240).
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// A client of one agent.
#[derive(Debug)]
pub struct AgentClient {
    client: Client,
}

impl AgentClient {
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        let policy = Policy {
            answer_timeout: REGISTER_TIMEOUT,
            ..Policy::default()
        };
        Self {
            client: Client::with_policy(Target::unix(socket), policy),
        }
    }

    /// Makes the following requests a part of a trace.
    pub fn set_trace(&mut self, trace: Option<TraceContext>) {
        self.client.set_trace(trace);
    }

    pub async fn status(&self) -> Result<Status, Error> {
        self.client.get("/status").await
    }

    pub async fn register(&self, file: &RegisterFile) -> Result<Registered, Error> {
        self.client
            .send_json(Method::POST, "/registration", file)
            .await
    }

    /// Removes all methods, or only those with a given local name.
    pub async fn unregister(&self, local_name: Option<&str>) -> Result<Unregistered, Error> {
        let path = with_query("/registration", &json!({"local_name": local_name}));
        let answer = self.client.send(Method::DELETE, &path, None).await?;
        self.client.read(&answer)
    }

    /// Emits an event of the agent's space. While the database of the server cannot be reached, the
    /// agent retries for a while.
    pub async fn emit(
        &self,
        emit: &api::Emit,
        idempotency_key: Option<&str>,
    ) -> Result<api::EmittedEvent, Error> {
        let headers = HeaderMap::new();
        self.client
            .emit_at("/event", emit, idempotency_key, headers)
            .await
    }

    /// Emits an event like [`emit`](Self::emit), but the agent does not retry. For a client that
    /// retries itself and reports its retries.
    pub async fn emit_once(
        &self,
        emit: &api::Emit,
        idempotency_key: &str,
    ) -> Result<api::EmittedEvent, Error> {
        let headers = HeaderMap::from_iter([(PREFER, HeaderValue::from_static("wait=0"))]);
        self.client
            .emit_at("/event", emit, Some(idempotency_key), headers)
            .await
    }

    /// Waits until the server has the lines that the method server has written so far.
    pub async fn flush_log(&self) -> Result<(), Error> {
        self.client
            .send(Method::POST, "/log/flush", None)
            .await
            .map(drop)
    }

    pub async fn stop(&self) -> Result<(), Error> {
        self.client
            .send(Method::POST, "/stop", None)
            .await
            .map(drop)
    }

    /// The server's API through the agent's proxy, which acts as the space's owner.
    pub fn api(&self) -> &Client {
        &self.client
    }

    pub fn into_api(self) -> Client {
        self.client
    }
}

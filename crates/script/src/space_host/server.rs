//! Sends operations to the space's agent if there is one, else to the server.

use std::path::PathBuf;

use http::{HeaderMap, Method};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use svc_client::{AgentClient, Client, Error, Policy, Target};
use svc_core::TraceContext;
use svc_protocol::{api, env};

use crate::{Exception, Raise};

/// The maximum size of a response.
pub(super) const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Requests to this path have a longer timeout, because a call lasts until its method answers.
const CALL_PATH: &str = "/api/methods/call";
/// Paths of streams, without the ending `/stream`. A script cannot read a stream, because the
/// response never ends.
const STREAMED_PATHS: [&str; 2] = ["/api/events", "/api/calls"];

pub(super) struct Servers {
    agent: Option<Agent>,
    server: Option<Client>,
}

struct Agent {
    client: AgentClient,
    /// The server's API through the agent, with the limits for scripts.
    api: Client,
}

/// A response of the API. A JSON body is unchanged; [`body_of`] converts other bodies.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    status: u16,
    body: Box<RawValue>,
}

impl Servers {
    pub(super) fn new(agent_socket: Option<PathBuf>) -> Self {
        let agent = agent_socket.map(|socket| {
            let policy = Policy {
                answer_bytes_max: ANSWER_BYTES_MAX,
                ..Policy::default()
            };
            Agent {
                api: Client::with_policy(Target::unix(&socket), policy),
                client: AgentClient::new(socket),
            }
        });
        Self {
            agent,
            server: None,
        }
    }

    pub(super) fn set_server(&mut self, client: Client) {
        self.server = Some(client);
    }

    /// Makes the following requests a part of a trace.
    pub(super) fn set_trace(&mut self, trace: Option<&TraceContext>) {
        if let Some(agent) = &mut self.agent {
            agent.client.set_trace(trace.cloned());
            agent.api.set_trace(trace.cloned());
        }
        if let Some(server) = &mut self.server {
            server.set_trace(trace.cloned());
        }
    }

    pub(super) fn agent_for_methods(&self) -> Result<&AgentClient, Raise> {
        self.agent.as_ref().map(|agent| &agent.client).ok_or_else(|| {
            let socket = env::AGENT_SOCKET;
            Raise::runtime(format!(
                "svc.methods works inside a space only: no agent was found ({socket} is not set, \
                 and no .svc/agent.json is in this folder or above)"
            ))
        })
    }

    /// The outer error means that there is neither an agent nor a server. The inner result is that
    /// of the request.
    pub(super) async fn emit(
        &self,
        emit: &api::Emit,
    ) -> Result<Result<api::EmittedEvent, Error>, Raise> {
        match (&self.agent, &self.server) {
            (Some(agent), _) => Ok(agent.client.emit(emit, None).await),
            (None, Some(server)) => Ok(server.emit(emit, None).await),
            (None, None) => Err(no_server("svc.event")),
        }
    }

    pub(super) async fn api(
        &self,
        method: &str,
        path: &str,
        body: Option<&RawValue>,
    ) -> Result<Result<Answer, Error>, Raise> {
        let method = check_request(method, path)?;
        let client = self.client().ok_or_else(|| no_server("svc.api"))?;
        let route = path.split('?').next().unwrap_or(path);
        let within = (route == CALL_PATH).then_some(client.policy().call_timeout);
        let body = body.map(|body| body.get().as_bytes().to_vec());
        let sent = client.send_raw(method, path, HeaderMap::new(), body, within);
        let answer = match sent.await {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        if answer.body.len() > ANSWER_BYTES_MAX {
            let bytes = answer.body.len();
            return Err(Raise::runtime(format!(
                "the answer of `{path}` has {bytes} bytes; a script may read at most {ANSWER_BYTES_MAX}"
            )));
        }
        let status = answer.status.as_u16();
        body_of(&answer.body).map(|body| Ok(Answer { status, body }))
    }

    /// The server's API, through the agent if there is one.
    pub(super) fn client(&self) -> Option<&Client> {
        let agent = self.agent.as_ref().map(|agent| &agent.api);
        agent.or(self.server.as_ref())
    }
}

/// Returns JSON unchanged, an empty body as `null`, and any other body as a JSON string.
fn body_of(bytes: &[u8]) -> Result<Box<RawValue>, Raise> {
    let text = if bytes.is_empty() { b"null" } else { bytes };
    if let Ok(body) = serde_json::from_slice::<Box<RawValue>>(text) {
        return Ok(body);
    }
    to_raw_value(&String::from_utf8_lossy(bytes))
        .map_err(|error| Raise::runtime(format!("the answer is not text: {error}")))
}

/// Rejects paths outside the API, endless streams and unknown HTTP methods.
fn check_request(method: &str, path: &str) -> Result<Method, Raise> {
    let refuse = |text: String| Err(Raise::new(Exception::ValueError, text));
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'#' && byte != b'\\';
    if !path.starts_with("/api/") || !path.bytes().all(plain) || path.contains("/..") {
        return refuse(format!(
            "`{path}` is not a path of the API: it must be `/api/...`, escaped as in a URL"
        ));
    }
    let (route, _) = path.split_once('?').unwrap_or((path, ""));
    if let Some(list) = route.strip_suffix("/stream")
        && STREAMED_PATHS.contains(&list)
    {
        return refuse(format!("`{route}` is an endless stream; use `{list}`"));
    }
    match method.to_ascii_uppercase().as_str() {
        "GET" => Ok(Method::GET),
        "POST" => Ok(Method::POST),
        "PUT" => Ok(Method::PUT),
        "PATCH" => Ok(Method::PATCH),
        "DELETE" => Ok(Method::DELETE),
        "HEAD" => Ok(Method::HEAD),
        _ => refuse(format!("`{method}` is not a method of the API")),
    }
}

fn no_server(module: &str) -> Raise {
    let (socket, url, token) = (env::AGENT_SOCKET, env::URL, env::TOKEN);
    Raise::runtime(format!(
        "{module} has no server to ask: no agent was found ({socket} is not set), and no server is \
         known; run inside a space, log in with `svc login`, or set {url} and {token}"
    ))
}

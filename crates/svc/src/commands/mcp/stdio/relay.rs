//! Sends messages of the client to the server, and the server's answers to the client.

use std::{collections::HashMap, sync::Arc, time::Duration};

use http::{HeaderMap, Method};
use serde_json::Value;
use svc_agent::Backoff;
use svc_client::{Answer, Client, Error, EventStream, Received, Reply};
use svc_protocol::jsonrpc::fold_lines;
use tokio::{
    sync::{Mutex, mpsc},
    task::AbortHandle,
    time::{Instant, sleep, timeout},
};
use tokio_util::task::TaskTracker;

use super::{
    legacy::LegacyClient,
    listen, log,
    message::{
        CALL, CANCELLED, FromServer, INVALID_REQUEST, LISTEN, Message, UNAVAILABLE, error_line,
    },
};
use crate::commands::mcp::{
    param_headers,
    speak::{HEADER_MISMATCH, McpClient},
};

/// Maximum requests of the client in flight.
const IN_FLIGHT_MAX: usize = 1_000;
/// How long to retry a request that may be repeated.
const RETRY_MAX: Duration = Duration::from_secs(30);
/// Short delays, because the client waits for the answer.
const RETRY_BACKOFF: Backoff = Backoff::from_millis(200, 1_000);
/// Delays between attempts to open a stream of list changes.
pub const BACKOFF: Backoff = Backoff::from_millis(200, 10_000);

/// The state of one client.
pub struct Bridge {
    pub client: McpClient,
    pub path: &'static str,
    out: mpsc::Sender<Vec<u8>>,
    tasks: TaskTracker,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    legacy: LegacyClient,
    /// Requests in flight, by id. The id is JSON text.
    in_flight: HashMap<String, InFlight>,
    /// Input schemas by tool, for headers of modern calls; `None` until they are needed.
    schemas: Option<Arc<HashMap<String, Value>>>,
}

struct InFlight {
    task: AbortHandle,
    /// A subscription never ends by itself, so [`Bridge::finish`] aborts it.
    is_subscription: bool,
}

impl Bridge {
    pub fn new(client: Client, search: bool, out: mpsc::Sender<Vec<u8>>) -> Self {
        Self {
            client: McpClient::new(client),
            path: if search { "/mcp?tools=search" } else { "/mcp" },
            out,
            tasks: TaskTracker::new(),
            state: Mutex::default(),
        }
    }

    /// Starts to relay a message.
    pub async fn take(self: &Arc<Self>, message: Message) {
        let mut state = self.state.lock().await;
        if message.method == CANCELLED {
            let id = message.cancels.unwrap_or_default();
            if let Some(request) = state.in_flight.remove(&id) {
                // Closes the connection of the request, which cancels the request in every protocol
                // version.
                request.task.abort();
            }
            // The cancellation is not forwarded: the server could apply it to a request of another
            // client.
            return;
        }
        if self.tasks.len() >= IN_FLIGHT_MAX {
            drop(state);
            let why = format!("{IN_FLIGHT_MAX} requests are in flight; wait for answers");
            return self.refuse(&message, UNAVAILABLE, &why).await;
        }
        let id = message.id.clone();
        if let Some(id) = &id
            && state.in_flight.contains_key(id)
        {
            drop(state);
            let why = "a request with this id is in flight";
            return self.refuse(&message, INVALID_REQUEST, why).await;
        }
        let bridge = Arc::clone(self);
        let is_subscription = message.method == LISTEN;
        // The task needs the lock to remove its entry. This function holds the lock until it has
        // inserted the entry.
        let task = self.tasks.spawn(async move {
            if is_subscription {
                listen::subscribe(&bridge, message).await;
            } else {
                bridge.relay(message).await;
            }
        });
        if let Some(id) = id {
            let in_flight = InFlight {
                task: task.abort_handle(),
                is_subscription,
            };
            state.in_flight.insert(id, in_flight);
        }
    }

    /// Removes a request. Called before its answer is written, because the client may reuse the id
    /// as soon as it has the answer.
    pub async fn settle(&self, message: &Message) {
        if let Some(id) = &message.id {
            self.state.lock().await.in_flight.remove(id);
        }
    }

    /// Ends the streams of list changes and waits for the answers of the other requests. Requests
    /// that have no answer after `within` are cancelled.
    pub async fn finish(&self, within: Duration) {
        let mut state = self.state.lock().await;
        state.legacy.end();
        for request in state.in_flight.values().filter(|r| r.is_subscription) {
            request.task.abort();
        }
        drop(state);
        self.tasks.close();
        if timeout(within, self.tasks.wait()).await.is_err() {
            log("stdin is closed; requests without an answer are cancelled");
            for request in self.state.lock().await.in_flight.values() {
                request.task.abort();
            }
        }
    }

    /// Sends a message from the server to the client, on one line.
    pub async fn write(&self, message: &[u8]) {
        let mut line = Vec::with_capacity(message.len() + 1);
        fold_lines(&mut line, message.trim_ascii());
        // Fails only at the end, when the client has closed stdout.
        let _ = self.out.send(line).await;
    }

    /// Answers a request with an error. A notification has no answer, so the reason is only logged.
    pub async fn refuse(&self, message: &Message, code: i64, why: &str) {
        log(why);
        let is_batch = message.method.is_empty();
        if message.id.is_some() || is_batch {
            let line = error_line(message.id.as_deref(), code, why);
            let _ = self.out.send(line).await;
        }
    }

    /// Removes a request that gets no answer of the server, and refuses it.
    async fn give_up(&self, message: &Message, why: &str) {
        self.settle(message).await;
        self.refuse(message, UNAVAILABLE, why).await;
    }

    /// Sends the message and relays its answer.
    async fn relay(self: &Arc<Self>, message: Message) {
        let headers = self.headers(&message).await;
        let reply = match self.send(&message, headers).await {
            Ok(reply) => reply,
            Err(error) => {
                let not_repeated = match message.method.as_str() {
                    CALL => "; the call may have been made and is not repeated",
                    _ => "",
                };
                let why = format!("{error}{not_repeated}");
                return self.give_up(&message, &why).await;
            }
        };
        match reply {
            Reply::Whole(answer) => self.relay_answer(&message, &answer).await,
            Reply::Stream(stream) => self.relay_stream(&message, stream).await,
        }
    }

    async fn send(&self, message: &Message, headers: HeaderMap) -> Result<Reply, Error> {
        let until = Instant::now() + RETRY_MAX;
        let mut delays = RETRY_BACKOFF.delays();
        loop {
            let sent = self.post(message, headers.clone()).await;
            let delay = delays.next_delay();
            match sent {
                Err(Error::Unreachable { .. })
                    if message.may_repeat() && Instant::now() + delay < until =>
                {
                    sleep(delay).await;
                }
                sent => return sent,
            }
        }
    }

    pub async fn post(&self, message: &Message, headers: HeaderMap) -> Result<Reply, Error> {
        let client = self.client.http();
        let within = match message.method.as_str() {
            // A batch may contain calls.
            CALL | "" => client.policy().call_timeout,
            _ => client.policy().answer_timeout,
        };
        let body = Some(message.line.to_vec());
        client
            .send_for_reply(Method::POST, self.path, headers, body, within)
            .await
    }

    /// The headers of a message, with the arguments that the schema of a tool requires in headers.
    pub async fn headers(&self, message: &Message) -> HeaderMap {
        let legacy = self.state.lock().await.legacy.version.clone();
        let mut headers = message.headers(legacy.as_deref());
        if message.method == "tools/list" {
            self.forget_schemas().await;
        }
        if let (true, Some(tool), Some(arguments)) =
            (message.is_modern(), &message.tool, &message.arguments)
            && let Some(schema) = self.schemas().await.get(tool)
            && let Ok(arguments) = serde_json::from_str(arguments)
        {
            headers.extend(param_headers::mirror(schema, &arguments));
        }
        headers
    }

    /// The headers of the stream of a legacy client.
    pub async fn stream_headers(&self) -> HeaderMap {
        self.state.lock().await.legacy.stream_headers()
    }

    /// The schemas of the tools, cached until the client or the server indicates that the list may
    /// have changed. Empty in search mode, whose tools require no arguments in headers.
    async fn schemas(&self) -> Arc<HashMap<String, Value>> {
        if self.path != "/mcp" {
            return Arc::default();
        }
        if let Some(known) = &self.state.lock().await.schemas {
            return Arc::clone(known);
        }
        // Without the schemas, the server refuses a call that requires arguments in headers.
        let Ok(list) = self.client.tools().await else {
            return Arc::default();
        };
        let schemas = list.tools.into_iter().filter_map(|mut tool| {
            let name = tool["name"].as_str()?.to_owned();
            Some((name, tool["inputSchema"].take()))
        });
        let schemas: Arc<HashMap<_, _>> = Arc::new(schemas.collect());
        self.state.lock().await.schemas = Some(Arc::clone(&schemas));
        schemas
    }

    pub async fn forget_schemas(&self) {
        self.state.lock().await.schemas = None;
    }

    pub async fn relay_answer(self: &Arc<Self>, message: &Message, answer: &Answer) {
        self.settle(message).await;
        if let Ok(body) = std::str::from_utf8(&answer.body)
            && (FromServer::of(body) == FromServer::Response || body.trim_start().starts_with('['))
        {
            if message.method == CALL && has_code(body, HEADER_MISMATCH) {
                self.forget_schemas().await;
            }
            if message.method == "initialize" {
                self.state.lock().await.legacy.begin(body, self);
            }
            return self.write(&answer.body).await;
        }
        if answer.status.is_success() && answer.body.is_empty() {
            if message.id.is_some() {
                // Another client with the same token cancelled a request with this id.
                let why = "the request was cancelled on the server";
                self.refuse(message, UNAVAILABLE, why).await;
            }
            return;
        }
        let problem = self.client.http().problem(answer.status, &answer.body);
        let why = problem.to_string();
        self.refuse(message, UNAVAILABLE, &why).await;
    }

    async fn relay_stream(&self, message: &Message, mut stream: EventStream) {
        loop {
            let received = match stream.next().await {
                Ok(Received::Message(received)) => received.data,
                Ok(Received::KeepAlive) => continue,
                Ok(Received::End) => {
                    let why = "the server ended the answer before the result";
                    return self.give_up(message, why).await;
                }
                Err(error) => {
                    let why = format!("{error}; the request is not repeated");
                    return self.give_up(message, &why).await;
                }
            };
            let is_last = FromServer::of(&received) == FromServer::Response;
            if is_last {
                self.settle(message).await;
            }
            self.write(received.as_bytes()).await;
            if is_last {
                return;
            }
        }
    }
}

fn has_code(body: &str, code: i64) -> bool {
    let read = serde_json::from_str::<Value>(body).unwrap_or_default();
    read["error"]["code"] == code
}

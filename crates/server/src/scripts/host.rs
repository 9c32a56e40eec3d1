//! Answers the requests of a script that runs on the server. The script can import libraries, and
//! call the API with the permissions of its user.
//!
//! Every operation checks the user again. If the user loses a permission during the run, the script
//! loses it too. Nothing here may access a file, a process or the network.

use std::sync::Arc;

use http::{Method, Uri};
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use svc_core::{TraceContext, UserId};
use svc_protocol::{document, problem::Problem};
use svc_script::{Exception, Raise, Source, trace_json, worker::JobHost};
use svc_store::{Store, scripts, sinks::GLOBAL};
use tracing::error;

use super::{
    api::{ApiReply, ApiRequest, InternalApi},
    power::withheld_from,
    runner::Libraries,
    source_of,
};
use crate::identity::{Directory, User};

const EMIT: &str = "/api/events/emit";
const SINKS: &str = "/api/event-sinks/";
const STREAMS: [&str; 2] = ["/api/events/stream", "/api/calls/stream"];

pub struct RunHost {
    pub store: Store,
    pub directory: Arc<Directory>,
    pub api: Arc<InternalApi>,
    pub user: UserId,
    pub libraries: Libraries,
    /// The event (JSON) of a sink's script; `None` for tools.
    pub event: Option<String>,
    /// The trace that requests of the script continue.
    pub trace: Option<Box<TraceContext>>,
}

#[derive(Deserialize)]
struct ApiCall {
    method: String,
    path: String,
    #[serde(default)]
    body: Option<Box<RawValue>>,
}

impl JobHost for RunHost {
    async fn library(&self, module: &str) -> Result<Option<Source>, Raise> {
        self.check_user()?;
        let keys = match self.libraries {
            Libraries::Of(user) => scripts::visible_keys(user),
            Libraries::Global => vec![GLOBAL.to_owned()],
        };
        let (name, user) = (module.to_owned(), self.user);
        let found = self.store.read(move |tx| {
            for key in &keys {
                if let Some(found) = scripts::find_library(tx, key, &name)? {
                    let withheld = withheld_from(tx, &found, user)?;
                    return Ok(Some(withheld.map_or(Ok(found), Err)));
                }
            }
            Ok(None)
        });
        let found = found.await.map_err(|failed| {
            error!("cannot read a script's library: {failed}");
            Raise::runtime("the server cannot read its libraries")
        })?;
        let found = found
            .transpose()
            .map_err(|withheld| Raise::new(Exception::PermissionError, withheld.to_string()))?;
        Ok(found.map(source_of))
    }

    async fn call(&self, operation: &str, argument: &str) -> Result<String, Raise> {
        self.check_user()?;
        match operation {
            "api" => self.api(argument).await,
            "emit" => self.emit(argument).await,
            "event" => self
                .event
                .clone()
                .ok_or_else(|| Raise::runtime("a tool script runs for a caller, not for an event")),
            "trace" => Ok(trace_json(self.trace.as_deref())),
            "register" | "unregister" | "process" => Err(Raise::new(
                Exception::PermissionError,
                "this works only inside a space, not in a script on the server",
            )),
            other => Err(Raise::new(
                Exception::ValueError,
                format!("the server does not know the operation `{other}`"),
            )),
        }
    }
}

impl RunHost {
    /// Calls the API of this server, without a connection.
    async fn api(&self, argument: &str) -> Result<String, Raise> {
        let call: ApiCall = document::read_json(argument.as_bytes()).map_err(|error| {
            Raise::new(Exception::TypeError, format!("not an API request: {error}"))
        })?;
        let invalid = |message: String| Raise::new(Exception::ValueError, message);
        let method = match call.method.as_str() {
            "GET" => Method::GET,
            "POST" => Method::POST,
            "PATCH" => Method::PATCH,
            "DELETE" => Method::DELETE,
            other => {
                let message = format!("the API takes GET, POST, PATCH and DELETE, not `{other}`");
                return Err(invalid(message));
            }
        };
        let uri = parse_path(&call.path).map_err(invalid)?;
        if STREAMS.contains(&uri.path()) {
            return Err(invalid("a script cannot follow a stream".to_owned()));
        }
        if self.event.is_some() && queues_events(uri.path()) {
            return Err(emit_denied());
        }
        let body = call
            .body
            .map(|body| Box::<str>::from(body).into_string().into_bytes());
        let reply = self.send(ApiRequest { method, uri, body }).await?;
        Ok(format!(
            r#"{{"status":{},"body":{}}}"#,
            reply.status,
            body_of(&reply)
        ))
    }

    /// Emits a custom event of the user, without a space (spec 6.2).
    async fn emit(&self, argument: &str) -> Result<String, Raise> {
        if self.event.is_some() {
            return Err(emit_denied());
        }
        let reply = self
            .send(ApiRequest {
                method: Method::POST,
                uri: Uri::from_static(EMIT),
                body: Some(argument.as_bytes().to_vec()),
            })
            .await?;
        match reply.status {
            200..300 => Ok(String::from_utf8_lossy(&reply.body).into_owned()),
            _ => Err(to_exception(&reply)),
        }
    }

    async fn send(&self, request: ApiRequest) -> Result<ApiReply, Raise> {
        self.api
            .send(self.user, request, self.trace.as_deref())
            .await
            .map_err(|error| Raise::runtime(error.to_string()))
    }

    fn check_user(&self) -> Result<(), Raise> {
        find_active(&self.directory, self.user)
            .map(drop)
            .map_err(|why| Raise::new(Exception::PermissionError, why))
    }
}

/// The user for whom a script runs, or why no script runs for this user.
pub fn find_active(directory: &Directory, id: UserId) -> Result<Arc<User>, String> {
    match directory.find_user(id) {
        Some(user) if user.active => Ok(user),
        Some(user) => Err(format!(
            "user `{}`, for whom this script runs, is not active",
            user.name
        )),
        None => Err("the user for whom this script runs does not exist any more".to_owned()),
    }
}

/// A script that runs for an event must not emit events, because that could start an endless loop.
fn emit_denied() -> Raise {
    Raise::new(
        Exception::PermissionError,
        "a script that runs for an event cannot emit events or repeat deliveries",
    )
}

/// Whether the route emits an event or repeats a delivery.
fn queues_events(path: &str) -> bool {
    let again = path.ends_with("/replay") || path.ends_with("/resend");
    path == EMIT || again && path.starts_with(SINKS)
}

fn parse_path(path: &str) -> Result<Uri, String> {
    let shown: String = path.chars().take(200).collect();
    let wrong = || format!("`{shown}` is not an API path, such as `/api/methods?q=notes`");
    if !path.starts_with("/api/") {
        return Err(wrong());
    }
    path.parse().map_err(|_| wrong())
}

/// The body as JSON. JSON bytes are passed on unchanged, which preserves numbers and the order of
/// keys.
fn body_of(reply: &ApiReply) -> String {
    let text = String::from_utf8_lossy(&reply.body);
    if text.is_empty() {
        return "null".to_owned();
    }
    if reply.is_json && serde_json::from_str::<&RawValue>(&text).is_ok() {
        return text.into_owned();
    }
    json!(text).to_string()
}

fn to_exception(reply: &ApiReply) -> Raise {
    let detail = serde_json::from_slice::<Problem>(&reply.body).map_or_else(
        |_| format!("the server answered {}", reply.status),
        |problem| problem.detail,
    );
    let exception = match reply.status {
        401 | 403 => Exception::PermissionError,
        400 | 413 | 422 => Exception::ValueError,
        _ => Exception::RuntimeError,
    };
    Raise::new(exception, detail)
}

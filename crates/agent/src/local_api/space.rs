//! The routes on the Unix socket: registration, status, stop, events, packages, and the server's
//! API through the agent.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::{Bytes, to_bytes},
    extract::{DefaultBodyLimit, Query, Request, State, rejection::BytesRejection},
    response::Response,
    routing::{any, get, post},
};
use http::{HeaderMap, StatusCode};
use http_body_util::LengthLimitError;
use serde::Deserialize;
use svc_core::registration::Step;
use svc_protocol::{
    agent_api::{Registered, Status, Unregistered},
    document::ReadError,
    registration_file::{self, FILE_BYTES_MAX},
};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    event::{self, BODY_BYTES_MAX, Events, content_type, is_json},
    packages::{self, PackageRoute},
    problem::{Failure, not_found},
    proxy::{Proxy, REQUEST_BYTES_MAX},
};
use crate::{
    link_status::LinkStatus,
    log::SpaceLog,
    outbox::Outbox,
    policy::Policy,
    registration::{AgentAddresses, Registrar},
    servers::Servers,
};

/// Maximum size of the body of `POST /registration`. The body may contain the registration file
/// as a JSON string, in which the escape of a byte may have six characters, such as `\u0001`.
const REGISTRATION_BODY_MAX: usize = 6 * FILE_BYTES_MAX + 64 * 1024;

/// State of the routes.
pub struct SpaceApi {
    pub registrar: Arc<Registrar>,
    pub link: watch::Receiver<LinkStatus>,
    pub addresses: AgentAddresses,
    pub servers: Arc<Servers>,
    pub proxy: Proxy,
    pub events: Arc<Events>,
    pub packages: Arc<PackageRoute>,
    pub log: Arc<SpaceLog>,
    pub outbox: Arc<Outbox>,
    pub policy: Arc<Policy>,
    /// Stops the agent.
    pub shutdown: CancellationToken,
}

pub fn router(api: Arc<SpaceApi>) -> Router {
    let events = Router::new()
        .route("/event", post(event::emit))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(Arc::clone(&api.events));
    let packages = get(packages::get).with_state(Arc::clone(&api.packages));
    Router::new()
        .route("/registration", post(register).delete(unregister))
        .layer(DefaultBodyLimit::max(REGISTRATION_BODY_MAX))
        .route("/status", get(status))
        .route("/log/flush", post(flush_log))
        .route("/stop", post(stop))
        .route("/api/{*path}", any(pass_on))
        .fallback(not_found)
        .with_state(api)
        .merge(events)
        .route("/packages/{*name}", packages)
}

type Api = State<Arc<SpaceApi>>;

async fn register(
    State(api): Api,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Registered>, Failure> {
    let invalid = |status, detail| Failure::new(status, "invalid_request", detail);
    if !content_type(&headers).is_some_and(is_json) {
        let detail = "send `Content-Type: application/json`".to_owned();
        return Err(invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let body = body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let detail = format!(
                "the body of a registration may have at most {REGISTRATION_BODY_MAX} bytes"
            );
            invalid(StatusCode::PAYLOAD_TOO_LARGE, detail)
        }
        status => invalid(status, "the body did not arrive completely".to_owned()),
    })?;
    let file = registration_file::read_request(&body).map_err(|error| body_failure(&error))?;
    Ok(Json(api.registrar.register(file).await?))
}

/// An error inside the member `registration` is 422. Any other error of the body is 400.
fn body_failure(error: &ReadError) -> Failure {
    match error.path.first() {
        Some(Step::Key(first)) if first == "registration" => {
            let detail = format!("the registration is wrong: {}", error.below(1));
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Failure::new(status, "registration_refused", detail)
        }
        _ => Failure::bad_request("invalid_request", format!("in the body: {error}")),
    }
}

#[derive(Deserialize)]
struct UnregisterQuery {
    local_name: Option<String>,
}

async fn unregister(
    State(api): Api,
    Query(query): Query<UnregisterQuery>,
) -> Result<Json<Unregistered>, Failure> {
    Ok(Json(api.registrar.unregister(query.local_name).await?))
}

async fn status(State(api): Api) -> Json<Status> {
    let link = api.link.borrow().clone();
    let space = link.space.as_ref();
    Json(Status {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        server_url: api.servers.current().to_string(),
        server_urls: api.servers.urls().to_vec(),
        linked: link.link.is_some(),
        links: api.registrar.links(),
        link_error: link.error.clone(),
        space_id: space.map(|space| space.id),
        space: space.map(|space| space.name.to_string()),
        owner: space.map(|space| space.owner.to_string()),
        agent_url: api.addresses.url.clone(),
        agent_socket: api.addresses.socket.display().to_string(),
        method_server: api.registrar.method_server(),
        methods: api.registrar.methods(),
        registration_error: api.registrar.error(),
        startup_done: api.registrar.is_startup_done(),
    })
}

/// Answers when the server has the lines that the method server has written before.
async fn flush_log(State(api): Api) -> StatusCode {
    let flushing = api.log.flush(&api.outbox, api.policy.log_pipes);
    // Without an answer of the server, the log is read as it is.
    let _ = timeout(api.policy.log_flush, flushing).await;
    StatusCode::NO_CONTENT
}

async fn stop(State(api): Api) -> StatusCode {
    tracing::info!("a client requested the agent to stop");
    api.shutdown.cancel();
    StatusCode::ACCEPTED
}

async fn pass_on(State(api): Api, request: Request) -> Result<Response, Failure> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, REQUEST_BYTES_MAX).await.map_err(|error| {
        match error.into_inner().is::<LengthLimitError>() {
            true => {
                Failure::too_large(format!("a body may have at most {REQUEST_BYTES_MAX} bytes"))
            }
            false => Failure::bad_request("invalid_request", "the body did not arrive completely"),
        }
    })?;
    let sent = api.proxy.send(head, body).await;
    sent.map_err(|error| Failure::unavailable("server_unreachable", error.to_string()))
}

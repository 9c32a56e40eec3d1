//! The routes on the Unix socket: registration, status, stop, events, and the server's API
//! through the agent.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::to_bytes,
    extract::{DefaultBodyLimit, Query, Request, State, rejection::JsonRejection},
    response::Response,
    routing::{any, get, post},
};
use http::StatusCode;
use serde::Deserialize;
use svc_protocol::{
    agent_api::{RegisterFile, Registered, Status, Unregistered},
    registration_file::FILE_BYTES_MAX,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    event::{self, BODY_BYTES_MAX, Events},
    problem::{Failure, not_found},
    proxy::{Proxy, REQUEST_BYTES_MAX},
};
use crate::{
    link_status::LinkStatus,
    registration::{AgentAddresses, Registrar},
    servers::Servers,
};

/// Maximum size of the body of `POST /registration`. It contains the registration file as a JSON
/// string, in which the escape of a byte may have six characters, such as `\u0001`.
const REGISTRATION_BODY_MAX: usize = 6 * FILE_BYTES_MAX + 64 * 1024;

/// State of the routes.
pub struct SpaceApi {
    pub registrar: Arc<Registrar>,
    pub link: watch::Receiver<LinkStatus>,
    pub addresses: AgentAddresses,
    pub servers: Arc<Servers>,
    pub proxy: Proxy,
    pub events: Arc<Events>,
    /// Stops the agent.
    pub shutdown: CancellationToken,
}

pub fn router(api: Arc<SpaceApi>) -> Router {
    let events = Router::new()
        .route("/event", post(event::emit))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(Arc::clone(&api.events));
    Router::new()
        .route("/registration", post(register).delete(unregister))
        .layer(DefaultBodyLimit::max(REGISTRATION_BODY_MAX))
        .route("/status", get(status))
        .route("/stop", post(stop))
        .route("/api/{*path}", any(pass_on))
        .fallback(not_found)
        .with_state(api)
        .merge(events)
}

type Api = State<Arc<SpaceApi>>;

async fn register(
    State(api): Api,
    file: Result<Json<RegisterFile>, JsonRejection>,
) -> Result<Json<Registered>, Failure> {
    let Json(file) = file.map_err(|error| body_failure(&error))?;
    Ok(Json(api.registrar.register(file).await?))
}

/// Only an error in the registration itself is 422. Other JSON of the wrong shape is 400.
fn body_failure(error: &JsonRejection) -> Failure {
    let text = error.body_text();
    let (_, why) = text.split_once(": ").unwrap_or_default();
    // Drop the position: the CLI produced the JSON, and the author has never seen it.
    let why = why.rsplit_once(" at line ").map_or(why, |(why, _)| why);
    match error {
        JsonRejection::JsonDataError(_) if why.starts_with("registration.") => Failure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "registration_refused",
            format!("the {}", why.replacen('.', " is wrong: ", 1)),
        ),
        JsonRejection::JsonDataError(_) => {
            Failure::new(StatusCode::BAD_REQUEST, "invalid_request", text)
        }
        error => Failure::new(error.status(), "invalid_request", text),
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
        link_error: link.error.clone(),
        space_id: space.map(|space| space.id),
        space: space.map(|space| space.name.to_string()),
        owner: space.map(|space| space.owner.to_string()),
        agent_url: api.addresses.url.clone(),
        agent_socket: api.addresses.socket.display().to_string(),
        method_server: api.registrar.method_server(),
        methods: api.registrar.methods(),
        registration_error: api.registrar.error(),
    })
}

async fn stop(State(api): Api) -> StatusCode {
    tracing::info!("a client requested the agent to stop");
    api.shutdown.cancel();
    StatusCode::ACCEPTED
}

async fn pass_on(State(api): Api, request: Request) -> Result<Response, Failure> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, REQUEST_BYTES_MAX).await.map_err(|_| {
        Failure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload_too_large",
            format!("a body may have at most {REQUEST_BYTES_MAX} bytes"),
        )
    })?;
    api.proxy.send(head, body).await.map_err(|error| {
        Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "server_unreachable",
            error.to_string(),
        )
    })
}

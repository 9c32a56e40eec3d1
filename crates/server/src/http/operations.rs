//! Health checks and metrics, and the answers for unknown paths and methods.

use axum::{
    extract::{MatchedPath, OriginalUri},
    response::{IntoResponse, Response},
};
use http::{Method, StatusCode, Uri, header};
use schemars::JsonSchema;
use serde::Serialize;
use svc_store::{StoreError, Tx, lanes};

use super::{
    describe::{Answer, Operation, schema_of},
    error::{ApiError, ApiResult},
    extract::Json,
    failures,
    sources::INBOUND_PATH,
    web::ANY_PATH,
};
use crate::app::App;

/// How long a probe waits for the database.
const DATABASE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);

/// The process is alive.
pub async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

#[derive(Serialize, JsonSchema)]
pub struct Health {
    /// `ok`
    status: &'static str,
}

/// The server can work: it is not stopping, and its database answers. A server stays ready if only
/// writes fail, and in a zone during an outage of the database, because calls continue.
pub async fn readyz(app: App) -> Readiness {
    let unready = |reason: &str| Readiness {
        status: "unready",
        reason: Some(reason.to_owned()),
        database: None,
    };
    let ready = |database| Readiness {
        status: "ready",
        reason: None,
        database,
    };
    if app.stop_requested.is_cancelled() || app.shutdown.is_cancelled() {
        return unready("the server is stopping");
    }
    let query = app.store.read(|tx| svc_store::meta::find(tx, "server_id"));
    let answer = tokio::time::timeout(DATABASE_TIMEOUT, query)
        .await
        .unwrap_or_else(|_| Err(StoreError::Unavailable("no answer in time".to_owned())));
    match answer {
        Ok(_) => ready(match app.store.find_failing_writes().await {
            None => None,
            Some(failing) if failing.is_disk_full => Some("disk_full"),
            Some(_) => Some("not_writable"),
        }),
        // Otherwise a load balancer would remove all servers of the zone at once, and calls, which
        // need no database, would fail too.
        Err(error) if app.store.is_shared() && error.is_outage() => ready(Some("unavailable")),
        Err(error) => unready(&format!("the database does not answer: {error}")),
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Readiness {
    /// `ready` or `unready`
    status: &'static str,
    /// Why the server is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// `unavailable` if a server of a zone works without its database for the moment. `disk_full` or
    /// `not_writable` if the embedded database can only be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<&'static str>,
}

impl IntoResponse for Readiness {
    fn into_response(self) -> Response {
        let status = match self.reason {
            None => StatusCode::OK,
            Some(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, Json(self)).into_response()
    }
}

impl Answer for Readiness {
    fn describe(operation: &mut Operation) {
        operation.answer_json::<Self>(200, "Ready");
        operation.answer_json::<Self>(503, "Not ready, with the reason");
    }
}

/// The content type of [`Metrics`].
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub struct Metrics(String);

impl IntoResponse for Metrics {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, OPEN_METRICS)], self.0).into_response()
    }
}

impl Answer for Metrics {
    fn describe(operation: &mut Operation) {
        let media = "application/openmetrics-text";
        operation.answer(200, "Success", Some((media, schema_of::<String>)));
    }
}

pub async fn metrics(app: App) -> ApiResult<Metrics> {
    app.metrics
        .lanes
        .get(async || read_lanes(&app).await)
        .await?;
    let failing = app.store.find_failing_writes().await.is_some();
    app.metrics.database_failing.set(i64::from(failing));
    app.metrics.events.update(app.hub.counters());
    let metrics = &app.metrics;
    metrics.set_bytes(app.bodies.all_bytes(), app.answers.total());
    Ok(Metrics(metrics.encode(app.registry.method_count())))
}

async fn read_lanes(app: &App) -> Result<(), StoreError> {
    let read = |tx: &mut Tx<'_>| Ok((lanes::totals(tx)?, lanes::list_backlog(tx)?));
    let (totals, backlog) = app.store.read_table(read).await?;
    let events = &app.metrics.events;
    events.set_lanes(totals, &backlog, svc_clock::now());
    Ok(())
}

pub async fn unknown_path(OriginalUri(uri): OriginalUri) -> ApiError {
    path_not_found(&uri)
}

pub fn path_not_found(uri: &Uri) -> ApiError {
    ApiError::not_found(&format!("`{}`", uri.path()))
}

pub async fn unknown_method(
    method: Method,
    matched: MatchedPath,
    OriginalUri(uri): OriginalUri,
) -> ApiError {
    // The answer must not reveal whether a source has this path.
    if [ANY_PATH, INBOUND_PATH].contains(&matched.as_str()) {
        return path_not_found(&uri);
    }
    let detail = format!("`{}` does not support {method}", uri.path());
    ApiError::new(failures::METHOD_NOT_ALLOWED, detail)
}

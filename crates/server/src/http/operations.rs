//! Health checks and metrics, and the answers for unknown paths and methods.

use axum::{
    extract::{MatchedPath, OriginalUri, State},
    response::{IntoResponse, Response},
};
use http::{Method, StatusCode, Uri, header};
use serde_json::json;
use svc_store::{StoreError, Tx, lanes};

use super::{
    error::{ApiError, ApiResult},
    extract::Json,
    web::ANY_PATH,
};
use crate::app::App;

/// How long a probe waits for the database.
const DATABASE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);

/// The process is alive.
pub async fn healthz() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

/// The server can work: it is not stopping, and its database answers. In a zone, a server stays
/// ready during an outage of the database.
pub async fn readyz(State(app): State<App>) -> Response {
    let unready = |reason: &str| {
        let body = json!({"status": "unready", "reason": reason});
        (StatusCode::SERVICE_UNAVAILABLE, axum::Json(body)).into_response()
    };
    if app.shutdown.is_cancelled() {
        return unready("the server is stopping");
    }
    let query = app.store.read(|tx| svc_store::meta::find(tx, "server_id"));
    let answer = tokio::time::timeout(DATABASE_TIMEOUT, query)
        .await
        .unwrap_or_else(|_| Err(StoreError::Unavailable("no answer in time".to_owned())));
    match answer {
        Ok(_) => Json(json!({"status": "ready"})).into_response(),
        // A load balancer would remove all servers of the zone at once, and with them the calls,
        // which need no database.
        Err(error) if app.store.is_shared() && error.is_outage() => {
            Json(json!({"status": "ready", "database": "unavailable"})).into_response()
        }
        Err(error) => unready(&format!("the database does not answer: {error}")),
    }
}

pub async fn metrics(State(app): State<App>) -> ApiResult<Response> {
    let read = |tx: &mut Tx<'_>| Ok((lanes::totals(tx)?, lanes::list_backlog(tx)?));
    let (totals, backlog) = app.store.read(read).await?;
    app.metrics
        .events
        .update(app.hub.counters(), totals, &backlog, svc_clock::now());
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = app.metrics.encode(app.registry.method_count());
    Ok(([(header::CONTENT_TYPE, content_type)], text).into_response())
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
    if matched.as_str() == ANY_PATH {
        return path_not_found(&uri);
    }
    let detail = format!("`{}` does not support {method}", uri.path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
}

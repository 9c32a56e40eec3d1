//! `GET /api/methods`, `POST /api/methods/call`, and the OpenRPC document (spec 4.1).

use axum::{
    BoxError,
    body::HttpBody,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use svc_protocol::api::Methods;

use super::{
    error::{ApiError, ApiResult},
    extract::{Json, PAYLOAD_TIME_MAX, Query, read_body, require_json},
};
use crate::{app::App, identity::Caller, methods::discovery::Filter};

#[derive(Deserialize)]
pub struct Narrow {
    name: Option<String>,
    q: Option<String>,
}

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(narrow): Query<Narrow>,
) -> Json<Methods> {
    let filter = Filter {
        name: narrow.name.as_deref(),
        text: narrow.q.as_deref(),
    };
    Json(app.discovery.list(&caller, &filter))
}

/// Where calls come in.
pub const CALL_PATH: &str = "/api/methods/call";

pub async fn call(State(app): State<App>, caller: Caller, request: Request) -> ApiResult<Response> {
    answer(&app, &caller, request).await
}

/// Answers calls, whichever way the request came.
pub async fn answer<B>(app: &App, caller: &Caller, request: http::Request<B>) -> ApiResult<Response>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    require_json(request.headers())?;
    let body = request.into_body();
    let body = read_body(body, app.limits.call_bytes_max, PAYLOAD_TIME_MAX).await?;
    let answer = app.calls.answer(caller, &body).await.map_err(|over| {
        let detail = "you make more calls per second than this server allows";
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail)
            .retry_after(over.retry_after.as_secs() + 1)
    })?;
    Ok(match answer {
        Some(answer) => json(answer),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

pub async fn openrpc(State(app): State<App>, caller: Caller) -> Response {
    json(app.calls.openrpc.document(&caller))
}

fn json(body: Vec<u8>) -> Response {
    let mut response = Response::new(body.into());
    let content_type = HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    response
}

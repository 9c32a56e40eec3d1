//! `GET /api/methods`, `POST /api/methods/call`, and the OpenRPC document (spec 4.1).

use axum::{
    BoxError,
    body::HttpBody,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use svc_protocol::api::MethodQuery;

use super::{
    error::{ApiError, ApiResult, protect},
    extract::{CompleteBody, PAYLOAD_TIME_MAX, Query, read_body, require_json},
};
use crate::{
    app::App,
    identity::Caller,
    limits::Account,
    methods::discovery::{Filter, MethodPage},
};

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<MethodQuery>,
) -> ApiResult<Response> {
    let page = MethodPage::parse(query.cursor, query.limit)?;
    let filter = Filter::new(query.name, query.q.as_deref())
        .map_err(|error| ApiError::bad_request("too_many_words", error.to_string()))?;
    Ok(json(
        HeaderMap::new(),
        app.discovery.list_json(&caller, filter, page).await?,
    ))
}

pub const CALL_PATH: &str = "/api/methods/call";

pub async fn call(
    State(app): State<App>,
    mut caller: Caller,
    request: Request,
) -> ApiResult<Response> {
    require_json(request.headers())?;
    answer(&app, &mut caller, request.into_body(), HeaderMap::new()).await
}

/// Answers a call that came through the router or past it. A caller who is revoked while the body
/// arrives or the method runs gets no answer. Only the caller is checked again: nothing else that
/// was decided from the head can change, so the head is not kept. `headers` is an empty map for the
/// answer: the one of the request saves an allocation.
#[expect(
    clippy::manual_async_fn,
    reason = "an `async fn` would store its arguments twice"
)]
pub fn answer<B>(
    app: &App,
    caller: &mut Caller,
    body: B,
    headers: HeaderMap,
) -> impl Future<Output = ApiResult<Response>> + Send
where
    B: HttpBody<Data = Bytes> + Send,
    B::Error: Into<BoxError>,
{
    async move {
        let reservation = app.bodies.begin(Account::User(caller.user.id));
        let bytes_max = app.limits.call_bytes_max;
        let CompleteBody { bytes, waited } =
            read_body(body, bytes_max, PAYLOAD_TIME_MAX, reservation).await?;
        if waited {
            *caller = app.directory.readmit(caller, app.clock.now())?;
        }
        let answer = app
            .calls
            .answer(caller, &bytes)
            .await
            .map_err(|over| ApiError::too_many_calls(&over))?;
        if app.directory.has_changed_since(caller) {
            app.directory.readmit(caller, app.clock.now())?;
        }
        Ok(match answer {
            Some(answer) => json(headers, answer),
            None => no_content(headers),
        })
    }
}

pub async fn openrpc(State(app): State<App>, caller: Caller) -> ApiResult<Response> {
    Ok(json(
        HeaderMap::new(),
        app.calls.openrpc.document(&caller).await?,
    ))
}

fn no_content(mut headers: HeaderMap) -> Response {
    protect(&mut headers);
    let mut response = StatusCode::NO_CONTENT.into_response();
    *response.headers_mut() = headers;
    response
}

fn json(mut headers: HeaderMap, body: Vec<u8>) -> Response {
    let content_type = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, content_type);
    protect(&mut headers);
    let mut response = Response::new(body.into());
    *response.headers_mut() = headers;
    response
}

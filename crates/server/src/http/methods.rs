//! `GET /api/methods`, `POST /api/methods/call`, and the OpenRPC document (spec 4.1).

use axum::{
    BoxError,
    body::HttpBody,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value};
pub use svc_protocol::api::CALL_PATH;
use svc_protocol::{
    api::{MethodQuery, Methods},
    jsonrpc::schema::{CallBody, CallResult},
};

use super::{
    answers::{HTTP2_UNCOUNTED_BYTES_MAX, Payer},
    describe::{Answer, Operation},
    error::{ApiError, ApiResult, protect},
    extract::{
        CompleteBody, JsonBytes, PAYLOAD_TIME_MAX, Query, RawRequest, read_body, require_json,
        trace_of,
    },
    failures,
};
use crate::{
    app::App,
    identity::Caller,
    limits::Account,
    methods::{
        calls::Answers,
        discovery::{Filter, MethodPage},
    },
};

pub async fn list(
    app: App,
    caller: Caller,
    Query(query): Query<MethodQuery>,
) -> ApiResult<JsonBytes<Methods>> {
    let page = MethodPage::parse(query.cursor, query.limit)?;
    let mut filter = Filter::new(query.name, query.q.as_deref())
        .map_err(|error| ApiError::new(failures::TOO_MANY_WORDS, error.to_string()))?;
    filter.owner = query.owner;
    filter.scope = query.scope;
    filter.space = query.space;
    let methods = app.discovery.list_json(&caller, filter, page).await?;
    Ok(JsonBytes::new(methods))
}

pub async fn call(
    app: App,
    mut caller: Caller,
    RawRequest { request, .. }: RawRequest<CallBody>,
) -> ApiResult<CallAnswer> {
    require_json(request.headers())?;
    caller.trace = trace_of(request.headers());
    let body = read(&app, &caller, request.into_body()).await?;
    answer(&app, &mut caller, &body).await
}

/// JSON-RPC responses, or nothing if the request had notifications only.
pub struct CallAnswer {
    answers: Answers,
    payer: Payer,
}

impl IntoResponse for CallAnswer {
    fn into_response(self) -> Response {
        let Some(json) = self.answers.json else {
            return no_content();
        };
        let is_small = json.len() <= HTTP2_UNCOUNTED_BYTES_MAX;
        let mut response = JsonBytes::<CallResult>::new(json).into_response();
        // For small answers, extensions would cost more than the rest.
        if !is_small {
            let extensions = response.extensions_mut();
            extensions.insert(self.payer);
            if let Some(hold) = self.answers.hold {
                extensions.insert(hold);
            }
        }
        response
    }
}

impl Answer for CallAnswer {
    fn describe(operation: &mut Operation) {
        operation.answer_json::<CallResult>(
            200,
            "The outcome of each request, in the order of the requests",
        );
        operation.answer(204, "Notifications only", None);
    }
}

/// Reads the body of a call.
pub fn read<B>(
    app: &App,
    caller: &Caller,
    body: B,
) -> impl Future<Output = ApiResult<CompleteBody>> + Send
where
    B: HttpBody<Data = Bytes> + Send,
    B::Error: Into<BoxError>,
{
    let counted = (&app.bodies, Account::User(caller.user.id));
    read_body(body, app.limits.call_bytes_max, PAYLOAD_TIME_MAX, counted)
}

/// Answers a call that came through the router or bypassed it. If the access of the caller is
/// revoked while the body arrives or the method runs, the answer is an error. Only the caller is
/// checked again. The other checks used only the head of the request, and their results cannot
/// change. So the head is not needed any more.
///
/// The agent may report until the answer that it did not send the call. The params are then sent to
/// another provider, so the body stays until the call ends.
pub async fn answer(app: &App, caller: &mut Caller, body: &CompleteBody) -> ApiResult<CallAnswer> {
    if body.waited {
        *caller = app.directory.readmit(caller, app.clock.now())?;
    }
    let answers = app
        .calls
        .answer(caller, &body.bytes)
        .await
        .map_err(|over| ApiError::too_many_calls(&over))?;
    if app.directory.has_changed_since(caller) {
        app.directory.readmit(caller, app.clock.now())?;
    }
    Ok(CallAnswer {
        answers,
        payer: Payer {
            user: caller.user.id,
            may_be_refused: true,
        },
    })
}

pub async fn openrpc(app: App, caller: Caller) -> ApiResult<JsonBytes<Map<String, Value>>> {
    Ok(JsonBytes::new(app.calls.openrpc.document(&caller).await?))
}

fn no_content() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    protect(response.headers_mut());
    response
}

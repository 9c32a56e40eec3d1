//! `/mcp`: converts between HTTP and the `mcp` module, and checks the `Origin`.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response, sse::Event as Line},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header, request::Parts, uri::Authority};
use hyper::body::{Frame, SizeHint};
use schemars::JsonSchema;
use serde::Deserialize;
use svc_core::host::is_loopback_authority;
use svc_protocol::jsonrpc::schema::{McpBody, McpResult};

use super::{
    describe::{Answer, Operation},
    error::{ApiError, ApiResult},
    event_stream::{EventStream, HEARTBEAT, event_stream},
    extract::{
        PAYLOAD_TIME_MAX, Query, RawRequest, read_body, readmit_after, require_json, trace_of,
    },
    failures,
    listen::Peer,
};
use crate::{
    app::App,
    identity::Caller,
    limits::{Account, AnswerHold},
    mcp::{Era, McpResponse, Mode},
};

#[derive(Deserialize, JsonSchema)]
pub struct ToolsQuery {
    /// `search` lists two tools that find and run the others; `all` if absent.
    #[schemars(extend("enum" = ["all", "search"]))]
    tools: Option<String>,
}

impl ToolsQuery {
    fn mode(&self) -> ApiResult<Mode> {
        match self.tools.as_deref() {
            None | Some("all") => Ok(Mode::All),
            Some("search") => Ok(Mode::Search),
            Some(other) => Err(ApiError::new(
                failures::INVALID_QUERY,
                format!("`tools={other}` is invalid; use `all` or `search`"),
            )),
        }
    }
}

pub async fn post(
    app: App,
    mut caller: Caller,
    Query(query): Query<ToolsQuery>,
    RawRequest { request, .. }: RawRequest<McpBody>,
) -> ApiResult<McpAnswer> {
    let (parts, body) = request.into_parts();
    check_origin(&app, &parts)?;
    require_json(&parts.headers)?;
    let mode = query.mode()?;
    let account = Account::User(caller.user.id);
    let bytes_max = app.limits.call_bytes_max;
    let body = read_body(body, bytes_max, PAYLOAD_TIME_MAX, (&app.bodies, account)).await?;
    if let Some(readmitted) = readmit_after(&parts, &body)? {
        caller = readmitted;
    }
    caller.trace = trace_of(&parts.headers);
    let accepts_stream = accepts_event_stream(&parts.headers);
    let hold = Arc::new(AnswerHold::default());
    let answer = app
        .mcp
        .answer(
            &caller,
            &parts.headers,
            mode,
            body.into_bytes(),
            accepts_stream,
            &hold,
        )
        .await;
    let mut response = into_response(answer)?;
    response.extensions_mut().insert(hold);
    Ok(McpAnswer(response))
}

pub struct McpAnswer(Response);

impl IntoResponse for McpAnswer {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answer for McpAnswer {
    fn describe(operation: &mut Operation) {
        operation.answer_json::<McpResult>(200, "MCP responses");
        EventStream::describe(operation);
        operation.answer(202, "Notifications only", None);
        operation.answer_json::<McpResult>(
            400,
            "An MCP response with an error, or a problem (RFC 9457)",
        );
        operation.answer_json::<McpResult>(
            404,
            "An MCP response with an error: the method does not exist",
        );
    }
}

/// Opens the stream of a legacy client; modern clients use `subscriptions/listen` instead.
pub async fn get(
    app: App,
    caller: Caller,
    Query(query): Query<ToolsQuery>,
    request: Request,
) -> ApiResult<McpStream> {
    let (parts, _) = request.into_parts();
    check_origin(&app, &parts)?;
    if Era::of_headers(&parts.headers) == Era::Modern {
        return Err(ApiError::new(
            failures::METHOD_NOT_ALLOWED,
            "this version of MCP has no stream over GET; POST `subscriptions/listen` instead",
        ));
    }
    if !accepts_event_stream(&parts.headers) {
        return Err(ApiError::new(
            failures::NOT_ACCEPTABLE,
            "this is a stream; send `Accept: text/event-stream`",
        ));
    }
    let mode = query.mode()?;
    into_response(app.mcp.open_legacy_stream(caller, mode).await).map(McpStream)
}

pub struct McpStream(Response);

impl IntoResponse for McpStream {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answer for McpStream {
    fn describe(operation: &mut Operation) {
        EventStream::describe(operation);
    }
}

fn accepts_event_stream(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    accepted.flat_map(|list| list.split(',')).any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        ["text/event-stream", "text/*", "*/*"].contains(&kind.to_ascii_lowercase().as_str())
    })
}

fn into_response(answer: McpResponse) -> ApiResult<Response> {
    match answer {
        McpResponse::Json(status, chunks) => {
            let json = HeaderValue::from_static("application/json");
            let body = Body::new(ChunkedBody(chunks.0.into()));
            Ok((status, [(header::CONTENT_TYPE, json)], body).into_response())
        }
        McpResponse::Accepted => Ok(StatusCode::ACCEPTED.into_response()),
        McpResponse::Stream(stream) => Ok(message_stream(stream::unfold(
            stream,
            async |mut stream| Some((stream.next().await?, stream)),
        ))),
        McpResponse::Progress(call) => {
            Ok(message_stream(stream::unfold(call, async |mut call| {
                Some((call.next().await?, call))
            })))
        }
        McpResponse::Revoked => Err(ApiError::unauthorized(
            "the credential was revoked during the call",
        )),
        McpResponse::TooManyCalls(over) => Err(ApiError::too_many_calls(&over)),
        McpResponse::Busy(error) => Err(error.into()),
        McpResponse::TooManyStreams(exceeded) => {
            Err(ApiError::from(exceeded).retry_after(HEARTBEAT.as_secs()))
        }
    }
}

fn message_stream(messages: impl Stream<Item = String> + Send + 'static) -> Response {
    let lines = messages.map(|message| Line::default().event("message").data(message));
    event_stream(lines).into_response()
}

/// Rejects a request that a browser sent for a page of another origin.
fn check_origin(app: &App, parts: &Parts) -> ApiResult<()> {
    let host = host(parts);
    let is_local = app.loopback_only && is_direct(app, parts);
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    let is_own = |origin: &HeaderValue| {
        let authority = origin.to_str().ok().and_then(authority_of);
        authority.is_some_and(|authority| {
            is_own_host(app, &authority) && (is_local || !is_loopback_authority(authority.as_str()))
                || host.as_ref().is_some_and(|host| is_same(host, &authority))
        })
    };
    if origins.all(is_own) {
        Ok(())
    } else {
        Err(ApiError::new(
            failures::FOREIGN_ORIGIN,
            "the header `Origin` names an address that this server does not know as its own; if it is this server's address, set `public_url` to it",
        ))
    }
}

fn host(parts: &Parts) -> Option<Authority> {
    match parts.headers.get(header::HOST) {
        Some(host) => host.to_str().ok()?.parse().ok(),
        None => parts.uri.authority().cloned(),
    }
}

fn authority_of(origin: &str) -> Option<Authority> {
    let uri: Uri = origin.parse().ok()?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    uri.authority().filter(|_| is_web).cloned()
}

/// A name of this machine, or the public name of the server.
fn is_own_host(app: &App, authority: &Authority) -> bool {
    let public = app.public_authority.as_deref();
    is_loopback_authority(authority.as_str())
        || public.is_some_and(|public| authority.as_str().eq_ignore_ascii_case(public))
}

fn is_same(one: &Authority, other: &Authority) -> bool {
    one.as_str().eq_ignore_ascii_case(other.as_str())
}

/// Whether the request came over a connection whose peer is not a trusted proxy. False for requests
/// that scripts send inside the server.
fn is_direct(app: &App, parts: &Parts) -> bool {
    let peer = parts.extensions.get::<Peer>();
    peer.is_some_and(|peer| {
        let address = peer.address.ip().to_canonical();
        !app.trusted_proxies.iter().any(|net| net.contains(&address))
    })
}

/// A body in pieces of known length.
struct ChunkedBody(VecDeque<Bytes>);

impl hyper::body::Body for ChunkedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}

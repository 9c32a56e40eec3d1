//! Extractors for bodies, queries and ids, and the usual answers. Inputs are bounded and strictly
//! typed, and errors name the fault.

mod body;

use std::{convert::Infallible, marker::PhantomData, sync::Arc, time::Duration};

use axum::{
    body::HttpBody,
    extract::{FromRequest, FromRequestParts, MatchedPath, Path, Request},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::header::ToStrError;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use serde::{Serialize, de::DeserializeOwned};
use svc_core::{TraceContext, UserId};
use svc_protocol::{
    api::{PageQuery, id_of_cursor},
    document,
    jsonrpc::JSON_DEPTH_MAX,
};
use svc_store::{InvalidPage, PageRequest};

pub use self::body::{BodyMemory, CompleteBody, read_body};
use super::{
    auth::Admission,
    connections::Slot,
    error::{ApiError, protect},
    failures,
};
use crate::{
    app::App,
    identity::Caller,
    limits::Account,
    traces::{TRACEPARENT, TRACESTATE},
};

/// Largest record in bytes. A record is a body that [`Json`] or [`Submission`] reads.
const RECORD_BYTES_MAX: usize = 1024 * 1024;
/// Largest record sent without a credential, in bytes: a login, a first password.
const ANONYMOUS_BYTES_MAX: usize = 8 * 1024;
/// Time for a record to arrive.
const RECORD_TIME_MAX: Duration = Duration::from_secs(10);
/// Time for the body of a call or of a request to `/mcp` to arrive.
pub const PAYLOAD_TIME_MAX: Duration = Duration::from_secs(60);
/// Larger records may take more than a millisecond to parse, so they are parsed on `App::compute`.
const SMALL_RECORD_BYTES: usize = 32 * 1024;

/// A JSON body.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<App> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (_, record) = read_record(app, request).await?;
        Ok(Self(record))
    }
}

/// A JSON body and the caller, who is resolved again if the server had to wait for the body. For
/// handlers that do not check the caller in a transaction.
pub struct Submission<T> {
    pub caller: Caller,
    pub body: T,
}

impl<T: DeserializeOwned + Send + 'static> FromRequest<App> for Submission<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (mut parts, body) = read_record(app, request).await?;
        let caller = parts.extensions.remove::<Caller>();
        let mut caller = caller.ok_or_else(ApiError::no_credential)?;
        caller.trace = trace_of(&parts.headers);
        Ok(Self { caller, body })
    }
}

/// The context of a valid `traceparent`, and the `tracestate` beside it.
pub fn trace_of(headers: &HeaderMap) -> Option<Box<TraceContext>> {
    let parent = headers.get(TRACEPARENT)?.to_str().ok()?;
    let states = headers.get_all(TRACESTATE).iter();
    let states: Option<Vec<_>> = states.map(|state| state.to_str().ok()).collect();
    let state = states.filter(|states| !states.is_empty());
    let state = state.map(|states| states.join(","));
    TraceContext::parse(parent, state.as_deref()).map(Box::new)
}

/// The account that a record's memory is counted for, and how large the record may be.
fn account_of(parts: &Parts) -> (Account, usize) {
    if let Some(caller) = parts.extensions.get::<Caller>() {
        let account = match caller.session_id() {
            Some(_) => Account::Sessions(caller.user.id),
            None => Account::User(caller.user.id),
        };
        return (account, RECORD_BYTES_MAX);
    }
    let connection = parts.extensions.get::<Arc<Slot>>();
    let id = connection.map_or(0, |slot| slot.id());
    (Account::Connection(id), ANONYMOUS_BYTES_MAX)
}

/// Reads and parses a record, and resolves the caller again if the server had to wait for the body.
async fn read_record<T>(app: &App, request: Request) -> Result<(Parts, T), ApiError>
where
    T: DeserializeOwned + Send + 'static,
{
    let (mut parts, body) = request.into_parts();
    if is_empty_post(&parts, &body) {
        let record = parse_record(b"{}")?;
        return Ok((parts, record));
    }
    require_json(&parts.headers)?;
    let (account, bytes_max) = account_of(&parts);
    let received = read_body(body, bytes_max, RECORD_TIME_MAX, (&app.bodies, account)).await?;
    if let Some(caller) = readmit_after(&parts, &received)? {
        parts.extensions.insert(caller);
    }
    let body = received.into_bytes_of(&parts.extensions);
    let record = parse(app, &parts, body).await?;
    Ok((parts, record))
}

/// A POST without body and content type means `{}`, so it is accepted where every field is
/// optional.
fn is_empty_post(parts: &Parts, body: &impl HttpBody) -> bool {
    parts.method == Method::POST
        && !parts.headers.contains_key(header::CONTENT_TYPE)
        && body.is_end_stream()
}

/// Resolves the caller again if the server had to wait for the body: the credential may have been
/// revoked meanwhile.
pub fn readmit_after(parts: &Parts, received: &CompleteBody) -> Result<Option<Caller>, ApiError> {
    match received.waited {
        true => Admission::repeat(parts),
        false => Ok(None),
    }
}

/// Parses a record. Large records are parsed on the threads for long computations.
async fn parse<T: DeserializeOwned + Send + 'static>(
    app: &App,
    parts: &Parts,
    body: Bytes,
) -> Result<T, ApiError> {
    if body.len() <= SMALL_RECORD_BYTES {
        return parse_record(&body);
    }
    let caller = parts.extensions.get::<Caller>();
    let user = caller.map_or(UserId::NIL, |caller| caller.user.id);
    app.compute
        .run(user, move |_: &_| parse_record(&body))
        .await?
}

fn parse_record<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    // Types that are not structs, such as merge patches, would accept other values.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(ApiError::new(
            failures::INVALID_BODY,
            "the body must be a JSON object",
        ));
    }
    document::read_record(body).map_err(|error| {
        if error.is_too_deep {
            let detail = format!("the body nests more than {JSON_DEPTH_MAX} levels deep");
            return ApiError::new(failures::TOO_DEEP, detail);
        }
        ApiError::new(failures::INVALID_BODY, format!("in the body: {error}"))
    })
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

/// A JSON answer with status 201.
pub struct Created<T>(pub T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, axum::Json(self.0)).into_response()
    }
}

/// A JSON answer with status 202.
pub struct Accepted<T>(pub T);

impl<T: Serialize> IntoResponse for Accepted<T> {
    fn into_response(self) -> Response {
        (StatusCode::ACCEPTED, axum::Json(self.0)).into_response()
    }
}

/// Status 204.
pub struct NoContent;

impl IntoResponse for NoContent {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

/// A `T` that is already serialised as JSON.
pub struct JsonBytes<T>(Bytes, PhantomData<T>);

impl<T> JsonBytes<T> {
    pub fn new(json: impl Into<Bytes>) -> Self {
        Self(json.into(), PhantomData)
    }
}

impl<T> IntoResponse for JsonBytes<T> {
    fn into_response(self) -> Response {
        let content_type = HeaderValue::from_static("application/json");
        let mut response = Response::new(self.0.into());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, content_type);
        protect(headers);
        response
    }
}

/// An answer that sets cookies.
pub struct WithCookies<T> {
    pub cookies: Vec<HeaderValue>,
    pub answer: T,
}

impl<T: IntoResponse> IntoResponse for WithCookies<T> {
    fn into_response(self) -> Response {
        let mut response = self.answer.into_response();
        for cookie in self.cookies {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }
}

/// A request whose body the handler reads; the body is a `T`.
pub struct RawRequest<T> {
    pub request: Request,
    body: PhantomData<T>,
}

impl<T> FromRequest<App> for RawRequest<T> {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &App) -> Result<Self, Infallible> {
        Ok(Self {
            request,
            body: PhantomData,
        })
    }
}

/// The header `Idempotency-Key`; `Err` if it is not text.
pub struct IdempotencyKey(pub Result<Option<String>, ToStrError>);

impl FromRequestParts<App> for IdempotencyKey {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        let key = parts.headers.get("idempotency-key");
        let key = key.map(|key| key.to_str().map(str::to_owned));
        Ok(Self(key.transpose()))
    }
}

/// Query parameters. `auth::query` has refused unknown ones.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|_| {
                let pairs = axum::extract::Query::try_from_uri(&parts.uri);
                let pairs = pairs.map_or_else(|_| Vec::new(), |axum::extract::Query(pairs)| pairs);
                let error = document::explain_query::<T>(pairs);
                ApiError::new(failures::INVALID_QUERY, format!("in the query: {error}"))
            })
    }
}

/// The id in a path; 404 if it is malformed.
pub struct PathId<T>(pub T);

impl<T: std::str::FromStr + Send> FromRequestParts<App> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Path(text) = Path::<String>::from_request_parts(parts, app)
            .await
            .map_err(|_| ApiError::not_found("this"))?;
        text.parse()
            .map(Self)
            .map_err(|_| ApiError::not_found(&format!("`{text}`")))
    }
}

/// A handle to all parts of the server.
impl FromRequestParts<App> for App {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, app: &App) -> Result<Self, Infallible> {
        Ok(app.clone())
    }
}

/// The caller that the authentication middleware added to the request.
impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(ApiError::no_credential)
    }
}

/// The page of a list: `?cursor=` and `?limit=`.
impl FromRequestParts<App> for PageRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Query(query) = Query::<PageQuery>::from_request_parts(parts, app).await?;
        let path = parts.extensions.get::<MatchedPath>();
        let path = path.map_or("", MatchedPath::as_str);
        let id = query.cursor.as_deref().map(|cursor| {
            let id = id_of_cursor(path, cursor);
            id.ok_or_else(|| InvalidPage::Cursor(cursor.to_owned()))
        });
        Ok(Self::parse(id.transpose()?, query.limit)?)
    }
}

pub fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let content_type = headers.get(header::CONTENT_TYPE);
    // A fast check for the usual spelling; the code below accepts other spellings.
    if content_type.is_some_and(|value| value == "application/json") {
        return Ok(());
    }
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let essence = content_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    let is_json = essence.eq_ignore_ascii_case("application/json")
        || essence.eq_ignore_ascii_case("application/merge-patch+json");
    if is_json {
        return Ok(());
    }
    let detail = match content_type {
        Some(other) => format!("the content type is `{other}`; send `application/json`"),
        None => "there is no content type; send `Content-Type: application/json`".to_owned(),
    };
    Err(ApiError::new(failures::UNSUPPORTED_MEDIA_TYPE, detail))
}

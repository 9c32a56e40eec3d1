//! Extractors for bodies, queries and ids, and the usual answers. Inputs are bounded and strictly
//! typed, and errors name the fault.

use std::{
    convert::Infallible,
    marker::PhantomData,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use axum::{
    BoxError,
    body::HttpBody,
    extract::{FromRequest, FromRequestParts, Path, Request},
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use http::header::ToStrError;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use http_body_util::BodyExt;
use hyper::body::Frame;
use serde::{Serialize, de::DeserializeOwned};
use svc_core::UserId;
use svc_protocol::{api::PageQuery, document, jsonrpc::JSON_DEPTH_MAX};
use svc_store::PageRequest;

use super::{
    auth::Admission,
    connections::Slot,
    error::{ApiError, protect},
};
use crate::{
    app::App,
    identity::Caller,
    limits::{Account, Reservation},
};

/// Largest record in bytes. A record is a body that [`Json`] or [`Submission`] reads.
const RECORD_BYTES_MAX: usize = 1024 * 1024;
/// Largest record sent without a credential, in bytes: a login, a first password.
const ANONYMOUS_BYTES_MAX: usize = 8 * 1024;
/// Time for a record to arrive.
const RECORD_TIME_MAX: Duration = Duration::from_secs(10);
/// Time for the body of a call or of a request to `/mcp` to arrive.
pub const PAYLOAD_TIME_MAX: Duration = Duration::from_secs(60);
/// Larger records take more than a millisecond to parse and are parsed on `App::compute`.
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
        Ok(Self {
            caller: caller.ok_or_else(ApiError::no_credential)?,
            body,
        })
    }
}

/// The account that a record's memory is counted for, and how large the record may be.
fn account_of(parts: &Parts) -> (Account, usize) {
    if let Some(caller) = parts.extensions.get::<Caller>() {
        return (Account::User(caller.user.id), RECORD_BYTES_MAX);
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
    let reservation = app.bodies.begin(account);
    let received = read_body(body, bytes_max, RECORD_TIME_MAX, reservation).await?;
    if let Some(caller) = readmit_after(&parts, &received)? {
        parts.extensions.insert(caller);
    }
    let record = parse(app, &parts, received.bytes).await?;
    Ok((parts, record))
}

/// A POST without body and content type means `{}`, so it is accepted where every field is optional.
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
    // Serde would also accept an array that contains the fields in order.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(ApiError::bad_request(
            "invalid_body",
            "the body must be a JSON object",
        ));
    }
    document::read_json(body).map_err(|error| {
        if error.is_too_deep {
            let detail = format!("the body nests more than {JSON_DEPTH_MAX} levels deep");
            return ApiError::bad_request("too_deep", detail);
        }
        ApiError::bad_request("invalid_body", format!("in the body: {error}"))
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

/// Query parameters; unknown ones are ignored.
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
                ApiError::bad_request("invalid_query", format!("in the query: {error}"))
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

/// The parts of the server.
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
        Ok(Self::parse(query.cursor.as_deref(), query.limit)?)
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
    Err(ApiError::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        detail,
    ))
}

#[derive(Debug)]
pub struct CompleteBody {
    pub bytes: Bytes,
    /// Whether the body may have arrived later than the head. If so, time has passed since the
    /// caller was resolved.
    pub waited: bool,
}

impl CompleteBody {
    fn immediate(bytes: Bytes) -> Self {
        Self {
            bytes,
            waited: false,
        }
    }
}

/// Reads a whole body. `reservation` accounts for the memory of a body that arrives in pieces.
pub async fn read_body<B>(
    body: B,
    max: usize,
    time_max: Duration,
    reservation: Reservation<'_>,
) -> Result<CompleteBody, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut body = pin!(body);
    let first = match futures_util::poll!(body.frame()) {
        Poll::Ready(Some(Ok(frame))) => Some(frame),
        Poll::Ready(Some(Err(error))) => return Err(unreadable(error)),
        Poll::Ready(None) => return Ok(CompleteBody::immediate(Bytes::new())),
        Poll::Pending => None,
    };
    // Most bodies arrive with the head, in one piece: no copy and no timer is needed.
    if let Some(data) = first.as_ref().and_then(Frame::data_ref)
        && data.len() <= max
        && body.is_end_stream()
    {
        return Ok(CompleteBody::immediate(data.clone()));
    }
    // Boxed, because otherwise the future of every call would be larger by the size of this future.
    let reading = Box::pin(tokio::time::timeout(
        time_max,
        read_pieces(body, first, max, reservation),
    ));
    let read = reading.await.unwrap_or_else(|_| {
        let seconds = time_max.as_secs();
        Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "body_too_slow",
            format!("the body did not arrive within {seconds} seconds"),
        ))
    });
    read.map(|bytes| CompleteBody {
        bytes,
        waited: true,
    })
}

/// Reads a body; `first` is the piece that was already taken from it, if any.
async fn read_pieces<B>(
    mut body: Pin<&mut B>,
    mut first: Option<Frame<Bytes>>,
    max: usize,
    mut reservation: Reservation<'_>,
) -> Result<Bytes, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut whole = BytesMut::new();
    loop {
        let frame = match first.take() {
            Some(frame) => frame,
            None => match body.frame().await {
                Some(frame) => frame.map_err(unreadable)?,
                None => return Ok(whole.freeze()),
            },
        };
        // Trailers are ignored.
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if data.len() > max - whole.len() {
            return Err(ApiError::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_too_large",
                format!("the body has more than {max} bytes"),
            ));
        }
        reservation.grow_to(whole.len() + data.len())?;
        whole.extend_from_slice(&data);
        // The buffer may have grown by more than the piece.
        reservation.grow_to(whole.capacity())?;
    }
}

fn unreadable(error: impl Into<BoxError>) -> ApiError {
    let error = error.into();
    tracing::debug!("the body of a request could not be read: {error}");
    let detail = "the body did not arrive completely; send the request again";
    ApiError::bad_request("invalid_body", detail)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream::{self, StreamExt};
    use http_body_util::{Full, StreamBody};

    use super::*;
    use crate::limits::BodyBudget;

    const MAX: usize = 10;

    async fn read_body<B>(body: B, max: usize, time_max: Duration) -> Result<CompleteBody, ApiError>
    where
        B: HttpBody<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let budget = BodyBudget::new(1024 * 1024);
        let reservation = budget.begin(Account::Connection(1));
        super::read_body(body, max, time_max, reservation).await
    }

    /// Reads a body that arrives in pieces; `None` is a piece that never arrives.
    async fn read(pieces: &[Option<&'static str>]) -> Result<Bytes, String> {
        let ends = !pieces.contains(&None);
        let frames: Vec<_> = pieces
            .iter()
            .map_while(|piece| piece.map(|piece| Frame::data(Bytes::from_static(piece.as_bytes()))))
            .map(Ok::<_, Infallible>)
            .collect();
        let frames = stream::iter(frames);
        let time_max = Duration::from_millis(50);
        let read = if ends {
            let trailers = stream::iter([Ok(Frame::trailers(HeaderMap::new()))]);
            read_body(StreamBody::new(frames.chain(trailers)), MAX, time_max).await
        } else {
            let frames = frames.chain(stream::pending());
            read_body(StreamBody::new(frames), MAX, time_max).await
        };
        read.map(|received| received.bytes)
            .map_err(|error| format!("{error:?}"))
    }

    #[tokio::test]
    async fn a_body_is_read_whole_in_one_or_many_pieces() {
        for (pieces, expected) in [
            (&[][..], ""),
            (&[Some("0123456789")], "0123456789"),
            (&[Some("0123"), Some(""), Some("456789")], "0123456789"),
        ] {
            assert_eq!(read(pieces).await.as_deref(), Ok(expected.as_bytes()));
        }
        let whole = read_body(Full::from("0123456789"), MAX, Duration::ZERO).await;
        let whole = whole.expect("a body");
        assert_eq!(&whole.bytes[..], b"0123456789");
        assert!(!whole.waited, "the caller need not be resolved again");
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_or_too_slow_is_refused() {
        for (pieces, code) in [
            (&[Some("0123456789x")][..], "body_too_large"),
            (&[Some("0123456789"), Some("x")], "body_too_large"),
            (&[None], "body_too_slow"),
            (&[Some("0123"), None], "body_too_slow"),
        ] {
            let refusal = read(pieces).await.expect_err(code);
            assert!(refusal.contains(code), "{refusal}");
        }
        let large = read_body(Full::from("0123456789x"), MAX, Duration::ZERO).await;
        assert!(format!("{large:?}").contains("body_too_large"));
    }
}

//! Reads what a request carries: bounded, strictly typed, with errors that name the fault.

use std::{task::Poll, time::Duration};

use axum::{
    BoxError,
    body::HttpBody,
    extract::{FromRequest, FromRequestParts, Path, Request},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::{Serialize, de::DeserializeOwned};

use super::error::ApiError;
use crate::{app::App, identity::Caller, store::PageRequest};

/// Bodies of every route but calls: records, not payloads.
const RECORD_BYTES_MAX: usize = 1024 * 1024;
/// How long a record, and a call's payload, may take to arrive.
const RECORD_TIME_MAX: Duration = Duration::from_secs(10);
pub const PAYLOAD_TIME_MAX: Duration = Duration::from_secs(60);

/// A JSON body.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &App) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        require_json(&parts.headers)?;
        let body = read_body(body, RECORD_BYTES_MAX, RECORD_TIME_MAX).await?;
        // Serde would also fill a record from an array, field by field.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(ApiError::bad_request(
                "invalid_body",
                "the body must be a JSON object",
            ));
        }
        serde_json::from_slice(&body).map(Json).map_err(|error| {
            let detail = format!("the body is not what this route takes: {error}");
            ApiError::bad_request("invalid_body", detail)
        })
    }
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

/// Query parameters; unknown ones are ignored, as everywhere on the web.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|error| ApiError::bad_request("invalid_query", error.body_text()))
    }
}

/// The id in a path; anything that is no id does not exist.
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

/// The authenticated caller, put there by the authentication middleware.
impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| ApiError::unauthorized("this route needs a credential"))
    }
}

/// Which page of a list: `?cursor=` and `?limit=`.
impl FromRequestParts<App> for PageRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        #[derive(serde::Deserialize)]
        struct Asked {
            cursor: Option<String>,
            limit: Option<u32>,
        }
        let Query(asked) = Query::<Asked>::from_request_parts(parts, app).await?;
        Ok(Self::parse(asked.cursor.as_deref(), asked.limit)?)
    }
}

pub fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
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

pub async fn read_body<B>(body: B, max: usize, time_max: Duration) -> Result<Bytes, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut reading = std::pin::pin!(Limited::new(body, max).collect());
    // Mostly all of it came with the head, and no timer is needed.
    let read = match futures_util::poll!(reading.as_mut()) {
        Poll::Ready(read) => Ok(read),
        Poll::Pending => tokio::time::timeout(time_max, reading).await,
    };
    let Ok(read) = read else {
        let detail = format!(
            "the body did not arrive within {} seconds",
            time_max.as_secs()
        );
        return Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "body_too_slow",
            detail,
        ));
    };
    match read {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            format!("the body has more than {max} bytes"),
        )),
        Err(error) => Err(ApiError::bad_request(
            "invalid_body",
            format!("the body could not be read: {error}"),
        )),
    }
}

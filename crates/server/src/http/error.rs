//! Turns errors into `application/problem+json` (RFC 9457).

mod sources;

use std::{borrow::Cow, time::Duration};

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use svc_core::{Quota, pattern::PatternError, quota::QuotaExceeded};
use svc_pool::PoolError;
use svc_protocol::problem::{CONTENT_TYPE, DATABASE_UNAVAILABLE, DISK_FULL, Problem};
use svc_store::{InvalidPage, StoreError, audit::usage::DAY_MS};

use super::failures;
use crate::{
    events::emit::EmitServiceError,
    limits::{BudgetFull, OverLimit},
    oidc::OidcError,
    records::{RecordError, UNAUTHORIZED, whole_seconds},
    scripts::{SourceRejected, Unavailable},
};

#[derive(Debug)]
pub struct ApiError {
    /// Boxed, so that every `ApiResult` stays small.
    problem: Box<Problem>,
    /// `Retry-After`, in seconds.
    retry_after: Option<u64>,
    /// `WWW-Authenticate`.
    challenge: Option<Cow<'static, str>>,
}

pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    pub fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        debug_assert!(
            failures::is_known(status.as_u16(), code),
            "`{code}` with status {status} is not in `failures.rs`, so the OpenAPI document lacks it"
        );
        let title = status.canonical_reason().unwrap_or("Error");
        let problem = Problem::new(status.as_u16(), code, title, detail);
        Self {
            problem: Box::new(problem),
            retry_after: None,
            challenge: None,
        }
    }

    pub fn bad_request(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    pub fn conflict(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    pub fn not_found(what: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("{what} does not exist"),
        )
    }

    pub fn forbidden(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, detail)
    }

    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
            .challenge(r#"Bearer realm="svc", error="invalid_token""#)
    }

    pub fn no_credential() -> Self {
        Self::unauthorized("this route needs a credential")
    }

    pub fn rate_limited(detail: impl Into<String>, retry_after: Duration) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail)
            .retry_after(retry_after.as_secs() + 1)
    }

    pub fn too_many_calls(over: &OverLimit) -> Self {
        let detail = "you make more calls per second than this server allows";
        Self::rate_limited(detail, over.retry_after)
    }

    /// For a state that ends soon. The client may retry after a second.
    pub fn unavailable(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail).retry_after(1)
    }

    /// Adds `WWW-Authenticate`.
    pub fn challenge(mut self, challenge: impl Into<Cow<'static, str>>) -> Self {
        self.challenge = Some(challenge.into());
        self
    }

    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Names the limit that was exceeded, and the setting that defines it.
    pub fn with_limit(mut self, limit: u64, setting: &str) -> Self {
        self.problem = Box::new(self.problem.with_limit(limit, setting));
        self
    }

    pub fn status(&self) -> u16 {
        self.problem.status
    }

    pub fn detail(&self) -> &str {
        &self.problem.detail
    }

    /// The seconds of `Retry-After`.
    pub fn wait(&self) -> Option<u64> {
        self.retry_after
    }

    pub fn internal(error: &dyn std::error::Error) -> Self {
        tracing::error!("request failed: {error}");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "internal error; see the log of the server",
        )
    }
}

/// Sets the headers of every answer of the API: browsers must not guess the type of the answer, and
/// caches must not store it.
pub fn protect(headers: &mut HeaderMap) {
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&*self.problem).expect("a problem is always JSON");
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        protect(headers);
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        let challenge = self.challenge.as_deref().map(HeaderValue::from_str);
        if let Some(Ok(challenge)) = challenge {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// The code is `quota_exceeded`, with `limit` and `setting`. The status is 429 for streams and for
/// audit entries, and 409 for all other quotas.
impl From<QuotaExceeded> for ApiError {
    fn from(exceeded: QuotaExceeded) -> Self {
        let day_left = || DAY_MS - svc_clock::now().0.rem_euclid(DAY_MS);
        Self {
            problem: Box::new(Problem::quota_exceeded(&exceeded)),
            retry_after: match exceeded.quota {
                // Audit entries are counted by day.
                Quota::AuditBytes => Some(day_left().unsigned_abs() / 1_000 + 1),
                // Another stream may end soon.
                Quota::Streams => Some(1),
                _ => None,
            },
            challenge: None,
        }
    }
}

impl From<RecordError> for ApiError {
    fn from(error: RecordError) -> Self {
        let (code, detail) = (error.code(), error.to_string());
        match error {
            RecordError::Unauthorized { .. } if code == UNAUTHORIZED => Self::unauthorized(detail),
            RecordError::Unauthorized { .. } => Self::new(StatusCode::UNAUTHORIZED, code, detail),
            RecordError::NotFound(_) => Self::new(StatusCode::NOT_FOUND, code, detail),
            RecordError::Conflict { .. } => Self::conflict(code, detail),
            RecordError::Invalid { .. } => Self::bad_request(code, detail),
            RecordError::Forbidden { .. } => Self::forbidden(code, detail),
            RecordError::TooLarge { .. } => Self::new(StatusCode::PAYLOAD_TOO_LARGE, code, detail),
            RecordError::Unprocessable { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
            }
            RecordError::Unavailable { .. } => Self::unavailable(code, detail),
            RecordError::RateLimited { retry_after, .. } => Self::rate_limited(detail, retry_after),
            RecordError::TooManyAttempts { retry_after } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, code, detail)
                    .retry_after(whole_seconds(retry_after))
            }
            RecordError::Busy(PoolError::UserFull { .. }) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, code, detail).retry_after(1)
            }
            RecordError::Busy(PoolError::Full) => Self::unavailable(code, detail),
            RecordError::Quota(exceeded) => exceeded.into(),
            RecordError::Store(error) => error.into(),
            RecordError::Busy(PoolError::Failed) | RecordError::Internal(_) => {
                Self::internal(&error)
            }
        }
    }
}

macro_rules! as_record_error {
    ($($error:ty),*) => {
        $(impl From<$error> for ApiError {
            fn from(error: $error) -> Self {
                RecordError::from(error).into()
            }
        })*
    };
}
as_record_error! { EmitServiceError, SourceRejected, Unavailable, PoolError, PatternError }

impl From<BudgetFull> for ApiError {
    fn from(error: BudgetFull) -> Self {
        Self::unavailable(error.code(), error.to_string())
    }
}

impl From<OidcError> for ApiError {
    fn from(error: OidcError) -> Self {
        let detail = error.to_string();
        match error {
            OidcError::Refused(_) => Self::conflict("conflict", detail),
            OidcError::Provider { .. } => {
                Self::new(StatusCode::BAD_GATEWAY, "provider_unusable", detail)
            }
            OidcError::TooMany { retry_after } => {
                RecordError::TooManyAttempts { retry_after }.into()
            }
            OidcError::Identity(error) => error.into(),
        }
    }
}

impl From<InvalidPage> for ApiError {
    fn from(error: InvalidPage) -> Self {
        Self::bad_request("invalid_page", error.to_string())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            // Either nothing was changed or the outcome is unknown: the client may retry.
            StoreError::Unavailable(_) => Self::unavailable(
                DATABASE_UNAVAILABLE,
                "the database cannot be reached at the moment; try again, with the same `Idempotency-Key` if the request had one",
            ),
            StoreError::Disk(_) => Self::unavailable(
                DATABASE_UNAVAILABLE,
                "the disk of the server's database fails or cannot be written at the moment; try again, with the same `Idempotency-Key` if the request had one. Administrators: see the log of the server",
            ),
            StoreError::DiskFull(_) => Self::unavailable(
                DISK_FULL,
                "the disk of the server is full, so nothing was stored; try again when an administrator has freed space",
            ),
            StoreError::ZeroCharacter { .. } => Self::bad_request("invalid", error.to_string()),
            error => Self::internal(&error),
        }
    }
}

//! Turns errors into `application/problem+json` (RFC 9457).

mod sources;

use std::{borrow::Cow, time::Duration};

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use svc_core::{Quota, pattern::PatternError, quota::QuotaExceeded};
use svc_pool::PoolError;
use svc_protocol::problem::{CONTENT_TYPE, Problem};
use svc_store::{InvalidPage, StoreError, audit::usage::DAY_MS};

use super::failures::{self, Failure};
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
    pub fn new((status, code, _): Failure, detail: impl Into<String>) -> Self {
        let title = reason_of(status).unwrap_or("Error");
        Self {
            problem: Box::new(Problem::new(status, code, title, detail)),
            // 503 is a state that ends soon.
            retry_after: (status == 503).then_some(1),
            challenge: None,
        }
    }

    pub fn not_found(what: &str) -> Self {
        Self::new(failures::NOT_FOUND, format!("{what} does not exist"))
    }

    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(failures::UNAUTHORIZED, detail)
            .challenge(r#"Bearer realm="svc", error="invalid_token""#)
    }

    pub fn no_credential() -> Self {
        Self::unauthorized("this route needs a credential")
    }

    pub fn rate_limited(detail: impl Into<String>, retry_after: Duration) -> Self {
        Self::new(failures::RATE_LIMITED, detail).retry_after(retry_after.as_secs() + 1)
    }

    pub fn too_many_calls(over: &OverLimit) -> Self {
        let detail = "you make more calls per second than this server allows";
        Self::rate_limited(detail, over.retry_after)
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
            failures::INTERNAL,
            "internal error; see the log of the server",
        )
    }
}

/// The usual words for a status.
pub fn reason_of(status: u16) -> Option<&'static str> {
    StatusCode::from_u16(status).ok()?.canonical_reason()
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
            RecordError::Refused {
                code: UNAUTHORIZED, ..
            } => Self::unauthorized(detail),
            RecordError::RateLimited { retry_after, .. } => Self::rate_limited(detail, retry_after),
            RecordError::TooManyAttempts { retry_after } => {
                Self::new(failures::TOO_MANY_ATTEMPTS, detail)
                    .retry_after(whole_seconds(retry_after))
            }
            RecordError::Busy(PoolError::UserFull { .. }) => {
                Self::new(failures::BUSY, detail).retry_after(1)
            }
            RecordError::Busy(PoolError::Full) => Self::new(failures::SERVER_BUSY, detail),
            RecordError::Quota(exceeded) => exceeded.into(),
            RecordError::Store(error) => error.into(),
            RecordError::Busy(PoolError::Failed) | RecordError::Internal(_) => {
                Self::internal(&error)
            }
            _ => Self::new(failures::of_code(code), detail),
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
        Self::new(failures::of_code(error.code()), error.to_string())
    }
}

impl From<OidcError> for ApiError {
    fn from(error: OidcError) -> Self {
        let detail = error.to_string();
        match error {
            OidcError::Refused(_) => Self::new(failures::CONFLICT, detail),
            OidcError::Provider { .. } => Self::new(failures::PROVIDER_UNUSABLE, detail),
            OidcError::TooMany { retry_after } => {
                RecordError::TooManyAttempts { retry_after }.into()
            }
            OidcError::Identity(error) => error.into(),
        }
    }
}

impl From<InvalidPage> for ApiError {
    fn from(error: InvalidPage) -> Self {
        Self::new(failures::INVALID_PAGE, error.to_string())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            // Either nothing was changed or the outcome is unknown: the client may retry.
            StoreError::Unavailable(_) => Self::new(
                failures::DATABASE_UNAVAILABLE,
                "the database cannot be reached at the moment; try again, with the same `Idempotency-Key` if the request had one",
            ),
            StoreError::Disk(_) => Self::new(
                failures::DATABASE_UNAVAILABLE,
                "the disk of the server's database fails or cannot be written at the moment; try again, with the same `Idempotency-Key` if the request had one. Administrators: see the log of the server",
            ),
            StoreError::DiskFull(_) => Self::new(
                failures::DISK_FULL,
                "the disk of the server is full, so nothing was stored; try again when an administrator has freed space",
            ),
            StoreError::ZeroCharacter { .. } => Self::new(failures::INVALID, error.to_string()),
            error => Self::internal(&error),
        }
    }
}

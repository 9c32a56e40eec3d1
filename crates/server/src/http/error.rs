//! Turns errors into `application/problem+json` (RFC 9457).

mod calls;
mod sources;

use std::{borrow::Cow, time::Duration};

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use svc_core::{
    Quota, event::EmitError, json_text::JsonTextError, pattern::PatternError, quota::QuotaExceeded,
};
use svc_protocol::problem::{CONTENT_TYPE, DATABASE_UNAVAILABLE, DISK_FULL, Problem};
use svc_store::{InvalidPage, StoreError, audit::usage::DAY_MS};

use super::failures;
use crate::{
    events::{emit::EmitServiceError, history::HistoryError, sinks::SinkError},
    fair_pool::PoolError,
    identity::{IdentityError, UNAUTHORIZED, whole_seconds},
    limits::{BudgetFull, OverLimit},
    oidc::OidcError,
    scripts::{ScriptsError, SourceRejected, Unavailable},
    spaces::SpaceError,
    stats::StatsError,
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
            // Audit entries are counted by day.
            retry_after: (exceeded.quota == Quota::AuditBytes)
                .then(|| day_left().unsigned_abs() / 1_000 + 1),
            challenge: None,
        }
    }
}

impl From<IdentityError> for ApiError {
    fn from(error: IdentityError) -> Self {
        let (code, detail) = (error.code(), error.to_string());
        match error {
            IdentityError::Unauthorized { .. } if code == UNAUTHORIZED => {
                Self::unauthorized(detail)
            }
            IdentityError::Unauthorized { .. } => Self::new(StatusCode::UNAUTHORIZED, code, detail),
            IdentityError::NotFound { .. } => Self::new(StatusCode::NOT_FOUND, code, detail),
            IdentityError::Conflict { .. } => Self::conflict(code, detail),
            IdentityError::Invalid { .. } => Self::bad_request(code, detail),
            IdentityError::Forbidden { .. } => Self::forbidden(code, detail),
            IdentityError::TooManyAttempts { retry_after } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, code, detail)
                    .retry_after(whole_seconds(retry_after))
            }
            IdentityError::Quota(exceeded) => exceeded.into(),
            IdentityError::Store(error) => error.into(),
            IdentityError::Internal(_) => Self::internal(&error),
        }
    }
}

impl From<SpaceError> for ApiError {
    fn from(error: SpaceError) -> Self {
        let detail = error.to_string();
        match error {
            SpaceError::NotFound => Self::new(StatusCode::NOT_FOUND, "not_found", detail),
            SpaceError::NameTaken { .. } => Self::conflict("name_taken", detail),
            SpaceError::Elsewhere { .. } => Self::conflict("linked_elsewhere", detail),
            SpaceError::TemplateInUse { .. } => Self::conflict("in_use", detail),
            SpaceError::Conflict { .. } => Self::conflict("conflict", detail),
            SpaceError::Name(_) => Self::bad_request("invalid_name", detail),
            SpaceError::Invalid { .. } => Self::bad_request("invalid", detail),
            SpaceError::LocalDenied => Self::forbidden("permission_denied", detail),
            SpaceError::ExpiringCredential(_) => Self::forbidden("expiring_credential", detail),
            SpaceError::LocalDisabled => Self::forbidden("local_disabled", detail),
            SpaceError::Quota(exceeded) => exceeded.into(),
            SpaceError::Identity(error) => error.into(),
            SpaceError::Store(error) => error.into(),
        }
    }
}

impl From<EmitServiceError> for ApiError {
    fn from(error: EmitServiceError) -> Self {
        let detail = error.to_string();
        match error {
            EmitServiceError::Invalid(EmitError::TooLarge(_)) => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", detail)
            }
            EmitServiceError::Invalid(EmitError::Json(JsonTextError::TooDeep)) => {
                Self::bad_request("too_deep", detail)
            }
            EmitServiceError::Invalid(_) => Self::bad_request("invalid_event", detail),
            EmitServiceError::InvalidKey => Self::bad_request("invalid_idempotency_key", detail),
            EmitServiceError::IdempotencyConflict => Self::conflict("idempotency_conflict", detail),
            EmitServiceError::OverLimit(over) => Self::rate_limited(detail, over.retry_after),
            EmitServiceError::Quota(exceeded) => exceeded.into(),
            EmitServiceError::Caller(error) => error.into(),
            EmitServiceError::Store(error) => error.into(),
        }
    }
}

impl From<BudgetFull> for ApiError {
    fn from(error: BudgetFull) -> Self {
        Self::unavailable(error.code(), error.to_string())
    }
}

impl From<SinkError> for ApiError {
    fn from(error: SinkError) -> Self {
        let detail = error.to_string();
        match error {
            SinkError::NotFound | SinkError::DeliveryNotFound(_) | SinkError::EventNotFound(_) => {
                Self::new(StatusCode::NOT_FOUND, "not_found", detail)
            }
            SinkError::Name(_) => Self::bad_request("invalid_name", detail),
            SinkError::Pattern(error) => error.into(),
            SinkError::Invalid { code, .. } => Self::bad_request(code, detail),
            SinkError::Source(error) => error.into(),
            SinkError::GlobalDenied | SinkError::ScriptOfAnother => {
                Self::forbidden("permission_denied", detail)
            }
            SinkError::Nested => Self::forbidden("script_denied", detail),
            SinkError::NameTaken(_) => Self::conflict("name_taken", detail),
            SinkError::QueueFull => Self::conflict("queue_full", detail),
            SinkError::Quota(exceeded) => exceeded.into(),
            SinkError::Conflict(_) => Self::conflict("conflict", detail),
            SinkError::TooManyTests(over) => Self::rate_limited(detail, over.retry_after),
            SinkError::Identity(error) => error.into(),
            SinkError::Store(error) => error.into(),
            SinkError::Busy(error) => error.into(),
            SinkError::Internal(_) => Self::internal(&error),
        }
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
                IdentityError::TooManyAttempts { retry_after }.into()
            }
            OidcError::Identity(error) => error.into(),
        }
    }
}

impl From<ScriptsError> for ApiError {
    fn from(error: ScriptsError) -> Self {
        let detail = error.to_string();
        match error {
            ScriptsError::NotFound => Self::new(StatusCode::NOT_FOUND, "not_found", detail),
            ScriptsError::Name(_) => Self::bad_request("invalid_name", detail),
            ScriptsError::Invalid { code, .. } => Self::bad_request(code, detail),
            ScriptsError::Source(error) => error.into(),
            ScriptsError::NotRunnable(_) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "not_runnable", detail)
            }
            ScriptsError::GlobalDenied => Self::forbidden("permission_denied", detail),
            ScriptsError::Nested => Self::forbidden("script_denied", detail),
            ScriptsError::NameTaken { .. } => Self::conflict("name_taken", detail),
            ScriptsError::Quota(exceeded) => exceeded.into(),
            ScriptsError::InUse { .. } => Self::conflict("in_use", detail),
            ScriptsError::TooManyRuns(over) => Self::rate_limited(detail, over.retry_after),
            ScriptsError::Unavailable(error) => error.into(),
            ScriptsError::Identity(error) => error.into(),
            ScriptsError::Store(error) => error.into(),
            ScriptsError::Busy(error) => error.into(),
        }
    }
}

impl From<SourceRejected> for ApiError {
    fn from(error: SourceRejected) -> Self {
        let detail = error.to_string();
        match error {
            SourceRejected::Source(_) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_script", detail)
            }
            SourceRejected::FromScript => Self::forbidden("script_denied", detail),
            SourceRejected::Unavailable(error) => error.into(),
        }
    }
}

impl From<Unavailable> for ApiError {
    fn from(error: Unavailable) -> Self {
        Self::unavailable("scripts_unavailable", error.to_string())
    }
}

impl From<PoolError> for ApiError {
    fn from(error: PoolError) -> Self {
        let status = match error {
            PoolError::UserFull { .. } => StatusCode::TOO_MANY_REQUESTS,
            PoolError::Full => StatusCode::SERVICE_UNAVAILABLE,
            PoolError::Failed => return Self::internal(&error),
        };
        Self::new(status, "busy", error.to_string()).retry_after(1)
    }
}

impl From<HistoryError> for ApiError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::NotFound(_) => {
                Self::new(StatusCode::NOT_FOUND, "not_found", error.to_string())
            }
            HistoryError::Pattern(error) => error.into(),
            HistoryError::TooManyPatterns(_) => {
                Self::bad_request("invalid_pattern", error.to_string())
            }
            HistoryError::TextTooLong(_) | HistoryError::NotCounted => {
                Self::bad_request("invalid", error.to_string())
            }
            HistoryError::TooManyStreams(exceeded) => Self::from(exceeded).retry_after(1),
            HistoryError::Store(error) => error.into(),
        }
    }
}

impl From<StatsError> for ApiError {
    fn from(error: StatsError) -> Self {
        match error {
            StatsError::Denied => Self::forbidden("permission_denied", error.to_string()),
            StatsError::UnknownMethod(_) | StatsError::UnknownSink(_) => {
                Self::new(StatusCode::NOT_FOUND, "not_found", error.to_string())
            }
            StatsError::Identity(error) => error.into(),
            StatsError::Store(error) => error.into(),
            StatsError::Busy(error) => error.into(),
        }
    }
}

impl From<PatternError> for ApiError {
    fn from(error: PatternError) -> Self {
        Self::bad_request("invalid_pattern", error.to_string())
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

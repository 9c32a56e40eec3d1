//! The server's API for scripts that the server runs: the same router and the same checks, without
//! a connection. A request acts as the user for whom the script runs.
//!
//! When the server starts, it gives its router to [`InternalApi::open`]. This module owns the user
//! of a request ([`ActingUser`], created only here) and the size limit of answers. Requests from
//! outside must never go through this module.

use axum::{Router, body::Body};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use parking_lot::RwLock;
use svc_core::{TraceContext, UserId};
use thiserror::Error;
use tower_service::Service;

use crate::traces::put_trace;

/// Largest answer.
pub const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The user for whom a request acts. Requests over a connection never have this extension:
/// extensions are not sent over HTTP, and only [`InternalApi::send`] adds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActingUser(UserId);

impl ActingUser {
    pub fn user(self) -> UserId {
        self.0
    }
}

/// The router of this server, while the server runs.
#[derive(Default)]
pub struct InternalApi {
    /// Removed on close: the router holds the whole server, which holds this value.
    router: RwLock<Option<Router>>,
}

#[derive(Clone, Debug)]
pub struct ApiRequest {
    pub method: Method,
    /// Path and query.
    pub uri: Uri,
    /// JSON.
    pub body: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiReply {
    pub status: u16,
    pub is_json: bool,
    pub body: Bytes,
}

/// Why a request has no reply.
#[derive(Debug, Error)]
pub enum NoReply {
    #[error("the server is stopping")]
    Closed,
    #[error(
        "the answer has more than {ANSWER_BYTES_MAX} bytes; request a smaller page (`?limit=`)"
    )]
    TooLarge,
    #[error("the answer was interrupted: {0}")]
    Broken(String),
}

impl InternalApi {
    pub fn open(&self, router: Router) {
        *self.router.write() = Some(router);
    }

    pub fn close(&self) {
        *self.router.write() = None;
    }

    /// Sends a request as a user, with the user's current permissions and as a part of a trace.
    pub async fn send(
        &self,
        user: UserId,
        from_script: ApiRequest,
        trace: Option<&TraceContext>,
    ) -> Result<ApiReply, NoReply> {
        let router = self.router.read().clone();
        let mut router = router.ok_or(NoReply::Closed)?;
        let is_json = from_script.body.is_some();
        let mut request = Request::new(from_script.body.map_or_else(Body::empty, Body::from));
        *request.method_mut() = from_script.method;
        *request.uri_mut() = from_script.uri;
        if is_json {
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(header::CONTENT_TYPE, json);
        }
        if let Some(trace) = trace {
            put_trace(request.headers_mut(), trace);
        }
        request.extensions_mut().insert(ActingUser(user));
        let Ok(response) = router.call(request).await;
        read(response).await
    }
}

async fn read(response: Response<Body>) -> Result<ApiReply, NoReply> {
    let (parts, body) = response.into_parts();
    let content_type = parts.headers.get(header::CONTENT_TYPE);
    let is_json = content_type
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"));
    match Limited::new(body, ANSWER_BYTES_MAX).collect().await {
        Ok(collected) => Ok(ApiReply {
            status: parts.status.as_u16(),
            is_json,
            body: collected.to_bytes(),
        }),
        Err(error) if error.is::<LengthLimitError>() => Err(NoReply::TooLarge),
        Err(error) => Err(NoReply::Broken(error.to_string())),
    }
}

//! The routes on loopback TCP, which need no credential.
//!
//! Any page in a browser on this machine can send requests to this port. Therefore the `Host` must
//! be a loopback name (against DNS rebinding), a request with an `Origin` is rejected, and a body
//! must be declared as JSON, which a form cannot do.

use std::{sync::Arc, time::Duration};

use super::{
    event::{self, BODY_BYTES_MAX, Events},
    packages::{self, PackageRoute},
    problem::{Failure, not_found},
};
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    middleware::{self, Next},
    response::Response,
    routing::{get, post},
};
use http::{
    HeaderMap, StatusCode, Uri,
    header::{HOST, ORIGIN},
};
use http_body_util::LengthLimitError;
use svc_core::host::is_loopback_authority;
use tokio::time::timeout;

/// Time a client has for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

pub fn router(events: Arc<Events>, route: Arc<PackageRoute>) -> Router {
    Router::new()
        .route("/event", post(event::emit))
        .with_state(events)
        .route("/packages/{*name}", get(packages::get).with_state(route))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn(guard))
}

/// Runs before every route and before the fallback.
async fn guard(request: Request<Body>, next: Next) -> Result<Response, Failure> {
    check_source(request.uri(), request.headers())?;
    let (head, body) = request.into_parts();
    let body = read_body(body).await?;
    let request = Request::from_parts(head, Body::from(body));
    Ok(next.run(request).await)
}

/// Reads the body, with a limit on its size and on the time: other users of the machine can
/// connect, and must not occupy connections for long.
async fn read_body(body: Body) -> Result<Bytes, Failure> {
    let reading = timeout(BODY_TIMEOUT, to_bytes(body, BODY_BYTES_MAX)).await;
    let read = reading.map_err(|_| {
        let seconds = BODY_TIMEOUT.as_secs();
        let detail = format!("the body did not arrive within {seconds} s");
        Failure::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail)
    })?;
    read.map_err(|error| event::incomplete_body(error.into_inner().is::<LengthLimitError>()))
}

fn check_source(uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().unwrap_or_default(),
        _ => "",
    };
    let target = uri.authority().map_or(host, |authority| authority.as_str());
    if !is_loopback_authority(host) || !is_loopback_authority(target) {
        return Err(Failure::forbidden(
            "foreign_host",
            "the agent answers to loopback names only: use `127.0.0.1`, `localhost` or `[::1]`",
        ));
    }
    if headers.contains_key(ORIGIN) {
        return Err(Failure::forbidden(
            "foreign_origin",
            "the agent rejects requests from web pages: send no `Origin` header",
        ));
    }
    Ok(())
}

async fn wrong_method() -> Failure {
    Failure::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this path does not support this HTTP method",
    )
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_refused() {
        let silent = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let reading = timeout(10 * BODY_TIMEOUT, read_body(silent)).await;
        let refused = reading.expect("in time").expect_err("no end");
        let shown = format!("{refused:?}");
        assert!(shown.contains("body_too_slow"), "{shown}");
    }

    #[test]
    fn only_loopback_names_pass() {
        let is_accepted = |host: &str, target: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().expect("a value"));
            check_source(&target.parse().expect("a target"), &headers).is_ok()
        };
        for local in [
            "127.0.0.1:12201",
            "LocalHost:1",
            "app.localhost",
            "[::1]:12201",
        ] {
            assert!(is_accepted(local, "/event"), "{local}");
            assert!(
                is_accepted(local, &format!("http://{local}/event")),
                "{local}"
            );
        }
        for foreign in [
            "example.org:12201",
            "localhost.example.org",
            "0.0.0.0",
            "::1",
        ] {
            assert!(!is_accepted(foreign, "/event"), "{foreign}");
            assert!(!is_accepted(foreign, "http://localhost/event"), "{foreign}");
        }
        assert!(!is_accepted("localhost", "http://example.org/event"));
    }
}

//! `GET /packages/…`: the space's Python packages as zip archives.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{Path, State},
    response::Response,
};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH},
};

use super::problem::Failure;
use crate::packages::{Archive, Packages, SVC_LIBRARIES, USER_LIBRARIES};

/// State of the route.
pub struct PackageRoute {
    pub packages: Arc<Packages>,
    /// The maximum time that a request waits for the server.
    pub within: Duration,
}

pub async fn get(
    State(route): State<Arc<PackageRoute>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let archive = match name.as_str() {
        SVC_LIBRARIES => route.packages.svc(),
        USER_LIBRARIES => route
            .packages
            .get_libraries(route.within)
            .await
            .map_err(|error| Failure::unavailable("libraries_unavailable", error.to_string()))?,
        _ => {
            let detail = format!(
                "there is no package `{name}`: the agent serves `{SVC_LIBRARIES}` and `{USER_LIBRARIES}`"
            );
            return Err(Failure::new(
                StatusCode::NOT_FOUND,
                "package_not_found",
                detail,
            ));
        }
    };
    Ok(answer(archive, &headers))
}

fn answer(archive: Archive, headers: &HeaderMap) -> Response {
    let is_known = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|tags| matches(tags, &archive.etag));
    let etag = HeaderValue::from_str(&archive.etag).expect("an entity tag is made of hex digits");
    let mut response = if is_known {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        Response::new(Body::from(archive.bytes))
    };
    let out = response.headers_mut();
    if !is_known {
        out.insert(CONTENT_TYPE, HeaderValue::from_static("application/zip"));
    }
    out.insert(ETAG, etag);
    // Clients may store the archive, but must ask before each use whether it has changed.
    out.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Whether a list of entity tags contains `etag` (RFC 9110, weak comparison).
fn matches(tags: &str, etag: &str) -> bool {
    tags.split(',').map(str::trim).any(|tag| {
        let tag = tag.strip_prefix("W/").unwrap_or(tag);
        tag == "*" || tag == etag
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entity_tags_are_compared_weakly() {
        for tags in ["\"a\"", "W/\"a\"", "*", "\"b\", \"a\"", "\"b\",W/\"a\""] {
            assert!(matches(tags, "\"a\""), "{tags}");
        }
        for tags in ["", "a", "\"b\"", "\"ab\"", "\"A\""] {
            assert!(!matches(tags, "\"a\""), "{tags}");
        }
    }
}

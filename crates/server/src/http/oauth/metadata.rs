//! The documents by which apps find the endpoints of OAuth: RFC 9728 and RFC 8414.

use axum::{
    extract::{Extension, OriginalUri},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, header};
use serde::Serialize;

use super::{for_any_site, issuer::issuer};
use crate::{
    app::App,
    http::{error::ApiResult, listen::Peer, operations::path_not_found},
    oauth::mcp_resource,
};

/// How apps identify themselves at the endpoints that `token::presented` serves.
const AUTHENTICATION: [&str; 3] = ["none", "client_secret_basic", "client_secret_post"];

#[derive(Serialize)]
struct ProtectedResource {
    resource: String,
    authorization_servers: [String; 1],
    scopes_supported: [&'static str; 1],
    bearer_methods_supported: [&'static str; 1],
    resource_name: &'static str,
}

#[derive(Serialize)]
struct AuthorizationServer {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: String,
    device_authorization_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_endpoint: Option<String>,
    response_types_supported: [&'static str; 1],
    response_modes_supported: [&'static str; 1],
    grant_types_supported: [&'static str; 3],
    code_challenge_methods_supported: [&'static str; 1],
    token_endpoint_auth_methods_supported: [&'static str; 3],
    revocation_endpoint_auth_methods_supported: [&'static str; 3],
    scopes_supported: [&'static str; 3],
    client_id_metadata_document_supported: bool,
    authorization_response_iss_parameter_supported: bool,
}

/// Describes the resource that a token is for: `/mcp`, with the query `tools=search` if the request
/// has it.
pub async fn protected_resource(
    app: App,
    Extension(peer): Extension<Peer>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let issuer = issuer(&app, Some(peer), &headers).ok_or_else(|| path_not_found(&uri))?;
    let is_search = uri.query() == Some("tools=search");
    Ok(document(&ProtectedResource {
        resource: mcp_resource(&issuer, is_search),
        authorization_servers: [issuer],
        scopes_supported: ["mcp"],
        bearer_methods_supported: ["header"],
        resource_name: "svc",
    }))
}

pub async fn authorization_server(
    app: App,
    Extension(peer): Extension<Peer>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let issuer = issuer(&app, Some(peer), &headers).ok_or_else(|| path_not_found(&uri))?;
    let policy = app.oauth.policy();
    let registers = policy.registration && policy.client_hosts.is_empty();
    Ok(document(&AuthorizationServer {
        authorization_endpoint: format!("{issuer}/authorize"),
        token_endpoint: format!("{issuer}/token"),
        revocation_endpoint: format!("{issuer}/revoke"),
        device_authorization_endpoint: format!("{issuer}/device_authorization"),
        registration_endpoint: registers.then(|| format!("{issuer}/register")),
        issuer,
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: [
            "authorization_code",
            "refresh_token",
            "urn:ietf:params:oauth:grant-type:device_code",
        ],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: AUTHENTICATION,
        revocation_endpoint_auth_methods_supported: AUTHENTICATION,
        scopes_supported: ["mcp", "methods", "offline_access"],
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
    }))
}

fn document(document: &impl Serialize) -> Response {
    let mut response = for_any_site(axum::Json(document).into_response());
    let headers = response.headers_mut();
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("max-age=300"),
    );
    // The address of the server depends on the host that the request names.
    headers.insert(header::VARY, HeaderValue::from_static("host"));
    response
}

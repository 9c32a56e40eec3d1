//! The issuer, which is the address of this server in OAuth, and the challenges of `/mcp` that lead
//! clients to it.

use http::{HeaderMap, Uri, header};
use svc_core::host::is_loopback_authority;

use crate::{
    app::App,
    http::{
        auth::is_direct_loopback,
        error::ApiError,
        listen::{self, Peer},
    },
};

/// The address of this server for OAuth, if apps can be connected.
pub fn issuer(app: &App, peer: Option<Peer>, headers: &HeaderMap) -> Option<String> {
    match app.oauth.policy().enabled {
        true => own_origin(app, peer, headers),
        false => None,
    }
}

/// The origin of `public_url`, if it is `https` or names this machine. Without `public_url`, the
/// address that the request used, if the request came directly from this machine. Otherwise `None`:
/// the `Host` of a request from another machine is never trusted.
pub fn own_origin(app: &App, peer: Option<Peer>, headers: &HeaderMap) -> Option<String> {
    if let Some(origin) = &app.public_origin {
        let (scheme, authority) = origin.split_once("://")?;
        let is_usable = scheme == "https" || is_loopback_authority(authority);
        return is_usable.then(|| origin.clone());
    }
    let peer = peer?;
    if !is_direct_loopback(app, Some(peer), headers) {
        return None;
    }
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let scheme = match listen::is_secure(peer, headers, &app.trusted_proxies) {
        true => "https",
        false => "http",
    };
    Some(format!("{scheme}://{}", host.to_ascii_lowercase()))
}

/// Adds the challenge of `/mcp` to a refusal. `error` is a code of RFC 6750; `None` if the request
/// had no credential.
pub fn challenge(
    refusal: ApiError,
    (app, peer, headers): (&App, Option<Peer>, &HeaderMap),
    uri: &Uri,
    error: Option<&str>,
) -> ApiError {
    let mut text = r#"Bearer realm="svc""#.to_owned();
    if let Some(error) = error {
        text += &format!(r#", error="{error}""#);
    }
    match issuer(app, peer, headers) {
        Some(issuer) => {
            let query = uri.query().filter(|query| *query == "tools=search");
            let query = query.map(|query| format!("?{query}")).unwrap_or_default();
            text += &format!(
                r#", resource_metadata="{issuer}/.well-known/oauth-protected-resource/mcp{query}", scope="mcp""#
            );
        }
        None if error == Some("insufficient_scope") => text += r#", scope="mcp""#,
        None => {}
    }
    refusal.challenge(text)
}

//! Data that apps send before a user is known: parameters, redirect addresses, documents of apps.

use svc_core::oauth::{
    OAuthScopes, Params, RedirectUri, clean_name, host_of, is_verifier, read_document,
};

use super::{parts, text};

pub fn params(data: &[u8]) {
    let Ok(mut params) = Params::parse(data) else {
        return;
    };
    let scope = params.get("scope").unwrap_or_default();
    let chosen = OAuthScopes::choose(scope);
    if let Some(narrowed) = chosen.narrow(scope) {
        let _ = narrowed.routes();
    }
    let _ = params.get("code_challenge").is_some_and(is_verifier);
    let _ = params.get("client_id").and_then(host_of);
    if let Some(uri) = params.get("redirect_uri")
        && let Ok(parsed) = RedirectUri::parse(uri)
    {
        assert!(parsed.permits(&parsed), "an address does not permit itself");
        assert!(
            !parsed.shown_host().contains('@'),
            "a user name is shown as the host"
        );
        let answer = parsed.with_query("code=1&state=2");
        assert!(answer.starts_with(uri.split('?').next().unwrap_or_default()));
    }
    let _ = params.require("grant_type");
}

/// The address of an app, and its document.
pub fn client_document(data: &[u8]) {
    let [address, body] = parts(data);
    let Some(address) = text(address) else { return };
    let _ = clean_name(Some(address));
    if let Ok((name, uris)) = read_document(address, body) {
        assert!(name.chars().count() <= 1_024);
        assert!(!uris.is_empty(), "an app without an address");
        for uri in &uris {
            assert!(RedirectUri::parse(uri).is_ok());
        }
    }
}

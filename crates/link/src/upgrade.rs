//! The server's check of the HTTP request that opens a link's WebSocket.

use http::{
    HeaderMap,
    header::{
        HeaderName, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
    },
};
use thiserror::Error;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::SUBPROTOCOL;

/// Why a request does not open a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum UpgradeError {
    #[error("the request does not ask for a WebSocket")]
    NotWebSocket,
    #[error("the agent does not offer `{SUBPROTOCOL}`")]
    Subprotocol,
    #[error("Sec-WebSocket-Key is missing")]
    NoKey,
}

/// Checks the request that opens a link, and returns the value of `Sec-WebSocket-Accept`.
pub fn check_upgrade(headers: &HeaderMap) -> Result<String, UpgradeError> {
    if !header_contains(headers, UPGRADE, "websocket")
        || !header_contains(headers, SEC_WEBSOCKET_VERSION, "13")
    {
        return Err(UpgradeError::NotWebSocket);
    }
    if !header_contains(headers, SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL) {
        return Err(UpgradeError::Subprotocol);
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).ok_or(UpgradeError::NoKey)?;
    Ok(derive_accept_key(key.as_bytes()))
}

/// Whether a header with a comma-separated list contains a word.
fn header_contains(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|part| part.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_request_must_offer_the_subprotocol_and_a_key() {
        let mut headers = HeaderMap::new();
        assert_eq!(check_upgrade(&headers), Err(UpgradeError::NotWebSocket));
        headers.insert(UPGRADE, HeaderValue::from_static("h2c, WebSocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        assert_eq!(check_upgrade(&headers), Err(UpgradeError::Subprotocol));
        let offered = HeaderValue::from_static("other, svc-link.1");
        headers.insert(SEC_WEBSOCKET_PROTOCOL, offered);
        assert_eq!(check_upgrade(&headers), Err(UpgradeError::NoKey));
        let key = HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==");
        headers.insert(SEC_WEBSOCKET_KEY, key);
        let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".to_owned();
        assert_eq!(check_upgrade(&headers), Ok(accept), "RFC 6455's example");
    }
}

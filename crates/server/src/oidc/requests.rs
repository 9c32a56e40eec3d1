//! Requests to providers: with https except on this machine, bounded, and only to addresses that
//! the guard permits.

use std::time::Duration;

use http::{StatusCode, Uri};
use serde::de::DeserializeOwned;
use svc_core::host::is_loopback_authority;
use svc_outbound::{FetchRequest, check_url};
use tokio::time::timeout;

use super::Oidc;

/// The maximum number of bytes of an answer of a provider.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// How long a request waits for a free slot.
const TURN_TIME: Duration = Duration::from_secs(5);

/// Checks an address of a provider: https, except on this machine.
pub fn check_address(address: &str) -> Result<(), String> {
    check_url(address).map_err(|_| format!("`{address}` is not a valid address"))?;
    let uri: Uri = address
        .parse()
        .map_err(|_| format!("`{address}` is not a valid address"))?;
    let host = uri.authority().map(http::uri::Authority::as_str);
    let is_local = host.is_some_and(is_loopback_authority);
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_local => Ok(()),
        _ => Err(format!("`{address}` must begin with `https://`")),
    }
}

impl Oidc {
    /// Reads a JSON document.
    pub(super) async fn read_json<T: DeserializeOwned>(
        &self,
        address: &str,
        authorization: Option<String>,
    ) -> Result<T, String> {
        let (status, body) = self.send(address, authorization, None).await?;
        if status != StatusCode::OK {
            return Err(format!("`{address}` answers {}", status.as_u16()));
        }
        serde_json::from_slice(&body)
            .map_err(|error| format!("the answer of `{address}` is not as expected: {error}"))
    }

    /// Sends a form with `POST`, or a `GET` request. Returns the status and the body.
    pub(super) async fn send(
        &self,
        address: &str,
        authorization: Option<String>,
        form: Option<String>,
    ) -> Result<(StatusCode, Vec<u8>), String> {
        check_address(address)?;
        // A slow provider must not delay the users of other providers for long.
        let turn = timeout(TURN_TIME, self.requests.acquire()).await;
        let _turn = turn.map_err(|_| "too many requests are waiting; try again".to_owned())?;
        let request = FetchRequest {
            url: address,
            bytes_max: ANSWER_BYTES_MAX,
            authorization,
            form,
        };
        let answer = self.outbound.fetch_answer(request).await;
        let answer = answer.map_err(|why| format!("`{address}` cannot be read: {why}"))?;
        Ok((answer.status, answer.body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_providers_are_https_except_on_this_machine() {
        for good in [
            "https://id.example/x",
            "http://127.0.0.1:8080/",
            "http://localhost/realms/a",
            "http://[::1]:1/",
        ] {
            assert_eq!(check_address(good), Ok(()), "{good}");
        }
        for bad in [
            "http://id.example/",
            "http://localhost.evil.example/",
            "http://127.0.0.1@id.example/",
            "ftp://id.example/",
            "id.example",
            "https://user:secret@id.example/",
            "https://id.example/#x",
            "",
        ] {
            assert!(check_address(bad).is_err(), "{bad}");
        }
    }
}

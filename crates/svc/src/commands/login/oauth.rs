//! The requests of `svc login` to a server that supports OAuth.

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::{Deserialize, de::DeserializeOwned};
use svc_client::Client;

use crate::exit::{Failure, OrFail};

/// The `client_id` of the command line.
pub const CLIENT_ID: &str = "svc-cli";

/// The metadata of the authorization server (RFC 8414).
#[derive(Deserialize)]
pub struct Metadata {
    pub issuer: String,
}

/// The token of this machine.
#[derive(Deserialize)]
pub struct NewToken {
    pub access_token: String,
    pub token_id: String,
}

/// An error response of OAuth.
#[derive(Deserialize, Debug)]
pub struct Refusal {
    pub error: String,
    #[serde(default)]
    pub error_description: String,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let why = match refusal.error_description.as_str() {
            "" => &refusal.error,
            description => description,
        };
        Self::credentials(format!("the server refused the login: {why}"))
    }
}

/// `None` if the server does not support OAuth.
pub async fn find_metadata(client: &Client) -> Result<Option<Metadata>, Failure> {
    let path = "/.well-known/oauth-authorization-server";
    let asked = client.send_raw(Method::GET, path, HeaderMap::new(), None, None);
    let answer = asked.await?;
    match answer.status {
        StatusCode::OK => Ok(serde_json::from_slice(&answer.body).ok()),
        _ => Ok(None),
    }
}

/// Sends a form. `Ok(Err(…))` is an error response of OAuth.
pub async fn post_form<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    fields: &[(&str, &str)],
) -> Result<Result<T, Refusal>, Failure> {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, form)]);
    let asked = client.send_raw(Method::POST, path, headers, Some(body.into_bytes()), None);
    let answer = asked.await?;
    let read = match answer.status.is_success() {
        true => serde_json::from_slice(&answer.body).map(Ok),
        false => serde_json::from_slice(&answer.body).map(Err),
    };
    let status = answer.status.as_u16();
    read.or_fail(format!(
        "the answer of {path} cannot be read (status {status})"
    ))
}

//! The parameters of OAuth: a query or a form, each name at most once.

use std::collections::HashMap;

use axum::extract::{FromRequest, Request};
use http::{StatusCode, header};

use super::error::OAuthFailure;
use crate::{
    app::App,
    http::{connections::Slot, error::ApiError, extract::read_body},
    limits::Account,
    oauth::OAuthError,
};

/// Bytes of a form.
const FORM_BYTES_MAX: usize = 16 * 1024;
const FORM_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(10);

/// Parameters by name. `resource` may be given several times (RFC 8707).
#[derive(Debug, Default)]
pub struct Params {
    values: HashMap<String, String>,
    pub resources: Vec<String>,
}

impl Params {
    pub fn parse(encoded: &[u8]) -> Result<Self, OAuthError> {
        let mut params = Self::default();
        for (name, value) in form_urlencoded::parse(encoded) {
            // A parameter without a value counts as absent (RFC 6749, 3.1).
            if value.is_empty() {
                continue;
            }
            if name == "resource" {
                params.resources.push(value.into_owned());
            } else if let Some(twice) = params.values.insert(name.to_string(), value.into_owned()) {
                drop(twice);
                let name: String = name.chars().take(40).collect();
                let text = format!("the parameter `{name}` is given twice");
                return Err(OAuthError::refused("invalid_request", text));
            }
        }
        Ok(params)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub fn take(&mut self, name: &str) -> Option<String> {
        self.values.remove(name)
    }

    pub fn require(&mut self, name: &str) -> Result<String, OAuthError> {
        self.take(name).ok_or_else(|| {
            OAuthError::refused(
                "invalid_request",
                format!("the parameter `{name}` is missing"),
            )
        })
    }
}

/// A form body, as the standards require it.
pub struct Form(pub Params);

impl FromRequest<App> for Form {
    type Rejection = OAuthFailure;

    async fn from_request(request: Request, app: &App) -> Result<Self, OAuthFailure> {
        let content_type = request.headers().get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let essence = content_type.and_then(|value| value.split(';').next());
        if !essence.is_some_and(|it| it.trim().eq_ignore_ascii_case(FORM)) {
            let text = format!("send the parameters as `Content-Type: {FORM}`");
            return Err(OAuthError::refused("invalid_request", text).into());
        }
        let body = small_body(app, request).await?;
        Ok(Self(Params::parse(&body)?))
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Reads the body of a request that needs no credential.
pub async fn small_body(app: &App, request: Request) -> Result<bytes::Bytes, OAuthFailure> {
    let slot = request.extensions().get::<std::sync::Arc<Slot>>();
    let account = Account::Connection(slot.map_or(0, |slot| slot.id()));
    let reservation = app.bodies.begin(account);
    let body = request.into_body();
    let read = read_body(body, FORM_BYTES_MAX, FORM_TIME_MAX, reservation).await;
    read.map(|read| read.bytes).map_err(|error: ApiError| {
        let status = error.status();
        OAuthFailure::InvalidRequest {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST),
            description: error.detail().to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_may_be_given_once_and_an_empty_one_is_absent() {
        let params = Params::parse(b"a=1&b=&resource=x&resource=y&c=%20+").expect("parsed");
        assert_eq!(params.get("a"), Some("1"));
        assert_eq!(params.get("b"), None);
        assert_eq!(params.get("c"), Some("  "));
        assert_eq!(params.resources, ["x", "y"]);
        let error = Params::parse(b"a=1&a=1").expect_err("twice");
        assert_eq!(error.to_string(), "the parameter `a` is given twice");
    }
}

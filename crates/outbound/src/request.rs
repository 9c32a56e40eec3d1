//! A request, before its connection is known.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{CONNECTION, HOST, PROXY_AUTHORIZATION},
};
use http_body_util::Full;
use svc_client::TlsSettings;
use svc_core::UserId;

use super::{connections::LaneOwner, error::OutboundError, url::Location};

/// How a request names its target.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum RequestForm {
    /// By its path, over HTTP/1.1.
    Origin,
    /// By the whole URL, to a proxy. `authorization` is the value of `Proxy-Authorization`, which is
    /// sent only if the request is not tunnelled.
    Absolute { authorization: Option<String> },
    /// By the whole URL, without `Host` and `Connection`.
    Http2,
}

/// A request to send. Without `Debug`: it may hold secrets.
pub struct Request<'a> {
    /// The look-up of the host name counts towards the limit of this user, and log lines name the
    /// user.
    pub user: UserId,
    pub method: Method,
    /// Without user, password and fragment.
    pub url: &'a str,
    /// The parts of `url`.
    pub location: Location,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub tls: TlsSettings<'a>,
    /// The lane whose connection is used and kept. Without a lane, the connection is closed after
    /// the answer.
    pub lane: Option<LaneOwner>,
    /// At most this many bytes of the answer are kept.
    pub answer_bytes_max: usize,
}

impl Request<'_> {
    pub(super) fn to_http(
        &self,
        form: &RequestForm,
    ) -> Result<http::Request<Full<Bytes>>, OutboundError> {
        let target = match form {
            RequestForm::Origin => self.location.path.as_str(),
            RequestForm::Absolute { .. } | RequestForm::Http2 => self.url,
        };
        let mut request = http::Request::builder()
            .method(&self.method)
            .uri(target)
            .body(Full::new(self.body.clone()))?;
        let mut headers = self.headers.clone();
        match form {
            RequestForm::Origin => {}
            RequestForm::Absolute { authorization } => {
                if let Some(value) = authorization {
                    let value = secret_value(value).ok_or(OutboundError::ProxyCredential)?;
                    headers.insert(PROXY_AUTHORIZATION, value);
                }
            }
            RequestForm::Http2 => {
                // The target names the host, and HTTP/2 forbids a `Connection` header.
                headers.remove(HOST);
                headers.remove(CONNECTION);
            }
        }
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// The value of a header, marked so that the HTTP library does not show it.
pub(super) fn secret_value(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

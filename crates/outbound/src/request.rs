//! A request to a receiver, before its connection is known.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri,
    header::{CONNECTION, HOST, PROXY_AUTHORIZATION},
};
use http_body_util::Full;

use super::url::Location;

/// How a request names its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestForm {
    /// By its path, over HTTP/1.1.
    Origin,
    /// By the whole URL, to a proxy.
    Absolute,
    /// By the whole URL, without `Host` and `Connection`.
    Http2,
}

pub(super) struct OutgoingRequest {
    pub(super) method: Method,
    /// Without user, password and fragment.
    pub(super) url: String,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The value of `Proxy-Authorization`. Sent only if the request is not tunnelled.
    pub(super) proxy_authorization: Option<String>,
}

impl OutgoingRequest {
    pub(super) fn new(url: &str, location: &Location, headers: HeaderMap, body: String) -> Self {
        Self {
            method: Method::POST,
            url: url.to_owned(),
            path: location.path.clone(),
            headers,
            body: Bytes::from(body),
            proxy_authorization: None,
        }
    }

    pub(super) fn to_request(&self, form: RequestForm) -> Result<Request<Full<Bytes>>, String> {
        let target = match form {
            RequestForm::Origin => &self.path,
            RequestForm::Absolute | RequestForm::Http2 => &self.url,
        };
        let target: Uri = target.parse().map_err(|_| "the URL is not valid")?;
        let mut request = Request::builder()
            .method(&self.method)
            .uri(target)
            .body(Full::new(self.body.clone()))
            .map_err(|error| error.to_string())?;
        let mut headers = self.headers.clone();
        match form {
            RequestForm::Origin => {}
            RequestForm::Absolute => {
                if let Some(value) = &self.proxy_authorization {
                    insert_secret(&mut headers, PROXY_AUTHORIZATION, value)?;
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

fn insert_secret(headers: &mut HeaderMap, name: HeaderName, value: &str) -> Result<(), String> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| "the user or password of the proxy is not valid".to_owned())?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

//! Reads a document from an address that the server does not trust.

use std::time::Duration;

use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, USER_AGENT},
};
use svc_client::TlsSettings;
use svc_core::UserId;
use tokio::time::timeout;

use super::{
    Outbound, Progress,
    error::OutboundError,
    request::{Request, secret_value},
    url::Location,
};

/// Time limit, from the look-up of the host name to the last byte.
const TIME_MAX: Duration = Duration::from_secs(5);

/// The answer to a [`FetchRequest`], with any status.
pub struct Fetched {
    pub status: StatusCode,
    pub body: Vec<u8>,
    /// How long the body may be used, from `Cache-Control`.
    pub max_age: Option<Duration>,
}

/// A request for JSON. Without `Debug`: it may hold secrets.
pub struct FetchRequest<'a> {
    pub url: &'a str,
    pub bytes_max: usize,
    /// The value of `Authorization`.
    pub authorization: Option<String>,
    /// The body of a POST; without it, the request is a GET.
    pub form: Option<String>,
}

impl Outbound {
    /// Reads a document of at most `bytes_max` bytes. Redirects are not followed. For the limits on
    /// look-ups of host names, all fetches together count as one user.
    pub async fn fetch(&self, url: &str, bytes_max: usize) -> Result<Fetched, OutboundError> {
        let answer = self.fetch_answer(FetchRequest {
            url,
            bytes_max,
            authorization: None,
            form: None,
        });
        let fetched = answer.await?;
        match fetched.status {
            StatusCode::OK => Ok(fetched),
            status => Err(OutboundError::Status(status.as_u16())),
        }
    }

    /// Like [`fetch`](Self::fetch), with an optional credential and form. Returns an answer with
    /// any status.
    pub async fn fetch_answer(&self, request: FetchRequest<'_>) -> Result<Fetched, OutboundError> {
        timeout(TIME_MAX, self.fetch_now(request))
            .await
            .unwrap_or_else(|_| Err(OutboundError::TimedOut(TIME_MAX.as_secs())))
    }

    async fn fetch_now(&self, given: FetchRequest<'_>) -> Result<Fetched, OutboundError> {
        let FetchRequest { url, bytes_max, .. } = given;
        let location = Location::parse(url)?;
        let mut headers = HeaderMap::new();
        let host = HeaderValue::from_str(&location.authority).map_err(http::Error::from)?;
        headers.insert(HOST, host);
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let agent = concat!("svc/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        if let Some(value) = given.authorization {
            let value = secret_value(&value).ok_or(OutboundError::Credential)?;
            headers.insert(AUTHORIZATION, value);
        }
        let method = match given.form {
            Some(_) => Method::POST,
            None => Method::GET,
        };
        if method == Method::POST {
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            headers.insert(CONTENT_TYPE, form);
        }
        let request = Request {
            user: UserId::NIL,
            method,
            url,
            location,
            headers,
            body: given.form.unwrap_or_default().into(),
            tls: TlsSettings::default(),
            lane: None,
            // One byte more than allowed shows that the document is too long.
            answer_bytes_max: bytes_max + 1,
        };
        let mut progress = Progress::default();
        self.send(&request, &mut progress).await?;
        let answer = progress.answer;
        if answer.body.len() > bytes_max {
            return Err(OutboundError::LongDocument(bytes_max));
        }
        Ok(Fetched {
            status: answer.status.expect("a complete answer has a status"),
            max_age: max_age(&answer.headers),
            body: answer.body,
        })
    }
}

fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let control = headers.get(http::header::CACHE_CONTROL)?.to_str().ok()?;
    let directives = control.split(',').map(str::trim);
    if directives
        .clone()
        .any(|directive| ["no-store", "no-cache"].contains(&directive))
    {
        return Some(Duration::ZERO);
    }
    let mut ages = directives.filter_map(|directive| directive.strip_prefix("max-age="));
    Some(Duration::from_secs(ages.next()?.parse().ok()?))
}

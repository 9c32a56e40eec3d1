//! Reads a document from an address that the server does not trust, with the same guard as
//! deliveries.

use std::time::Duration;

use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, USER_AGENT},
};
use svc_client::TlsSettings;
use svc_core::UserId;
use tokio::time::timeout;

use super::{
    Progress, Webhook, outgoing::OutgoingRequest, tls::connection_settings, url::Location,
};

/// Time limit, from the look-up of the host name to the last byte.
const TIME_MAX: Duration = Duration::from_secs(5);

/// A document and how long it may be used.
#[derive(Debug)]
pub struct FetchedDocument {
    pub body: Vec<u8>,
    /// From `Cache-Control`.
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

/// The answer to a [`FetchRequest`], with any status.
pub struct FetchedAnswer {
    pub status: StatusCode,
    pub document: FetchedDocument,
}

impl Webhook {
    /// Reads a document of at most `bytes_max` bytes. Redirects are not followed. For the limits on
    /// look-ups of host names, all fetches together count as one user.
    pub async fn fetch(&self, url: &str, bytes_max: usize) -> Result<FetchedDocument, String> {
        let answer = self.fetch_answer(FetchRequest {
            url,
            bytes_max,
            authorization: None,
            form: None,
        });
        let FetchedAnswer { status, document } = answer.await?;
        match status {
            StatusCode::OK => Ok(document),
            status => Err(format!("the answer is {}", status.as_u16())),
        }
    }

    /// Like [`fetch`](Self::fetch), with an optional credential and form. Returns an answer with
    /// any status.
    pub async fn fetch_answer(&self, request: FetchRequest<'_>) -> Result<FetchedAnswer, String> {
        timeout(TIME_MAX, self.fetch_now(request))
            .await
            .unwrap_or_else(|_| {
                let seconds = TIME_MAX.as_secs();
                Err(format!("no complete answer within {seconds} s"))
            })
    }

    async fn fetch_now(&self, given: FetchRequest<'_>) -> Result<FetchedAnswer, String> {
        let FetchRequest { url, bytes_max, .. } = given;
        let location = Location::parse(url).map_err(|error| error.to_string())?;
        let mut headers = HeaderMap::new();
        let host = HeaderValue::from_str(&location.authority).map_err(|error| error.to_string())?;
        headers.insert(HOST, host);
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let agent = concat!("svc/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        if let Some(value) = given.authorization {
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| "the credential has characters that HTTP does not allow".to_owned())?;
            value.set_sensitive(true);
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
        let body = given.form.unwrap_or_default();
        let mut request = OutgoingRequest::new(url, &location, headers, body);
        request.method = method;
        request.proxy_authorization = self.proxy_authorization();
        let tls = TlsSettings::default();
        let settings = connection_settings(url, tls);
        let Progress {
            mut answer,
            mut trace,
        } = Progress::default();
        let connecting = self.connect(UserId::NIL, (&location, tls), settings, &mut trace);
        let mut connection = connecting.await?;
        // One byte more than allowed shows that the document is too long.
        let exchange = connection.exchange(&request, &mut answer, bytes_max + 1);
        exchange.await.map_err(|error| error.why)?;
        let status = answer
            .status
            .ok_or_else(|| "there is no answer".to_owned())?;
        if answer.body().len() > bytes_max {
            return Err(format!("the document has more than {bytes_max} bytes"));
        }
        Ok(FetchedAnswer {
            status,
            document: FetchedDocument {
                max_age: max_age(&answer.headers),
                body: answer.into_body(),
            },
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

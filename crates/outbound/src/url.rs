//! URLs that users chose: checks them, and splits them into parts.

use http::Uri;
use thiserror::Error;

const URL_BYTES_MAX: usize = 2_048;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlError {
    #[error("the URL has {0} bytes; at most {URL_BYTES_MAX} are allowed")]
    TooLong(usize),
    /// Does not show the URL, which may contain a secret.
    #[error("the webhook's URL {0}")]
    Invalid(String),
}

/// Checks a URL that a user chose.
pub fn check_url(url: &str) -> Result<(), UrlError> {
    Location::parse(url).map(drop)
}

/// The origin of a URL: scheme, host and port. Two URLs with the same origin have the same receiver.
pub fn origin_of(url: &str) -> Result<String, UrlError> {
    let location = Location::parse(url)?;
    let scheme = if location.tls { "https" } else { "http" };
    let host = location.host.to_ascii_lowercase();
    Ok(format!("{scheme}://{host}:{}", location.port))
}

/// The parts of a URL.
#[derive(Debug, PartialEq, Eq)]
pub struct Location {
    pub tls: bool,
    /// As written; an IPv6 address has brackets.
    pub host: String,
    pub port: u16,
    /// The value of the `Host` header.
    pub authority: String,
    /// Path and query.
    pub path: String,
}

impl Location {
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        if url.len() > URL_BYTES_MAX {
            return Err(UrlError::TooLong(url.len()));
        }
        let invalid = |why: &str| UrlError::Invalid(why.to_owned());
        if url.contains('#') {
            return Err(invalid("must not have a fragment (`#…`)"));
        }
        let uri: Uri = url.parse().map_err(|_| {
            invalid("is not valid: write it like `https://example.com/path`, spaces as `%20`")
        })?;
        let (tls, default_port) = match uri.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            _ => return Err(invalid("must begin with `http://` or `https://`")),
        };
        let authority = uri.authority().ok_or_else(|| invalid("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid(
                "must not hold a user name or password; use a header",
            ));
        }
        let host = authority.host();
        if host.is_empty() || host == "[]" {
            return Err(invalid("names no host"));
        }
        let port = match authority.as_str().strip_prefix(host) {
            Some("") => default_port,
            _ => authority
                .port_u16()
                .filter(|port| *port > 0)
                .ok_or_else(|| invalid("has no valid port"))?,
        };
        Ok(Self {
            tls,
            host: host.to_owned(),
            port,
            authority: authority.as_str().to_owned(),
            path: uri
                .path_and_query()
                .map_or_else(|| "/".to_owned(), ToString::to_string),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_http_or_https_with_a_host() {
        for good in [
            "http://example.org",
            "https://example.org:8443/a/b?c=d",
            "HTTPS://Example.org/",
            "http://[2606:4700::1]:80/x",
            "http://2130706433/",
        ] {
            assert_eq!(check_url(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "example.org",
            "/path",
            "ftp://example.org",
            "file:///etc/passwd",
            "http://",
            "http:///x",
            "http://user:secret@example.org/",
            "http://example.org/#x",
            "http://example.org:0/",
            "http://example.org:99999/",
            "http://example.org:/",
            "http://exa mple.org/",
            "http://example.org/\r\nx: y",
            &format!("http://example.org/{}", "x".repeat(URL_BYTES_MAX)),
        ] {
            let error = check_url(bad).expect_err(bad).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_url_is_split_into_its_parts() {
        let location = Location::parse("https://example.org:8443/a?b=c").expect("valid");
        assert_eq!(
            location,
            Location {
                tls: true,
                host: "example.org".into(),
                port: 8443,
                authority: "example.org:8443".into(),
                path: "/a?b=c".into(),
            }
        );
        assert_eq!(Location::parse("http://x").expect("valid").path, "/");
    }

    #[test]
    fn scheme_host_and_port_are_the_origin_of_a_url() {
        let origin = |url: &str| origin_of(url).expect("valid");
        for (url, expected) in [
            ("http://example.org", "http://example.org:80"),
            ("HTTP://Example.ORG:80/a?b=c", "http://example.org:80"),
            ("https://example.org/a", "https://example.org:443"),
            (
                "https://[2606:4700::1]:8443/",
                "https://[2606:4700::1]:8443",
            ),
        ] {
            assert_eq!(origin(url), expected, "{url}");
        }
        for other in [
            "https://example.org",
            "http://example.org:81",
            "http://a.example.org",
            "http://example.org.",
        ] {
            assert_ne!(origin(other), origin("http://example.org"), "{other}");
        }
    }
}

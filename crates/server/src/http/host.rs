//! The check of the `Host` header.
//!
//! A site can make its own name resolve to this machine (DNS rebinding). Scripts of that site then
//! reach a loopback listener as their own origin, and only the `Host` header reveals this. A
//! loopback listener therefore accepts only the names of this machine and configured names.

use std::net::SocketAddr;

use http::{HeaderMap, Request, Version, header};
use svc_core::host::is_loopback_authority;

use super::{error::ApiError, failures};
use crate::host_names::{AllowedHosts, split_port};

/// The `Host` rule of one listener.
#[derive(Clone, Debug)]
pub struct HostRule {
    allowed: AllowedHosts,
    /// The address of a loopback listener, as most clients send it in `Host`; `None` for other
    /// listeners.
    loopback: Option<String>,
}

impl HostRule {
    pub fn new(allowed: AllowedHosts, listener: SocketAddr) -> Self {
        let is_loopback = listener.ip().to_canonical().is_loopback();
        Self {
            allowed,
            loopback: is_loopback.then(|| listener.to_string()),
        }
    }

    /// Rejects an ambiguous host, an HTTP/1.1 request without a host and, on a loopback listener,
    /// the name of another host.
    pub fn check<B>(&self, request: &Request<B>) -> Result<(), ApiError> {
        let host = host_of(request)?;
        let Some(own) = &self.loopback else {
            return Ok(());
        };
        match host {
            Some(host)
                if host == own || is_loopback_authority(host) || self.allowed.contains(host) =>
            {
                Ok(())
            }
            // HTTP/1.0 requests may lack a host. Browsers always send one.
            None => Ok(()),
            Some(host) => Err(ApiError::new(
                failures::FOREIGN_HOST,
                format!(
                    "`{host}` is not a name of this server, which listens on this machine only; to allow the name, set `public_url` or add it to `allowed_hosts`"
                ),
            )),
        }
    }
}

/// The host that a request names. Returns an error if the request names several hosts, or if an
/// HTTP/1.1 request names none.
fn host_of<B>(request: &Request<B>) -> Result<Option<&str>, ApiError> {
    let invalid = |detail: &str| Err(ApiError::new(failures::INVALID_HOST, detail));
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = match hosts.next().map(|host| host.to_str()) {
        Some(Ok(host)) => Some(host),
        Some(Err(_)) => return invalid("the `Host` header is not text"),
        None => None,
    };
    if hosts.next().is_some() {
        return invalid("there is more than one `Host` header");
    }
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    match (host, authority) {
        (Some(host), Some(authority)) if !is_same(host, authority) => {
            invalid("the `Host` header and the address of the request name different hosts")
        }
        (None, None) if request.version() == Version::HTTP_11 => {
            invalid("there is no `Host` header")
        }
        (host, authority) => Ok(host.or(authority)),
    }
}

fn is_same(one: &str, other: &str) -> bool {
    let without_default = |text: &'_ str| -> usize {
        let (host, port) = split_port(text);
        match port {
            Some("80" | "443") => host.len(),
            _ => text.len(),
        }
    };
    let (one, other) = (
        &one[..without_default(one)],
        &other[..without_default(other)],
    );
    one.eq_ignore_ascii_case(other)
}

/// Whether the `Host` of a request is a name of this machine. Also true without a `Host`.
pub fn names_this_machine(headers: &HeaderMap) -> bool {
    match headers.get(header::HOST) {
        Some(host) => host.to_str().is_ok_and(is_loopback_authority),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str, hosts: &[&str], version: Version) -> Request<()> {
        let mut request = Request::builder().uri(target).version(version);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        request.body(()).expect("well-formed")
    }

    #[test]
    fn a_loopback_listener_accepts_known_names_only() {
        let allowed = AllowedHosts::new(
            Some("svc.example.com:8443"),
            &["proxy.internal".to_owned(), "other.internal:81".to_owned()],
        );
        let rule = HostRule::new(allowed, "127.0.0.1:12200".parse().expect("an address"));
        let open = HostRule::new(
            AllowedHosts::default(),
            "0.0.0.0:12200".parse().expect("an address"),
        );
        for (host, is_accepted) in [
            ("127.0.0.1:12200", true),
            ("localhost:12200", true),
            ("svc.example.com", true),
            ("SVC.example.com:443", true),
            ("proxy.internal:9", true),
            ("other.internal:81", true),
            ("other.internal:82", false),
            ("evil.example:12200", false),
        ] {
            let request = request("/metrics", &[host], Version::HTTP_11);
            assert_eq!(rule.check(&request).is_ok(), is_accepted, "{host}");
            assert!(open.check(&request).is_ok(), "{host}");
        }
        let any = AllowedHosts::new(None, &["*".to_owned()]);
        let any = HostRule::new(any, "[::1]:1".parse().expect("an address"));
        let evil = request("/", &["evil.example"], Version::HTTP_11);
        assert!(any.check(&evil).is_ok());
    }

    #[test]
    fn a_request_must_name_exactly_one_host() {
        let open = HostRule::new(
            AllowedHosts::default(),
            "0.0.0.0:12200".parse().expect("an address"),
        );
        for (target, hosts, version, is_accepted) in [
            ("/", &["a"][..], Version::HTTP_11, true),
            ("/", &["a", "a"], Version::HTTP_11, false),
            ("/", &["a", "b"], Version::HTTP_11, false),
            ("/", &[], Version::HTTP_11, false),
            ("/", &[], Version::HTTP_10, true),
            ("http://a/", &["a"], Version::HTTP_11, true),
            ("http://a:80/", &["A"], Version::HTTP_11, true),
            ("http://a/", &["b"], Version::HTTP_11, false),
            ("http://a:81/", &["a"], Version::HTTP_11, false),
            ("http://a/", &[], Version::HTTP_2, true),
            ("http://a/", &["b"], Version::HTTP_2, false),
        ] {
            let request = request(target, hosts, version);
            let checked = open.check(&request);
            assert_eq!(checked.is_ok(), is_accepted, "{target} {hosts:?}");
        }
    }
}

//! Checks where a request comes from: a page of another origin, or this machine.

use std::net::IpAddr;

use http::{HeaderMap, Method};
use ipnet::IpNet;

use super::{Gate, Head};
use crate::{
    app::App,
    http::{error::ApiError, failures, host::names_this_machine, listen::Peer},
};

/// Rejects a request that a browser sent for a page of another origin, unless its method is GET,
/// HEAD or OPTIONS.
pub(super) fn reject_foreign_write(gate: &Gate, head: Head<'_>) -> Result<(), ApiError> {
    if matches!(*head.method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    let headers = head.headers;
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let site_is_foreign =
        text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let origin_is_foreign = text("origin").is_some_and(|origin| {
        let host = text("host").or_else(|| head.uri.authority().map(|a| a.as_str()));
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        // Behind a proxy that rewrites `Host`, `Origin` still has the public address.
        let public = gate.app.public_authority.as_deref();
        !authority.is_some_and(|authority| {
            [host, public]
                .into_iter()
                .flatten()
                .any(|own| authority.eq_ignore_ascii_case(own))
        })
    });
    if site_is_foreign || origin_is_foreign {
        return Err(ApiError::new(
            failures::FOREIGN_ORIGIN,
            "a browser sent this request for another site; use the pages of this server or an API token",
        ));
    }
    Ok(())
}

/// Whether the request comes from this machine and was not forwarded by a proxy.
pub fn is_direct_loopback(app: &App, peer: Option<Peer>, headers: &HeaderMap) -> bool {
    let peer = peer.map(|peer| peer.address.ip().to_canonical());
    peer.is_some_and(|peer| is_direct(peer, headers, &app.trusted_proxies))
}

fn is_direct(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> bool {
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip"];
    let is_proxy = proxies.iter().any(|net| net.contains(&peer));
    // The listener may also accept configured names. The owner of such a name could make it resolve
    // to this machine, and a page of that name could then send requests here. So the host name is
    // checked here too.
    peer.is_loopback()
        && !is_proxy
        && names_this_machine(headers)
        && !forwarded.iter().any(|name| headers.contains_key(*name))
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    #[test]
    fn only_requests_that_come_directly_from_this_machine_are_direct() {
        let check = |peer: &str, proxies: &[&str], headers: &[(&'static str, &str)]| {
            let proxies: Vec<_> = proxies.iter().flat_map(|net| net.parse()).collect();
            let headers = headers.iter().map(|(name, value)| {
                let value = value.parse().expect("a value");
                (HeaderName::from_static(name), value)
            });
            is_direct(
                peer.parse().expect("an address"),
                &headers.collect(),
                &proxies,
            )
        };
        let local = [("host", "localhost:8080")];
        assert!(check("127.0.0.1", &[], &local));
        assert!(check("::1", &["10.0.0.0/8"], &local));
        assert!(!check("10.0.0.1", &[], &local), "another machine");
        assert!(!check("10.0.0.1", &["10.0.0.0/8"], &local));
        assert!(!check("127.0.0.1", &["127.0.0.0/8"], &local), "a proxy");
        assert!(!check("127.0.0.1", &[], &[("host", "example.org")]));
        for forwarded in ["forwarded", "x-forwarded-for", "x-real-ip"] {
            let headers = [local[0], (forwarded, "192.0.2.1")];
            assert!(!check("127.0.0.1", &[], &headers), "{forwarded}");
        }
    }
}

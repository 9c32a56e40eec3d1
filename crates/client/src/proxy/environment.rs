//! The proxy that the environment names for a server: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and
//! `NO_PROXY`, in lower case or in upper case.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;
use svc_core::host::Host;
use thiserror::Error;

use super::{Proxy, ProxyUrlError};
use crate::transport::bare_host;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the environment variable `{variable}` {why}; NO_PROXY names hosts that need no proxy")]
pub struct ProxyVariableError {
    variable: String,
    why: ProxyUrlError,
}

/// The proxy for a server. `None` if the server is on this machine, if no variable names a proxy,
/// or if `NO_PROXY` names the server. `read` returns the value of an environment variable.
pub fn find(
    is_tls: bool,
    host: &str,
    port: u16,
    read: impl Fn(&str) -> Option<String>,
) -> Result<Option<Proxy>, ProxyVariableError> {
    // If the text is not a host, the proxy gets it. This machine asks no name server about it.
    let host = Host::parse(host).unwrap_or(Host::Name(host));
    if is_this_machine(host) {
        return Ok(None);
    }
    // A CGI program ignores `HTTP_PROXY`: the sender of a request can set it with the header
    // `Proxy`.
    let is_cgi = read("REQUEST_METHOD").is_some();
    // The usual order: lower case before upper case, and the variable of the scheme before
    // `ALL_PROXY`.
    let read_either = |name: &str| {
        let upper = name.to_ascii_uppercase();
        [name.to_owned(), upper].into_iter().find_map(|variable| {
            let value = read(&variable).filter(|value| !value.trim().is_empty())?;
            let is_foreign = is_cgi && variable == "HTTP_PROXY";
            (!is_foreign).then(|| (variable, value.trim().to_owned()))
        })
    };
    let of_scheme = if is_tls { "https_proxy" } else { "http_proxy" };
    let Some((variable, url)) = read_either(of_scheme).or_else(|| read_either("all_proxy")) else {
        return Ok(None);
    };
    let exceptions = read_either("no_proxy");
    if exceptions.is_some_and(|(_, list)| is_excepted(&list, host, port)) {
        return Ok(None);
    }
    let url = match url.contains("://") {
        true => url,
        false => format!("http://{url}"),
    };
    match Proxy::parse(&url) {
        Ok(proxy) => Ok(Some(proxy)),
        Err(why) => Err(ProxyVariableError { variable, why }),
    }
}

/// Whether a host is on this machine: its traffic must not leave the machine. The system connects
/// to this machine for the unspecified address too.
fn is_this_machine(host: Host<'_>) -> bool {
    let is_unspecified =
        matches!(host, Host::Address(address) if address.to_canonical().is_unspecified());
    host.is_loopback() || is_unspecified
}

/// Whether `list` contains the host: its name, a domain above it, its address, a network that
/// contains the address, or `*`. An entry may have a port.
fn is_excepted(list: &str, host: Host<'_>, port: u16) -> bool {
    let entries = list.split(|c: char| c == ',' || c.is_whitespace());
    let mut entries = entries.filter(|entry| !entry.is_empty());
    entries.any(|entry| {
        let (name, only_port) = split_port(entry);
        only_port.is_none_or(|only| only == port) && matches_host(name, host)
    })
}

fn split_port(entry: &str) -> (&str, Option<u16>) {
    if entry.parse::<Ipv6Addr>().is_ok() {
        return (entry, None);
    }
    match entry.rsplit_once(':') {
        Some((name, port)) => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        None => (entry, None),
    }
}

fn matches_host(name: &str, host: Host<'_>) -> bool {
    if name == "*" {
        return true;
    }
    let name = bare_host(name);
    match host {
        Host::Address(address) => {
            let network = name.parse::<IpNet>();
            let network = network.or_else(|_| name.parse::<IpAddr>().map(IpNet::from));
            network.is_ok_and(|network| network.contains(&address))
        }
        Host::Name(host) => {
            let host = host.to_ascii_lowercase();
            let name = name.to_ascii_lowercase();
            let domain = name.trim_start_matches('*').trim_matches('.');
            let rest = host.strip_suffix(domain);
            !domain.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        }
    }
}

#[cfg(test)]
mod curl;
#[cfg(test)]
mod tests {
    use super::*;

    /// The proxy for a URL, as `host:port`, or the error.
    fn found(url: &str, variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        let uri: http::Uri = url.parse().expect(url);
        let is_tls = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let proxy = find(is_tls, uri.host().expect(url), port, |name| {
            let found = variables.iter().find(|(one, _)| *one == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        let proxy = proxy.map_err(|error| error.to_string())?;
        Ok(proxy.map(|proxy| format!("{}:{}", proxy.host, proxy.port)))
    }

    #[test]
    fn the_variable_of_the_scheme_names_the_proxy() {
        let check = |url: &str, variables: &[(&str, &str)], expected: Option<&str>| {
            let expected = expected.map(str::to_owned);
            assert_eq!(found(url, variables), Ok(expected), "{url} {variables:?}");
        };
        let (tls, plain) = ("https://svc.example.com", "http://svc.example.com");
        check(tls, &[], None);
        check(tls, &[("HTTPS_PROXY", "http://p:3128")], Some("p:3128"));
        check(tls, &[("https_proxy", "http://p:3128")], Some("p:3128"));
        check(tls, &[("HTTPS_PROXY", "p:3128")], Some("p:3128"));
        check(tls, &[("HTTP_PROXY", "http://p:3128")], None);
        check(plain, &[("HTTPS_PROXY", "http://p:3128")], None);
        check(plain, &[("HTTP_PROXY", "http://p:3128")], Some("p:3128"));
        check(tls, &[("ALL_PROXY", "http://p:1")], Some("p:1"));
        check(plain, &[("all_proxy", "http://p:1")], Some("p:1"));
        let cgi = [("HTTP_PROXY", "http://p"), ("REQUEST_METHOD", "GET")];
        check(plain, &cgi, None);
        let both = [("HTTPS_PROXY", "http://upper"), ("https_proxy", "lower")];
        check(tls, &both, Some("lower:80"));
        let both = [("ALL_PROXY", "http://all"), ("HTTPS_PROXY", "http://tls")];
        check(tls, &both, Some("tls:80"));
        let empty = [("https_proxy", ""), ("HTTPS_PROXY", "http://p")];
        check(tls, &empty, Some("p:80"));
    }

    #[test]
    fn a_server_on_this_machine_never_has_a_proxy() {
        // Even an invalid proxy does not matter.
        for proxy in ["http://p:3128", "socks5://p"] {
            for host in [
                "localhost",
                "LOCALHOST",
                "localhost.",
                "svc.localhost",
                "127.0.0.1",
                "127.1.2.3",
                "127.1",
                "2130706433",
                "0.0.0.0",
                "[::1]",
                "[::ffff:127.0.0.1]",
            ] {
                for scheme in ["http", "https"] {
                    let url = format!("{scheme}://{host}:12200");
                    let variables = [("ALL_PROXY", proxy), ("NO_PROXY", "")];
                    assert_eq!(found(&url, &variables), Ok(None), "{url}");
                }
            }
        }
        for other in ["localhost.example.com", "notlocalhost", "128.0.0.1"] {
            let url = format!("https://{other}");
            let proxy = found(&url, &[("HTTPS_PROXY", "http://p")]);
            assert_eq!(proxy, Ok(Some("p:80".to_owned())), "{other}");
        }
    }

    #[test]
    fn no_proxy_names_hosts_domains_addresses_and_networks() {
        let check = |list: &str, url: &str, is_direct: bool| {
            let variables = [("HTTPS_PROXY", "http://p"), ("NO_PROXY", list)];
            let proxy = found(url, &variables).expect("valid");
            assert_eq!(proxy.is_none(), is_direct, "{list} {url}");
        };
        let server = "https://svc.corp.example:12200";
        for list in [
            "*",
            "svc.corp.example",
            "corp.example",
            ".corp.example",
            "*.corp.example",
            "SVC.Corp.Example",
            "other, corp.example",
            "other corp.example",
            "svc.corp.example:12200",
        ] {
            check(list, server, true);
        }
        for list in [
            "",
            ",",
            ".",
            "orp.example",
            "svc",
            "svc.corp.example:443",
            "a.svc.corp.example",
            "10.0.0.0/8",
        ] {
            check(list, server, false);
        }
        check("10.0.0.0/8", "https://10.1.2.3", true);
        check("10.1.2.3", "https://10.1.2.3", true);
        check("10.1.2.3:443", "https://10.1.2.3", true);
        check("10.1.2.3:444", "https://10.1.2.3", false);
        check("10.1.2.4,2.3", "https://10.1.2.3", false);
        check("fd00::/8", "https://[fd00::1]", true);
        check("fd00::1", "https://[fd00::1]", true);
        check("[fd00::1]:443", "https://[fd00::1]", true);
        check("fd00::2", "https://[fd00::1]", false);
    }

    #[test]
    fn an_unusable_proxy_is_an_error_that_names_the_variable_and_no_password() {
        for proxy in [
            "socks5://ann:s3cret@p",
            "https://ann:s3cret@p",
            "http://p:x",
        ] {
            let error = found("https://svc.example.com", &[("HTTPS_PROXY", proxy)]);
            let error = error.expect_err(proxy);
            assert!(error.contains("`HTTPS_PROXY` is not"), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
            let excepted = [("HTTPS_PROXY", proxy), ("NO_PROXY", "example.com")];
            assert_eq!(found("https://svc.example.com", &excepted), Ok(None));
        }
    }
}

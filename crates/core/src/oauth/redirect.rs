//! Redirect addresses: where the browser returns to an app after the user's answer.

use thiserror::Error;

/// The maximum number of characters of a redirect URI.
pub const REDIRECT_URI_MAX: usize = 2_048;

/// Addresses of desktop apps that have a scheme of their own. No other address of these schemes is
/// allowed.
const APP_ADDRESSES: [&str; 1] = ["cursor://anysphere.cursor-mcp/oauth/callback"];

/// Names of the user's own machine. An app on this machine listens on any free port, so
/// [`RedirectUri::permits`] does not compare the ports.
///
/// Fewer than the hosts of [`crate::host::Host::is_loopback`]: the answer contains a code, so the address must
/// have one of the spellings of RFC 8252, which every browser resolves without a name server.
const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// An address of an app that browsers may be sent to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RedirectUri<'u> {
    text: &'u str,
    scheme: &'u str,
    /// As written; `[…]` for IPv6.
    host: &'u str,
    /// Path and query.
    rest: &'u str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum RedirectError {
    #[error("it is longer than {REDIRECT_URI_MAX} characters")]
    TooLong,
    #[error("it contains a character that is not allowed in an address, such as a space")]
    Character,
    #[error("it is not an address such as `https://host/path`")]
    Malformed,
    #[error("it has a fragment (`#…`)")]
    Fragment,
    #[error("it has a user name")]
    UserInfo,
    #[error("plain `http` is allowed for `localhost`, `127.0.0.1` and `[::1]` only")]
    PlainHttp,
    #[error("its scheme is not allowed; use `https`, or `http` with a loopback address")]
    Scheme,
}

impl<'u> RedirectUri<'u> {
    pub fn parse(text: &'u str) -> Result<Self, RedirectError> {
        if text.len() > REDIRECT_URI_MAX {
            return Err(RedirectError::TooLong);
        }
        let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&byte);
        if !text.bytes().all(is_allowed) {
            return Err(RedirectError::Character);
        }
        if text.contains('#') {
            return Err(RedirectError::Fragment);
        }
        let (scheme, after) = text.split_once("://").ok_or(RedirectError::Malformed)?;
        let end = after.find(['/', '?']).unwrap_or(after.len());
        let (authority, rest) = after.split_at(end);
        if authority.contains('@') {
            return Err(RedirectError::UserInfo);
        }
        let host = split_host(authority).ok_or(RedirectError::Malformed)?;
        let uri = Self {
            text,
            scheme,
            host,
            rest,
        };
        match scheme {
            "https" => Ok(uri),
            "http" if uri.is_loopback() => Ok(uri),
            "http" => Err(RedirectError::PlainHttp),
            _ if APP_ADDRESSES.contains(&text) => Ok(uri),
            _ => Err(RedirectError::Scheme),
        }
    }

    /// Whether an app that listed this address may receive its answer at `other`. The texts must be
    /// equal, except for the port of a loopback address.
    pub fn permits(&self, other: &Self) -> bool {
        self.text == other.text
            || (self.is_loopback()
                && other.is_loopback()
                && self.host == other.host
                && self.rest == other.rest)
    }

    /// Whether the address leads to a program on the browser's own machine.
    pub fn is_loopback(&self) -> bool {
        self.scheme == "http" && LOOPBACK_HOSTS.contains(&self.host)
    }

    /// The part of the address that users see: the host, or the scheme of a desktop app.
    pub fn shown_host(&self) -> &'u str {
        match self.scheme {
            "https" | "http" => self.host,
            scheme => scheme,
        }
    }

    /// This address with `query` added to its query.
    pub fn with_query(&self, query: &str) -> String {
        let separator = if self.rest.contains('?') { '&' } else { '?' };
        format!("{}{separator}{query}", self.text)
    }
}

/// The host of `host[:port]`; `None` if it is malformed.
fn split_host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let length = inner.find(']')? + 2;
            (&authority[..length], &authority[length..])
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let port_is_fine = match port.strip_prefix(':') {
        Some(port) => port.bytes().all(|byte| byte.is_ascii_digit()) && is_port(port),
        None => port.is_empty(),
    };
    (!host.is_empty() && port_is_fine).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;

    #[test]
    fn plain_http_is_for_three_spellings_of_this_machine_only() {
        for host in LOOPBACK_HOSTS {
            assert!(Host::parse(host).is_some_and(Host::is_loopback), "{host}");
            assert!(RedirectUri::parse(&format!("http://{host}/cb")).is_ok());
        }
        for host in [
            "app.localhost",
            "LOCALHOST",
            "localhost.",
            "127.1",
            "127.0.0.2",
        ] {
            let address = format!("http://{host}/cb");
            let refused = RedirectUri::parse(&address);
            assert_eq!(refused, Err(RedirectError::PlainHttp), "{host}");
        }
    }

    fn permits(listed: &str, presented: &str) -> bool {
        let listed = RedirectUri::parse(listed).expect(listed);
        RedirectUri::parse(presented).is_ok_and(|presented| listed.permits(&presented))
    }

    #[test]
    fn only_the_listed_address_is_answered() {
        let listed = "https://app.example/callback";
        assert!(permits(listed, listed));
        for other in [
            "https://app.example/callback/",
            "https://app.example/callback?x=1",
            "https://app.example/other",
            "https://app.example:443/callback",
            "https://App.example/callback",
            "https://app.example/%63allback",
            "https://app.example.evil.test/callback",
            "https://app.example@evil.test/callback",
            "http://app.example/callback",
        ] {
            assert!(!permits(listed, other), "{other}");
        }
    }

    #[test]
    fn the_port_of_a_loopback_address_is_not_compared() {
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            let listed = format!("http://{host}/callback");
            for port in ["", ":1", ":51234"] {
                assert!(permits(&listed, &format!("http://{host}{port}/callback")));
            }
            for other in [
                format!("http://{host}:51234/other"),
                format!("https://{host}:51234/callback"),
                format!("http://{host}:0/callback"),
                format!("http://{host}:99999/callback"),
                format!("http://{host}:+80/callback"),
                format!("http://{host}.evil.test/callback"),
                format!("http://{host}@evil.test/callback"),
                format!("http://{host}:80@evil.test/callback"),
                format!("http://{host}:51234/callback#x"),
            ] {
                assert!(!permits(&listed, &other), "{other}");
            }
        }
        assert!(!permits("http://127.0.0.1/cb", "http://localhost/cb"));
        assert!(!permits("http://127.0.0.1/cb", "http://[::1]/cb"));
    }

    #[test]
    fn addresses_that_browsers_must_not_be_sent_to_are_refused() {
        for (text, error) in [
            ("javascript:alert(1)", RedirectError::Malformed),
            ("javascript://x/%0aalert(1)", RedirectError::Scheme),
            ("data:text/html,x", RedirectError::Malformed),
            ("myapp://callback", RedirectError::Scheme),
            ("cursor://other/oauth/callback", RedirectError::Scheme),
            ("http://app.example/cb", RedirectError::PlainHttp),
            ("http://127.0.0.1.evil.test/cb", RedirectError::PlainHttp),
            ("https://app.example/cb#x", RedirectError::Fragment),
            ("https://user@app.example/cb", RedirectError::UserInfo),
            ("https://app.example/a b", RedirectError::Character),
            ("https://app.example\\@evil.test/", RedirectError::Character),
            ("https://äpp.example/", RedirectError::Character),
            ("https:///cb", RedirectError::Malformed),
            ("/cb", RedirectError::Malformed),
            ("", RedirectError::Malformed),
        ] {
            assert_eq!(RedirectUri::parse(text), Err(error), "{text}");
        }
        let long = |length: usize| format!("https://a/{}", "x".repeat(length - 10));
        assert!(RedirectUri::parse(&long(2_048)).is_ok());
        assert_eq!(
            RedirectUri::parse(&long(2_049)),
            Err(RedirectError::TooLong)
        );
        let cursor = RedirectUri::parse(APP_ADDRESSES[0]).expect("listed");
        assert_eq!(cursor.shown_host(), "cursor");
        assert_eq!(cursor.with_query("a=1"), format!("{}?a=1", cursor.text));
    }

    #[test]
    fn the_answer_is_added_to_the_query_and_users_see_the_host() {
        for (text, host, answered) in [
            (
                "https://app.example/cb",
                "app.example",
                "https://app.example/cb?a=1",
            ),
            (
                "https://app.example:8443",
                "app.example",
                "https://app.example:8443?a=1",
            ),
            (
                "https://app.example/cb?x=2",
                "app.example",
                "https://app.example/cb?x=2&a=1",
            ),
            ("http://[::1]:80/cb", "[::1]", "http://[::1]:80/cb?a=1"),
        ] {
            let uri = RedirectUri::parse(text).expect(text);
            assert_eq!(uri.shown_host(), host, "{text}");
            assert_eq!(uri.with_query("a=1"), answered, "{text}");
        }
    }
}

//! HTTP proxies: tunnels through a proxy (CONNECT), and the environment variables that name a
//! proxy.
//!
//! A tunnel is used for `http` addresses too: an upgrade, such as the link of an agent, does not
//! work through a proxy that forwards requests.

mod environment;

use std::io;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Uri;
use percent_encoding::percent_decode_str;
use svc_protocol::http_answer::{AnswerCheck, RequestKind};
use thiserror::Error;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

pub(crate) use environment::{ProxyVariableError, find};

use crate::transport::bare_host;

/// If the head of the proxy's answer to CONNECT has more bytes than this, the tunnel fails.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// Does not contain the address, which may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("is not the address of a proxy: {0}; write it like `http://proxy.example.org:3128`")]
pub struct ProxyUrlError(&'static str);

/// An HTTP proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// The value of `Proxy-Authorization`.
    pub authorization: Option<String>,
}

impl Proxy {
    /// Parses `http://[user:password@]host[:port]`.
    pub fn parse(url: &str) -> Result<Self, ProxyUrlError> {
        let refuse = ProxyUrlError;
        let uri: Uri = url.parse().map_err(|_| refuse("it is not a URL"))?;
        if uri.scheme_str() != Some("http") {
            return Err(refuse("it must begin with `http://`"));
        }
        if uri.path() != "/" || uri.query().is_some() || url.contains('#') {
            return Err(refuse("it has a path, a query or a fragment"));
        }
        let authority = uri.authority().ok_or(refuse("it names no host"))?;
        let (user, location) = match authority.as_str().rsplit_once('@') {
            Some((user, location)) => (Some(user), location),
            None => (None, authority.as_str()),
        };
        let host = authority.host();
        if host.is_empty() || host == "[]" {
            return Err(refuse("it names no host"));
        }
        let port = match location.strip_prefix(host) {
            Some("") => 80,
            _ => authority
                .port_u16()
                .filter(|port| *port > 0)
                .ok_or(refuse("its port is not valid"))?,
        };
        let user = user
            .map(|user| decode(user).ok_or(refuse("its user or password is not valid")))
            .transpose()?;
        Ok(Self {
            host: bare_host(host).to_owned(),
            port,
            authorization: user.map(|user| format!("Basic {}", STANDARD.encode(user))),
        })
    }

    /// Connects to the proxy, and asks it for a tunnel to `target` (`host:port`). The errors name
    /// the proxy.
    pub(crate) async fn connect(&self, target: &str) -> io::Result<TcpStream> {
        let (host, port) = (&*self.host, self.port);
        let stream = TcpStream::connect((host, port)).await.map_err(|error| {
            let text = format!("cannot connect to the proxy `{host}`, port {port}: {error}");
            io::Error::new(error.kind(), text)
        })?;
        let tunnel = self.tunnel(stream, target).await;
        tunnel.map_err(|why| {
            let text = format!("no tunnel through the proxy `{host}`, port {port}: {why}");
            io::Error::other(text)
        })
    }

    /// Asks the proxy for a tunnel to `target` (`host:port`).
    pub async fn tunnel(&self, mut stream: TcpStream, target: &str) -> Result<TcpStream, String> {
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        if let Some(authorization) = &self.authorization {
            request += &format!("Proxy-Authorization: {authorization}\r\n");
        }
        request += "\r\n";
        let broken = |error: io::Error| format!("the connection to the proxy broke: {error}");
        stream.write_all(request.as_bytes()).await.map_err(broken)?;
        let mut answer = Vec::new();
        let mut check = AnswerCheck::new(RequestKind::Connect);
        let end = loop {
            if let Some(end) = find_end(&answer) {
                break end;
            }
            if answer.len() > ANSWER_BYTES_MAX {
                return Err("the head of the proxy's answer is too large".to_owned());
            }
            let before = answer.len();
            if stream.read_buf(&mut answer).await.map_err(broken)? == 0 {
                return Err("the proxy closed the connection before it answered".to_owned());
            }
            // The body of a refusal is not read.
            let end = find_end(&answer).unwrap_or(answer.len());
            check.check(&answer[before..end]).map_err(|refused| {
                format!(
                    "the proxy's answer is not valid HTTP/1.1: {}",
                    refused.error
                )
            })?;
        };
        let status = status_of(&answer).ok_or("the proxy's answer has no status")?;
        if !(200..300).contains(&status) {
            return Err(format!("the proxy answered {status}"));
        }
        // The other end cannot have sent bytes yet: in HTTP and TLS, the client sends first.
        if answer.len() > end {
            return Err("the proxy sent bytes after its answer".to_owned());
        }
        Ok(stream)
    }
}

/// The end of the head.
fn find_end(answer: &[u8]) -> Option<usize> {
    let at = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(at + 4)
}

fn status_of(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    words
        .next()
        .filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok()
}

/// Decodes percent encoding. `None` if two hex digits do not follow each percent sign.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut escapes = text.split('%').skip(1).map(str::as_bytes);
    let is_valid = escapes.all(|escape| {
        let digits = escape.get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    is_valid.then(|| percent_decode_str(text).collect())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn a_proxy_url_has_a_host_and_an_optional_port_and_user() {
        let check = |url: &str, host: &str, port: u16, authorization: Option<&str>| {
            let proxy = Proxy::parse(url).expect(url);
            assert_eq!((&*proxy.host, proxy.port), (host, port), "{url}");
            assert_eq!(proxy.authorization.as_deref(), authorization, "{url}");
        };
        check("http://proxy", "proxy", 80, None);
        check("http://10.0.0.1:3128/", "10.0.0.1", 3128, None);
        check("http://[::1]:3128", "::1", 3128, None);
        // `user:p@ss` in base64.
        check(
            "http://user:p%40ss@proxy:1",
            "proxy",
            1,
            Some("Basic dXNlcjpwQHNz"),
        );
        for bad in [
            "",
            "proxy:3128",
            "https://proxy",
            "socks5://proxy",
            "http://",
            "http://proxy:0",
            "http://proxy:x",
            "http://proxy/path",
            "http://proxy?x",
            "http://s3cret%4@proxy",
            "http://s3cret%+5@proxy",
            "http://s3cret%%41@proxy",
        ] {
            let error = Proxy::parse(bad).map(drop).expect_err(bad).to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    /// The result of a tunnel through a proxy that sends these bytes and keeps the connection open.
    async fn tunnel_with(answer: &'static [u8]) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let proxy = Proxy::parse(&format!("http://{address}")).expect("a proxy");
        let serving = async {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            stream.write_all(answer).await.expect("written");
            stream
        };
        let asking = async {
            let stream = TcpStream::connect(address).await.expect("connected");
            proxy.tunnel(stream, "svc.example:80").await.map(drop)
        };
        tokio::join!(serving, asking).1
    }

    #[tokio::test]
    async fn an_ambiguous_answer_of_a_proxy_is_refused() {
        for good in [
            &b"HTTP/1.1 200 OK\r\n\r\n"[..],
            b"HTTP/1.0 200 Connection established\r\nX: y\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert_eq!(tunnel_with(good).await, Ok(()));
        }
        for (bad, why) in [
            (&b"HTTP/1.1 200 OK\n\n"[..], "a line ends with LF alone"),
            (
                b"HTTP/1.1 200 OK\r\nX: y\n\r\n",
                "a line ends with LF alone",
            ),
            (b"HTTP/1.1 200 OK\r\nX: y\rZ: z\r\n\r\n", "contains CR"),
            (
                b"HTTP/1.1 200 OK\r\n X: y\r\n\r\n",
                "continues on the next line",
            ),
            (
                b"HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
                "white space before its colon",
            ),
            (b"SSH-2.0-OpenSSH\r\n", "a status line"),
        ] {
            let error = tunnel_with(bad).await.expect_err(why);
            assert!(error.contains("not valid HTTP/1.1"), "{error}");
            assert!(error.contains(why), "{error}");
        }
        let refused = tunnel_with(b"HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n").await;
        assert_eq!(refused, Err("the proxy answered 407".to_owned()));
    }
}

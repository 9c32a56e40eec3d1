//! Compares the choice of the proxy with curl's. Both clients connect to real listeners: one is the
//! server, two are proxies.

use std::{env, process::Stdio};

use svc_testkit::{found_or_skipped, require};
use tokio::{net::TcpListener, process::Command};

use Asked::{NoOne, ProxyA, ProxyB, Server};

/// Where the first connection of a client arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    Server,
    ProxyA,
    ProxyB,
    NoOne,
}

enum Curl {
    Same,
    /// The difference is on purpose, for this reason.
    Differs(Asked, &'static str),
    /// The versions of curl differ.
    Varies,
}

const PLAIN: &str = "http://svc.corp.example";
const TLS: &str = "https://svc.corp.example";
const A: &str = "http://{a}";
const B: &str = "http://{b}";

/// Environment variables, a URL, where our client connects, and where curl connects. In the values,
/// `{a}` and `{b}` are the addresses of the proxies.
type Case = (Variables, &'static str, Asked, Curl);
type Variables = &'static [(&'static str, &'static str)];

#[rustfmt::skip]
const VARIABLES: &[Case] = &[
    (&[], PLAIN, Server, Curl::Same),
    (&[], TLS, Server, Curl::Same),
    (&[("http_proxy", A)], PLAIN, ProxyA, Curl::Same),
    (&[("http_proxy", A)], TLS, Server, Curl::Same),
    (&[("http_proxy", "{a}")], PLAIN, ProxyA, Curl::Same),
    (&[("http_proxy", "http://ann:s3cret@{a}")], PLAIN, ProxyA, Curl::Same),
    (&[("HTTP_PROXY", A)], PLAIN, ProxyA, Curl::Differs(Server,
        "curl ignores `HTTP_PROXY`, because a CGI program gets it from a request; ours ignores it in CGI programs only")),
    (&[("HTTP_PROXY", A), ("REQUEST_METHOD", "GET")], PLAIN, Server, Curl::Same),
    (&[("http_proxy", A), ("REQUEST_METHOD", "GET")], PLAIN, ProxyA, Curl::Same),
    (&[("https_proxy", A)], TLS, ProxyA, Curl::Same),
    (&[("HTTPS_PROXY", A)], TLS, ProxyA, Curl::Same),
    (&[("HTTPS_PROXY", A)], PLAIN, Server, Curl::Same),
    (&[("https_proxy", A), ("HTTPS_PROXY", B)], TLS, ProxyA, Curl::Same),
    (&[("https_proxy", ""), ("HTTPS_PROXY", B)], TLS, ProxyB, Curl::Same),
    (&[("all_proxy", A)], PLAIN, ProxyA, Curl::Same),
    (&[("ALL_PROXY", A)], TLS, ProxyA, Curl::Same),
    (&[("all_proxy", A), ("ALL_PROXY", B)], PLAIN, ProxyA, Curl::Same),
    (&[("all_proxy", A), ("HTTPS_PROXY", B)], TLS, ProxyB, Curl::Same),
    (&[("ALL_PROXY", A), ("https_proxy", B)], PLAIN, ProxyA, Curl::Same),
    (&[("all_proxy", "socks5://{a}")], PLAIN, NoOne, Curl::Differs(ProxyA,
        "ours supports HTTP proxies only, and refuses others with an error")),
    (&[("all_proxy", A), ("no_proxy", "corp.example")], PLAIN, Server, Curl::Same),
    (&[("all_proxy", A), ("NO_PROXY", "corp.example")], PLAIN, Server, Curl::Same),
    (&[("all_proxy", A), ("no_proxy", "other"), ("NO_PROXY", "corp.example")], PLAIN, ProxyA, Curl::Same),
    (&[("all_proxy", A), ("no_proxy", ""), ("NO_PROXY", "corp.example")], PLAIN, Server, Curl::Same),
];

const PORTS: &str = "curl knows no ports in NO_PROXY; ours follows Go and Python";
const ANY: &str = "curl knows `*` only as the whole list; ours also in a list and as the first label, as lists for other programs have it";
const DOTS: &str = "curl removes one dot at the start; ours all";
const FORMS: &str = "curl compares the text of an address; ours compares the address";
const LOCAL: &str = "traffic to this machine must not leave it";

/// The value of `NO_PROXY`, a URL, and where the clients connect if proxy A is for all servers.
#[rustfmt::skip]
const EXCEPTIONS: &[(&str, &str, Asked, Curl)] = &[
    ("", PLAIN, ProxyA, Curl::Same),
    (",", PLAIN, ProxyA, Curl::Same),
    (".", PLAIN, ProxyA, Curl::Same),
    ("*", PLAIN, Server, Curl::Same),
    ("other,*", PLAIN, Server, Curl::Differs(ProxyA, ANY)),
    // Names.
    ("svc.corp.example", PLAIN, Server, Curl::Same),
    ("corp.example", PLAIN, Server, Curl::Same),
    ("corp.example", TLS, Server, Curl::Same),
    ("corp.example", "http://corp.example", Server, Curl::Same),
    ("corp.example", "http://corp.example.", Server, Curl::Same),
    ("corp.example", "http://SVC.CORP.EXAMPLE", Server, Curl::Same),
    ("corp.example", "http://xcorp.example", ProxyA, Curl::Same),
    ("corp.example", "http://corp.example.org", ProxyA, Curl::Same),
    ("corp.example.", PLAIN, Server, Curl::Same),
    (".corp.example", PLAIN, Server, Curl::Same),
    (".corp.example", "http://corp.example", Server, Curl::Same),
    ("..corp.example", PLAIN, Server, Curl::Differs(ProxyA, DOTS)),
    ("*.corp.example", PLAIN, Server, Curl::Differs(ProxyA, ANY)),
    ("SVC.Corp.Example", PLAIN, Server, Curl::Same),
    ("example", PLAIN, Server, Curl::Same),
    ("orp.example", PLAIN, ProxyA, Curl::Same),
    ("svc", PLAIN, ProxyA, Curl::Same),
    ("a.svc.corp.example", PLAIN, ProxyA, Curl::Same),
    ("10.0.0.0/8", PLAIN, ProxyA, Curl::Same),
    // Lists.
    ("other,corp.example", PLAIN, Server, Curl::Same),
    ("other, corp.example", PLAIN, Server, Curl::Same),
    ("other corp.example", PLAIN, Server, Curl::Same),
    ("other\tcorp.example", PLAIN, Server, Curl::Same),
    (" corp.example ", PLAIN, Server, Curl::Same),
    // Ports.
    ("svc.corp.example:80", PLAIN, Server, Curl::Differs(ProxyA, PORTS)),
    ("svc.corp.example:443", PLAIN, ProxyA, Curl::Same),
    ("svc.corp.example:8080", "http://svc.corp.example:8080", Server, Curl::Differs(ProxyA, PORTS)),
    ("corp.example", "http://svc.corp.example:8080", Server, Curl::Same),
    ("10.1.2.3:80", "http://10.1.2.3", Server, Curl::Differs(ProxyA, PORTS)),
    ("10.1.2.3:443", "http://10.1.2.3", ProxyA, Curl::Same),
    ("[fd00::1]:80", "http://[fd00::1]", Server, Curl::Differs(ProxyA, PORTS)),
    ("[fd00::1]:443", "http://[fd00::1]", ProxyA, Curl::Same),
    // Addresses and networks.
    ("10.1.2.3", "http://10.1.2.3", Server, Curl::Same),
    ("10.0.0.0/8", "http://10.1.2.3", Server, Curl::Same),
    ("10.1.0.0/16", "http://10.1.2.3", Server, Curl::Same),
    ("10.1.2.3/8", "http://10.200.2.3", Server, Curl::Same),
    ("10.1.2.3/32", "http://10.1.2.3", Server, Curl::Same),
    ("10.2.0.0/15", "http://10.1.2.3", ProxyA, Curl::Same),
    ("10.0.0.0/33", "http://10.1.2.3", ProxyA, Curl::Same),
    ("0.0.0.0/0", "http://10.1.2.3", Server, Curl::Varies),
    ("10.1.2", "http://10.1.2.3", ProxyA, Curl::Same),
    ("2.3", "http://10.1.2.3", ProxyA, Curl::Same),
    (".3", "http://10.1.2.3", ProxyA, Curl::Same),
    ("fd00::/8", "http://10.1.2.3", ProxyA, Curl::Same),
    ("10.0.0.0/8", "http://10.66051", Server, Curl::Same),
    ("10.0.0.0/8", "http://0xa.1.2.3", Server, Curl::Same),
    ("10.0.0.0/8", "http://10.1.2.3.", Server, Curl::Differs(ProxyA, FORMS)),
    ("fd00::1", "http://[fd00::1]", Server, Curl::Same),
    ("FD00::1", "http://[fd00::1]", Server, Curl::Same),
    ("fd00:0::1", "http://[fd00::1]", Server, Curl::Varies),
    ("[fd00::1]", "http://[fd00::1]", Server, Curl::Differs(ProxyA, FORMS)),
    ("fd00::2", "http://[fd00::1]", ProxyA, Curl::Same),
    ("fd00::/8", "http://[fd00::1]", Server, Curl::Varies),
    ("fd00::/64", "http://[fd01::1]", ProxyA, Curl::Same),
    ("10.0.0.0/8", "http://[fd00::1]", ProxyA, Curl::Same),
    ("10.0.0.0/8", "http://[::ffff:10.1.2.3]", ProxyA, Curl::Same),
    // This machine.
    ("other", "http://localhost", Server, Curl::Differs(ProxyA, LOCAL)),
    ("other", "http://svc.localhost.", Server, Curl::Differs(ProxyA, LOCAL)),
    ("other", "http://127.0.0.1", Server, Curl::Differs(ProxyA, LOCAL)),
    ("other", "http://127.1", Server, Curl::Differs(ProxyA, LOCAL)),
    ("other", "http://[::1]", Server, Curl::Differs(ProxyA, LOCAL)),
    ("other", "http://0.0.0.0", Server, Curl::Differs(ProxyA, LOCAL)),
    ("127.0.0.0/8", "http://127.0.0.1", Server, Curl::Same),
    ("localhost", "http://localhost", Server, Curl::Same),
];

#[tokio::test]
async fn the_variables_that_name_a_proxy_are_those_of_curl() {
    for (environment, url, ours, curl) in VARIABLES {
        compare(environment, url, *ours, curl).await;
    }
}

#[tokio::test]
async fn the_exceptions_are_those_of_curl() {
    for (list, url, ours, curl) in EXCEPTIONS {
        let environment = [("all_proxy", A), ("no_proxy", *list)];
        compare(&environment, url, *ours, curl).await;
    }
}

/// Fails unless both clients connect where the table says.
async fn compare(environment: &[(&str, &str)], url: &str, ours: Asked, curl: &Curl) {
    let shown = format!("{url} with {environment:?}");
    let found = Listeners::start()
        .await
        .ask_with_ours(environment, url)
        .await;
    assert_eq!(found, ours, "ours asks another for {shown}");
    let (expected, reason) = match curl {
        Curl::Same => (ours, "no difference is known"),
        Curl::Differs(expected, reason) => (*expected, *reason),
        Curl::Varies => return,
    };
    let curl = found_or_skipped(find_curl(), "SVC_REQUIRE_JUDGES", "curl is missing");
    if curl.is_some() {
        let found = Listeners::start()
            .await
            .ask_with_curl(environment, url)
            .await;
        assert_eq!(found, expected, "curl asks another for {shown}: {reason}");
    }
}

/// Fails if no curl is installed whose `NO_PROXY` has networks and lists with spaces.
fn find_curl() -> Result<(), String> {
    require("curl")?;
    let output = std::process::Command::new("curl").arg("--version").output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split(' ').nth(1).unwrap_or_default();
    let mut numbers = version
        .split('.')
        .map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match version >= (7, 86) {
        true => Ok(()),
        false => Err(format!("`curl` has version {version:?}; it needs 7.86")),
    }
}

/// The server and the proxies of one request. They accept connections and never answer.
struct Listeners {
    server: TcpListener,
    a: TcpListener,
    b: TcpListener,
}

impl Listeners {
    async fn start() -> Self {
        let bind = || async { TcpListener::bind("127.0.0.1:0").await.expect("bound") };
        Self {
            server: bind().await,
            a: bind().await,
            b: bind().await,
        }
    }

    /// Runs a client until it connects or ends.
    async fn first_asked(&self, client: impl Future<Output = ()>) -> Asked {
        let accepting = async {
            tokio::select! {
                accepted = self.server.accept() => (Server, accepted),
                accepted = self.a.accept() => (ProxyA, accepted),
                accepted = self.b.accept() => (ProxyB, accepted),
            }
        };
        tokio::select! {
            biased;
            (asked, accepted) = accepting => {
                accepted.expect("a connection");
                asked
            }
            () = client => NoOne,
        }
    }

    fn fill(&self, value: &str) -> String {
        let address =
            |listener: &TcpListener| listener.local_addr().expect("an address").to_string();
        let value = value.replace("{a}", &address(&self.a));
        value.replace("{b}", &address(&self.b))
    }

    /// Where our client connects. Without a proxy it would connect to the server in the URL, which
    /// does not exist.
    async fn ask_with_ours(&self, environment: &[(&str, &str)], url: &str) -> Asked {
        let uri: http::Uri = url.parse().expect(url);
        let is_tls = uri.scheme_str() == Some("https");
        let (host, port) = (uri.host().expect(url), uri.port_u16());
        let port = port.unwrap_or(if is_tls { 443 } else { 80 });
        let proxy = super::find(is_tls, host, port, |name| {
            let set = environment.iter().find(|(one, _)| *one == name);
            set.map(|(_, value)| self.fill(value))
        });
        match proxy {
            Ok(Some(proxy)) => {
                let target = format!("{host}:{port}");
                self.first_asked(async { drop(proxy.connect(&target).await) })
                    .await
            }
            Ok(None) => Server,
            Err(_) => NoOne,
        }
    }

    /// Where curl connects. Instead of the server in the URL it uses the server of this test.
    async fn ask_with_curl(&self, environment: &[(&str, &str)], url: &str) -> Asked {
        let server = self.server.local_addr().expect("an address");
        let mut command = Command::new("curl");
        command
            .args(["--disable", "--silent", "--globoff", "--max-time", "60"])
            .args(["--connect-to", &format!("::{server}"), url])
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true);
        for (name, value) in environment {
            command.env(name, self.fill(value));
        }
        let mut curl = command.spawn().expect("curl starts");
        self.first_asked(async { drop(curl.wait().await) }).await
    }
}

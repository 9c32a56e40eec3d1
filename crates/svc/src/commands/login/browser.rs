//! Login in a browser: the server sends the browser back to a port of this machine, with a code.

use std::{
    collections::VecDeque,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use svc_client::Client;
use svc_crypto::sha256;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
    time::timeout,
};

use super::oauth::{CLIENT_ID, Metadata, NewToken, post_form};
use crate::{
    exit::{Failure, OrFail},
    runtime::random_bytes,
};

/// The user must log in within this time.
const LOGIN_TIME: Duration = Duration::from_secs(5 * 60);
/// The maximum bytes and time of a request to the port.
const REQUEST_BYTES_MAX: usize = 16 * 1024;
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// The maximum number of open connections to the port. Other users of the machine can connect too,
/// so a further connection closes the oldest one.
const CONNECTIONS_MAX: usize = 64;

/// Logs in with a browser. The token gets the name `cli@<machine>`.
pub async fn log_in(
    client: &Client,
    server: &Metadata,
    machine: &str,
) -> Result<NewToken, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| {
        Failure::failed("cannot open a port for the answer of the browser")
            .why(error)
            .hint("svc login --device needs no port")
    })?;
    let address = listener.local_addr();
    let port = address
        .or_fail("cannot determine the port for the answer of the browser")?
        .port();
    let redirect_uri = format!("http://127.0.0.1:{port}/callback");
    let (verifier, state) = (random_text()?, random_text()?);
    let challenge = URL_SAFE_NO_PAD.encode(sha256(&verifier));
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("response_type", "code"),
            ("client_id", CLIENT_ID),
            ("redirect_uri", &redirect_uri),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("state", &state),
        ])
        .finish();
    let address = format!("{}/authorize?{query}", server.issuer);
    eprintln!("log in with your browser:\n\n  {address}\n");
    open_browser(&address);
    let expected = Expected {
        host: format!("127.0.0.1:{port}"),
        state,
        issuer: server.issuer.clone(),
    };
    let waiting = timeout(LOGIN_TIME, expected.wait(&listener));
    let code = waiting.await.map_err(|_| {
        let minutes = LOGIN_TIME.as_secs() / 60;
        Failure::credentials(format!("no login within {minutes} minutes"))
            .hint("svc login --device shows a code for a browser on another machine")
    })??;
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", CLIENT_ID),
        ("code", &code),
        ("code_verifier", &verifier),
        ("redirect_uri", &redirect_uri),
        ("machine", machine),
    ];
    Ok(post_form(client, "/token", &fields).await??)
}

/// What the answer of the browser must contain.
struct Expected {
    host: String,
    state: String,
    issuer: String,
}

impl Expected {
    /// Answers requests until one of them contains the code or a refusal. Other requests, for
    /// example for an icon or from a page of another site, get 404 and change nothing.
    async fn wait(self, listener: &TcpListener) -> Result<String, Failure> {
        let expected = Arc::new(self);
        let mut connections = JoinSet::new();
        let mut by_age: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    if by_age.len() == CONNECTIONS_MAX
                        && let Some(oldest) = by_age.pop_front()
                    {
                        oldest.abort();
                    }
                    let expected = Arc::clone(&expected);
                    let serving = async move { expected.serve(stream).await };
                    by_age.push_back(connections.spawn(serving));
                }
                Some(served) = connections.join_next() => {
                    if let Ok(Some(answer)) = served {
                        return answer;
                    }
                    by_age.retain(|connection| !connection.is_finished());
                }
            }
        }
    }

    /// Answers one request. Returns the code or the refusal, if the request has one.
    async fn serve(&self, mut stream: TcpStream) -> Option<Result<String, Failure>> {
        let reading = timeout(REQUEST_TIME, read_head(&mut stream));
        let head = reading.await.ok().flatten()?;
        let answer = self.read(&head);
        let (status, text) = match &answer {
            None => ("404 Not Found", "Not found."),
            Some(Ok(_)) => ("200 OK", "You are logged in. You can close this page."),
            Some(Err(_)) => ("200 OK", "The login was declined. You can close this page."),
        };
        respond(&mut stream, status, text).await;
        answer
    }

    /// The code or the refusal in a request; `None` if the request is not the answer.
    fn read(&self, head: &str) -> Option<Result<String, Failure>> {
        let mut lines = head.split("\r\n");
        let target = lines.next()?.strip_prefix("GET ")?.split(' ').next()?;
        let host = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim())
        })?;
        let query = target.strip_prefix("/callback?")?;
        let fields: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
        let get = |name: &str| {
            let mut found = fields.iter().filter(|(field, _)| field == name);
            let first = found.next()?;
            found.next().is_none().then(|| first.1.to_string())
        };
        let is_ours = host == self.host
            && get("state").as_deref() == Some(&self.state)
            && get("iss").as_deref() == Some(&self.issuer);
        if !is_ours {
            return None;
        }
        if let Some(code) = get("code") {
            return Some(Ok(code));
        }
        let error = get("error")?;
        let text = match error.as_str() {
            "access_denied" => "you declined the login".to_owned(),
            other => format!("the server refused the login: {other}"),
        };
        Some(Err(Failure::credentials(text)))
    }
}

/// The head of a request; `None` if it is incomplete, too long or not text.
async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while head.len() < REQUEST_BYTES_MAX {
        let count = stream.read(&mut piece).await.ok()?;
        head.extend_from_slice(piece.get(..count)?);
        if head.windows(4).any(|window| window == b"\r\n\r\n") {
            return String::from_utf8(head).ok();
        }
        if count == 0 {
            return None;
        }
    }
    None
}

async fn respond(stream: &mut TcpStream, status: &str, text: &str) {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\"><title>svc</title><p>{text}</p></html>\n"
    );
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // The browser may have closed the connection. That is not an error.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Opens the browser if there is one. If there is none, users open the printed address themselves.
fn open_browser(address: &str) {
    let chosen = std::env::var_os("BROWSER");
    let programs = chosen.into_iter().chain(["xdg-open".into(), "open".into()]);
    for program in programs {
        let started = Command::new(&program)
            .arg(address)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if started.is_ok() {
            return;
        }
    }
}

fn random_text() -> Result<String, Failure> {
    random_bytes::<32>().map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(port: u16) -> Expected {
        Expected {
            host: format!("127.0.0.1:{port}"),
            state: "s".to_owned(),
            issuer: "http://127.0.0.1:12200".to_owned(),
        }
    }

    #[tokio::test]
    async fn silent_connections_do_not_delay_the_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let waiting = tokio::spawn(async move { expected(address.port()).wait(&listener).await });
        let mut silent = Vec::new();
        for _ in 0..2 * CONNECTIONS_MAX {
            silent.push(TcpStream::connect(address).await.expect("connects"));
        }
        let mut browser = TcpStream::connect(address).await.expect("connects");
        let request = format!(
            "GET /callback?code=c&state=s&iss=http%3A%2F%2F127.0.0.1%3A12200 HTTP/1.1\r\nHost: {address}\r\n\r\n"
        );
        browser.write_all(request.as_bytes()).await.expect("writes");
        // One after the other, the silent connections would take ten minutes.
        let code = timeout(10 * REQUEST_TIME, waiting).await.expect("soon");
        assert_eq!(code.expect("no panic").expect("a code"), "c");
    }

    #[test]
    fn only_the_answer_to_this_login_is_accepted() {
        let expected = expected(4000);
        let read = |target: &str, host: &str| {
            expected.read(&format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
        };
        let iss = "iss=http%3A%2F%2F127.0.0.1%3A12200";
        let good = format!("/callback?code=c&state=s&{iss}");
        let code = read(&good, "127.0.0.1:4000").expect("the answer");
        assert_eq!(code.expect("a code"), "c");
        let denied = format!("/callback?error=access_denied&state=s&{iss}");
        let denied = read(&denied, "127.0.0.1:4000").expect("the answer");
        assert!(denied.is_err());
        for (target, host) in [
            (good.as_str(), "evil.example:4000"),
            ("/favicon.ico", "127.0.0.1:4000"),
            (&good.replace("state=s", "state=x"), "127.0.0.1:4000"),
            (
                &good.replace("state=s", "state=s&state=s"),
                "127.0.0.1:4000",
            ),
            (&good.replace("12200", "1"), "127.0.0.1:4000"),
            (&good.replace("code=c&", ""), "127.0.0.1:4000"),
            (&good.replace("/callback", "/other"), "127.0.0.1:4000"),
        ] {
            assert!(read(target, host).is_none(), "{target} {host}");
        }
    }
}

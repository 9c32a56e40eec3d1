//! A server behind a proxy: which addresses may set `X-Forwarded-*`, and the effects of these
//! headers.

use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::{ADMIN_PASSWORD, Answer, TestServer};

/// How long the server refuses logins after the second failure of an address.
const WAIT: Duration = Duration::from_secs(1);

async fn login(server: &TestServer, password: &str, headers: &[(&str, &str)]) -> Answer {
    let body = json!({"username": "admin", "password": password}).to_string();
    let mut all = vec![("content-type", "application/json")];
    all.extend(headers);
    let http = server.http();
    http.request("POST", "/api/auth/login", &all, body).await
}

#[tokio::test]
async fn failed_logins_are_counted_for_the_address_that_a_trusted_proxy_reports() {
    let server = TestServer::builder()
        .config("login_limit = 2\ntrusted_proxies = [\"127.0.0.0/8\", \"10.0.0.0/8\"]")
        .start()
        .await;
    let from = async |address: &str| {
        let headers = [("x-forwarded-for", address)];
        login(&server, "not the password", &headers).await.status
    };
    let mut was_refused = false;
    for n in 1..=10 {
        let client = format!("203.0.113.{n}");
        assert_eq!(from(&client).await, 401);
        let begun = Instant::now();
        // A client may send any value. The proxy appends the address of its client.
        let claimed = format!("198.51.100.9, {client}");
        assert_eq!(from(&format!("{claimed}, 10.0.0.7")).await, 401);
        let statuses = [from(&client).await, from(&claimed).await];
        // A busy machine may need longer than the wait that the server demands.
        if begun.elapsed() < WAIT {
            assert_eq!(statuses, [429, 429]);
            was_refused = true;
            break;
        }
    }
    assert!(was_refused, "ten tries took longer than the wait");
    assert_eq!(from("203.0.113.99").await, 401);
    login(&server, ADMIN_PASSWORD, &[]).await.expect(200);
}

#[tokio::test]
async fn forwarded_headers_of_an_untrusted_address_are_ignored() {
    for _ in 0..10 {
        let server = TestServer::builder()
            .config("login_limit = 2\ntrusted_proxies = [\"10.0.0.0/8\"]")
            .start()
            .await;
        let from = async |address: &str| {
            let headers = [("x-forwarded-for", address)];
            login(&server, "not the password", &headers).await.status
        };
        assert_eq!(from("203.0.113.1").await, 401);
        let begun = Instant::now();
        assert_eq!(from("203.0.113.2").await, 401);
        let status = from("203.0.113.3").await;
        // A busy machine may need longer than the wait that the server demands.
        if begun.elapsed() < WAIT {
            assert_eq!(status, 429);
            return;
        }
    }
    panic!("ten tries took longer than the wait");
}

#[tokio::test]
async fn a_session_cookie_is_secure_when_a_trusted_proxy_reports_https() {
    for (trusted, proto, expected) in [
        ("127.0.0.0/8", Some("https"), true),
        ("127.0.0.0/8", Some("HTTPS"), true),
        ("127.0.0.0/8", Some("http"), false),
        ("127.0.0.0/8", None, false),
        ("10.0.0.0/8", Some("https"), false),
    ] {
        let server = TestServer::builder()
            .config(&format!("trusted_proxies = [\"{trusted}\"]"))
            .start()
            .await;
        let headers: Vec<_> = proto
            .map(|proto| ("x-forwarded-proto", proto))
            .into_iter()
            .collect();
        let answer = login(&server, ADMIN_PASSWORD, &headers).await.expect(200);
        let cookie = answer.header("set-cookie").unwrap();
        let attributes: Vec<_> = cookie.split("; ").collect();
        assert_eq!(
            attributes.contains(&"Secure"),
            expected,
            "{trusted} {proto:?}: {cookie}"
        );
        assert!(attributes.contains(&"HttpOnly"), "{cookie}");
        let is_bound = cookie.starts_with("__Host-svc_session=") && attributes.contains(&"Path=/");
        assert_eq!(is_bound, expected, "{trusted} {proto:?}: {cookie}");
    }
}

#[tokio::test]
async fn a_session_cookie_must_match_the_scheme_and_ambiguous_cookies_are_refused() {
    let server = TestServer::builder()
        .config("trusted_proxies = [\"127.0.0.0/8\"]")
        .start()
        .await;
    let log_in = async |proto: &str, cookies: &str| {
        let headers = [("x-forwarded-proto", proto), ("cookie", cookies)];
        login(&server, ADMIN_PASSWORD, &headers).await.expect(200)
    };
    let cookie = |answer: &Answer| {
        let cookie = answer.header("set-cookie").unwrap();
        cookie.split(';').next().unwrap().to_owned()
    };
    let me = async |method: &str, path: &str, proto: &str, cookies: &str| {
        let headers = [
            ("x-forwarded-proto", proto),
            ("cookie", cookies),
            ("content-type", "application/json"),
        ];
        let body = r#"{"jsonrpc":"2.0","method":"rpc.discover","id":1}"#;
        let http = server.http();
        http.request(method, path, &headers, body).await.status
    };
    let (plain, secure) = (
        cookie(&log_in("http", "").await),
        cookie(&log_in("https", "").await),
    );
    let other = cookie(&log_in("https", "").await);
    for (proto, cookies, expected) in [
        ("http", plain.clone(), 200),
        ("https", secure.clone(), 200),
        // A page on a sibling domain can set a plain cookie. Over HTTPS, such a cookie neither
        // authenticates nor makes the secure cookie invalid.
        ("https", plain.clone(), 401),
        ("https", format!("{plain}; {secure}"), 200),
        ("http", format!("{plain}; {secure}"), 401),
        ("https", format!("{secure}; {other}"), 401),
        ("http", format!("{plain}; {plain}"), 401),
    ] {
        for (method, path) in [("GET", "/api/auth/me"), ("POST", "/api/methods/call")] {
            let status = me(method, path, proto, &cookies).await;
            assert_eq!(status, expected, "{proto} {method} {path}: {cookies}");
        }
    }
    // A browser that sends both cookies over HTTP can log in again: the answer sets a new plain
    // cookie and deletes the secure cookie.
    let answer = log_in("http", &format!("{plain}; {secure}")).await;
    let set = answer.headers.get_all("set-cookie").iter();
    let set: Vec<_> = set.map(|value| value.to_str().unwrap()).collect();
    assert!(set[0].starts_with("svc_session=svc_ses_"), "{set:?}");
    assert!(set[1].starts_with("__Host-svc_session=; "), "{set:?}");
    assert!(set[1].contains("Max-Age=0") && set[1].contains("Secure"));
}

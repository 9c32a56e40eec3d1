//! Requests that a web page could send, and addresses that are in use.

use tokio::net::TcpStream;

use super::*;
use crate::local_api::bind::bind_loopback;

fn post(headers: &str, body: &str) -> String {
    format!(
        "POST /event HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn the_loopback_listener_rejects_requests_from_web_pages() {
    let (listener, address) = bind_loopback(Some("127.0.0.1:0".parse().expect("valid")))
        .await
        .expect("binds");
    let stop = CancellationToken::new();
    let (_status, link) = watch::channel(LinkStatus::default());
    let servers = servers("http://127.0.0.1:1");
    let folder = tempfile::tempdir().expect("a folder");
    let packages = Arc::new(PackageRoute {
        packages: packages(folder.path(), &servers, link.clone()),
        within: Duration::from_secs(1),
    });
    let serving = tokio::spawn(serve_loopback(
        listener,
        LoopbackAccess::SameUser,
        events(&servers, link),
        packages,
        stop.clone(),
        Duration::ZERO,
    ));
    let json = "content-type: application/json\r\n";
    let host = format!("host: {address}\r\n");
    let event = r#"{"type":"a.b","payload":{}}"#;
    let big = format!(
        r#"{{"type":"a","payload":{{"x":"{}"}}}}"#,
        "x".repeat(300_000)
    );
    let cases = [
        (post(&format!("{host}{json}"), event), 503, "not_linked"),
        (
            post(&format!("host: localhost\r\n{json}"), r#"{"type":"a"}"#),
            503,
            "not_linked",
        ),
        (
            post(&format!("host: evil.example\r\n{json}"), event),
            403,
            "foreign_host",
        ),
        (
            post(
                &format!("host: evil.example:{}\r\n{json}", address.port()),
                event,
            ),
            403,
            "foreign_host",
        ),
        (
            post(&format!("{host}{host}{json}"), event),
            403,
            "foreign_host",
        ),
        (post(json, event), 403, "foreign_host"),
        (
            post(&format!("{host}{json}origin: http://{address}\r\n"), event),
            403,
            "foreign_origin",
        ),
        (
            post(&format!("{host}{json}origin: null\r\n"), event),
            403,
            "foreign_origin",
        ),
        (
            post(
                &format!("{host}content-type: application/x-www-form-urlencoded\r\n"),
                event,
            ),
            415,
            "unsupported_media_type",
        ),
        (
            post(&format!("{host}content-type: text/plain\r\n"), event),
            415,
            "unsupported_media_type",
        ),
        (post(&host, event), 415, "unsupported_media_type"),
        (
            post(&format!("{host}{json}"), &big),
            413,
            "payload_too_large",
        ),
        (post(&format!("{host}{json}"), "{"), 400, "invalid_event"),
        (post(&format!("{host}{json}"), "[]"), 400, "invalid_event"),
        (
            post(&format!("{host}{json}"), r#"{"type":"a","payload":[]}"#),
            400,
            "invalid_event",
        ),
        (
            post(&format!("{host}{json}"), r#"{"type":"a..b"}"#),
            400,
            "invalid_event",
        ),
        (
            post(&format!("{host}{json}"), r#"{"type":"a","more":1}"#),
            400,
            "invalid_event",
        ),
        (
            format!("GET /packages/x.zip HTTP/1.1\r\nconnection: close\r\n{host}\r\n"),
            404,
            "package_not_found",
        ),
        (
            format!("GET /packages/user-libraries.zip HTTP/1.1\r\nconnection: close\r\n{host}\r\n"),
            503,
            "libraries_unavailable",
        ),
        (
            format!(
                "GET /packages/svc-libraries.zip HTTP/1.1\r\nconnection: close\r\n{host}origin: null\r\n\r\n"
            ),
            403,
            "foreign_origin",
        ),
        (
            format!("GET /event HTTP/1.1\r\nconnection: close\r\n{host}\r\n"),
            405,
            "method_not_allowed",
        ),
        (
            format!("GET /status HTTP/1.1\r\nconnection: close\r\n{host}\r\n"),
            404,
            "not_found",
        ),
        (
            "GET /nothing HTTP/1.1\r\nconnection: close\r\nhost: evil.example\r\n\r\n".to_owned(),
            403,
            "foreign_host",
        ),
    ];
    for (request, expected, code) in cases {
        let stream = TcpStream::connect(address).await.expect("connects");
        let answer = exchange(stream, &request).await;
        let shown: String = request.chars().take(200).collect();
        assert_eq!(status(&answer), expected, "{shown}\n{answer}");
        assert!(answer.contains(code), "{shown}\n{answer}");
        assert!(answer.contains("application/problem+json"), "{answer}");
    }
    stop.cancel();
    serving.await.expect("ends");
}

#[tokio::test]
async fn a_used_default_port_is_replaced_but_a_used_chosen_port_is_an_error() {
    let (_first, _) = bind_loopback(None).await.expect("binds");
    let (_second, address) = bind_loopback(None).await.expect("binds another");
    assert!(address.ip().is_loopback());
    assert!(bind_loopback(Some(address)).await.is_err());
}

#[tokio::test]
async fn an_address_that_is_not_loopback_is_refused() {
    let everywhere = Some("0.0.0.0:0".parse().expect("valid"));
    assert!(bind_loopback(everywhere).await.is_err());
}

//! Requests that must not become events: forged, stale, oversized, slow, malformed, unknown.

use std::time::Duration;

use serde_json::json;
use svc_core::source::settings::VerifyType;
use svc_testkit::TestServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::Sender;
use crate::SOON;

#[tokio::test]
async fn an_unknown_url_is_answered_like_any_unknown_path() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let sender = Sender::of_type(&ann, VerifyType::None).await;
    let off = Sender::of_type(&ann, VerifyType::Github).await;
    let path = format!("/api/sources/{}", off.id);
    ann.patch(&path, json!({"active": false})).await.expect(200);
    let http = server.http();
    let (rest, last) = sender.path.split_at(sender.path.len() - 1);
    let made_up = format!("{rest}{}", if last == "0" { "1" } else { "0" });
    for method in ["POST", "GET", "PUT", "DELETE"] {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "text/html"),
        ];
        let nowhere = http
            .request(method, "/nowhere/at/all", &headers[..1], "{}")
            .await
            .expect(404);
        for path in [
            "/in/x",
            made_up.as_str(),
            off.path.as_str(),
            "/in/%ff",
            "/in/a%20b",
        ] {
            let answer = http.request(method, path, &headers, "{}").await.expect(404);
            let generic = answer.text().replace(path, "PATH");
            assert_eq!(
                generic,
                nowhere.text().replace("/nowhere/at/all", "PATH"),
                "{method} {path}"
            );
            let names = |answer: &svc_testkit::Answer| {
                let mut names: Vec<_> = answer.headers.keys().map(ToString::to_string).collect();
                names.sort();
                names
            };
            assert_eq!(names(&answer), names(&nowhere), "{method} {path}");
        }
    }
    // A known URL with another HTTP method is answered like an unknown URL.
    http.request("GET", &sender.path, &[], "").await.expect(404);
    // Only the owner sees that requests arrive at a source that is not active.
    assert!(off.reason().await.contains("not active"));
}

#[tokio::test]
async fn forged_and_stale_requests_are_counted_with_their_reason_and_never_stored() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let mut stripe = Sender::of_type(&ann, VerifyType::Stripe).await;
    let now = svc_clock::now();
    let body = r#"{"id":"evt_1","type":"x"}"#;
    let minutes = |n: u64| Duration::from_secs(60 * n);
    let stale = stripe
        .send_at("", now.minus(minutes(6)), &[], body)
        .await
        .expect(401);
    assert_eq!(stale.code(), "verification_failed");
    assert!(
        !stale.text().contains("signed"),
        "the sender learns no reason: {}",
        stale.text()
    );
    assert!(
        stripe.reason().await.contains("signed 3"),
        "{}",
        stripe.reason().await
    );
    stripe
        .send_at("", now.plus(minutes(6)), &[], body)
        .await
        .expect(401);
    assert!(stripe.reason().await.contains("in the future"));
    let headers = [
        ("stripe-signature", "t=1,v1=00"),
        ("content-type", "application/json"),
    ];
    stripe
        .http()
        .request("POST", &stripe.path, &headers, body)
        .await
        .expect(401);
    assert!(stripe.reason().await.contains("does not match"));
    stripe
        .http()
        .request("POST", &stripe.path, &headers[1..], body)
        .await
        .expect(401);
    assert!(
        stripe
            .reason()
            .await
            .contains("`stripe-signature` is missing")
    );
    stripe.secret = "whsec_another_secret".to_owned();
    stripe.send("", &[], body).await.expect(401);
    assert_eq!(stripe.events().await.len(), 0);
    let record = stripe.record().await;
    assert_eq!(
        (&record["accepted"], &record["rejected"]),
        (&json!(0), &json!(5))
    );
    assert!(
        record["last_rejection"]["reason"]
            .as_str()
            .unwrap()
            .contains("secret")
    );
    // The secret part of the URL is not in the log.
    let token = stripe.path.trim_start_matches("/in/");
    assert!(!server.log().contains(token));
}

#[tokio::test]
async fn oversized_and_malformed_bodies_are_rejected() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let open = Sender::of_type(&ann, VerifyType::None).await;
    let fits = json!({"text": "x".repeat(256 * 1024 - 11)}).to_string();
    assert_eq!(fits.len(), 256 * 1024);
    open.send("", &[], &fits).await.expect(202);
    let large = format!("{fits} ");
    let refused = open.send("", &[], &large).await.expect(413);
    assert_eq!(refused.code(), "body_too_large");
    // The body is smaller than the limit, but in JSON each character becomes six bytes (`\u0001`).
    let blown_up = "\u{1}".repeat(60_000);
    open.send("", &[("content-type", "text/plain")], &blown_up)
        .await
        .expect(413);
    for body in ["{", "[1,]", r#"{"a":1,"a":2}"#, &"[".repeat(100_000)] {
        let refused = open.send("", &[], body).await.expect(400);
        assert_eq!(refused.code(), "invalid_body", "{body:.20}");
    }
    assert_eq!(open.events().await.len(), 1);
    let reasons = open.requests().await;
    assert_eq!(
        reasons
            .iter()
            .filter(|one| one["outcome"] == "rejected")
            .count(),
        6
    );
}

#[tokio::test]
async fn a_body_that_arrives_too_slowly_is_refused_and_delays_no_other_request() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let open = Sender::of_type(&ann, VerifyType::None).await;
    let mut slow = Vec::new();
    for _ in 0..80 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
            open.path,
            server.address()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    // Other requests to the same source are answered meanwhile.
    open.send("", &[], "{}").await.expect(202);
    let mut answer = [0; 12];
    let reading = slow[0].read_exact(&mut answer);
    tokio::time::timeout(2 * SOON, reading)
        .await
        .expect("answered")
        .unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(
        open.reason()
            .await
            .contains("did not arrive within 10 seconds")
    );
}

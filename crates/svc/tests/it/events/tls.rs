//! HTTPS to receivers: authorities, names and dates of certificates, client certificates, HTTP/2.

use http::Version;
use serde_json::{Value, json};
use svc_testkit::{TestAuthority, TestServer, TestServerBuilder, TestSink, TestUser, TlsReceiver};

use crate::SOON;

fn open() -> TestServerBuilder {
    TestServer::builder().allow_loopback_webhooks()
}

async fn webhook(user: &TestUser, name: &str, webhook: Value) -> TestSink {
    let body = json!({"name": name, "patterns": "*", "type": "webhook", "webhook": webhook});
    user.sink(body).await
}

/// Sends a sample event at once; returns the error of the attempt.
async fn error_of(sink: &TestSink) -> String {
    let path = format!("{}/test", sink.path());
    let tested = sink.owner.post(&path, "{}").await.expect(200).json();
    tested["attempt"]["error"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn a_receiver_with_a_private_authority_is_reached_by_name_and_by_address() {
    let authority = TestAuthority::new("private");
    let receiver = TlsReceiver::start(&authority.server(&["localhost", "127.0.0.1"])).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    // The authority is trusted by the sink, or by the machine.
    let by_machine = open().env("SSL_CERT_FILE", file.to_str().unwrap());
    for (builder, ca) in [(open(), json!(authority.pem())), (by_machine, Value::Null)] {
        let before = receiver.received().len();
        let server = builder.start().await;
        let ann = server.user("ann").await;
        for host in ["localhost", "127.0.0.1"] {
            let settings = json!({"url": receiver.url(host, "/hook"), "ca": ca});
            webhook(&ann, host, settings).await;
        }
        let id = ann.emit("a", json!({})).await;
        let received = receiver.wait_for(before + 2, SOON).await.split_off(before);
        let mut names: Vec<_> = received
            .iter()
            .map(|one| one.server_name.as_deref())
            .collect();
        names.sort_unstable();
        // An address is not a name, so the handshake contains no name.
        assert_eq!(names, [None, Some("localhost")]);
        for one in received {
            assert_eq!(one.headers["x-service-event-id"], id.as_str());
            assert_eq!(one.version, Version::HTTP_11, "HTTP/2 only on request");
        }
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_valid_is_a_failed_attempt_with_the_reason() {
    let (authority, other) = (TestAuthority::new("private"), TestAuthority::new("other"));
    let names = ["localhost"];
    let server = open().start().await;
    let ann = server.user("ann").await;
    let cases = [
        (
            authority.server(&names),
            Some(&other),
            "an authority that this machine does not trust",
        ),
        (
            authority.server(&names),
            None,
            "an authority that this machine does not trust",
        ),
        (
            authority.expired_server(&names),
            Some(&authority),
            "expired at 2021-01-01T00:00:00",
        ),
        (
            authority.server(&["hooks.example.org"]),
            Some(&authority),
            "its certificate is for `hooks.example.org`, not for `localhost`",
        ),
        (
            authority.client("x"),
            Some(&authority),
            "is not for servers",
        ),
    ];
    for (index, (certificate, ca, expected)) in cases.into_iter().enumerate() {
        let receiver = TlsReceiver::start(&certificate).await;
        let ca = ca.map(TestAuthority::pem);
        let settings = json!({"url": receiver.url("localhost", "/hook"), "ca": ca});
        let sink = webhook(&ann, &format!("s{index}"), settings).await;
        let error = error_of(&sink).await;
        assert!(error.contains("TLS with `localhost` fails"), "{error}");
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(receiver.received().is_empty());
    }
}

#[tokio::test]
async fn a_client_certificate_is_sent_to_the_receiver_and_its_key_is_never_shown() {
    let (authority, clients) = (TestAuthority::new("private"), TestAuthority::new("clients"));
    let certificate = authority.server(&["localhost"]);
    let receiver = TlsReceiver::start_with(&certificate, Some(&clients), &["http/1.1"]).await;
    let mut server = open().start().await;
    let ann = server.user("ann").await;
    let settings = json!({"url": receiver.url("localhost", "/hook"), "ca": authority.pem()});
    let sink = webhook(&ann, "hook", settings).await;
    let error = error_of(&sink).await;
    assert!(!error.is_empty(), "the receiver needs a certificate");
    assert!(receiver.received().is_empty());

    let (one, two) = (clients.client("one"), clients.client("two"));
    let pair = |certificate: &str, key: Value| json!({"webhook": {"client_certificate": certificate, "client_key": key}});
    let changed = sink.patch(pair(&one.certificate, json!(one.key))).await;
    assert_eq!(changed["webhook"]["client_key"], "********");
    assert_eq!(
        changed["webhook"]["client_certificate"],
        one.certificate.as_str()
    );
    for n in 1..=3 {
        ann.emit("a", json!({"n": n})).await;
        let received = receiver.wait_for(n, SOON).await;
        assert!(received[n - 1].has_client_certificate);
    }
    // The mask `********` keeps the key. The key must belong to the certificate.
    sink.patch(pair(&one.certificate, json!("********"))).await;
    for (body, said) in [
        (pair(&two.certificate, json!("********")), "does not belong"),
        (pair(&two.certificate, json!(one.key)), "does not belong"),
        (pair(&two.certificate, json!("x")), "not a private key"),
        (pair(&one.certificate, Value::Null), "need each other"),
        (
            json!({"webhook": {"url": "http://example.org", "ca": authority.pem(), "secret": null,
                "client_certificate": one.certificate, "client_key": one.key}}),
            "needs a URL that begins with `https://`",
        ),
        (
            json!({"webhook": {"url": "https://example.org", "secret": null, "client_key": "********"}}),
            "give `webhook.ca`, `webhook.client_certificate`, `webhook.client_key` again",
        ),
        (json!({"webhook": {"ca": "x"}}), "BEGIN CERTIFICATE"),
    ] {
        let refused = ann.patch(&sink.path(), body).await.expect(400).text();
        assert!(refused.contains(said), "{said}: {refused}");
        assert!(!refused.contains("PRIVATE KEY"), "{refused}");
    }
    let body = json!({"name": "b", "patterns": "*", "type": "webhook", "webhook": {
        "url": "https://example.org", "client_certificate": one.certificate, "client_key": "********"}});
    let refused = ann.post("/api/event-sinks", body).await.expect(400).text();
    assert!(refused.contains("set the key"), "{refused}");
    // After a change of the key, the server opens a new connection.
    let before = receiver.received().len();
    sink.patch(pair(&two.certificate, json!(two.key))).await;
    ann.emit("a", json!({})).await;
    let received = receiver.wait_for(before + 1, SOON).await;
    assert_ne!(received[before].connection, received[before - 1].connection);

    let audit = Value::from(server.admin().await.list("/api/audit", "audit").await).to_string();
    assert!(
        !audit.contains("PRIVATE KEY") && audit.contains("client_certificate"),
        "{audit}"
    );
    assert_eq!(server.terminate().await.code(), Some(0));
    let secret = two.key.lines().nth(1).unwrap();
    for entry in std::fs::read_dir(server.data_dir()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(secret) && !text.contains("PRIVATE KEY"));
    }
    assert!(!server.log().contains("PRIVATE KEY"));
    // The key works after a restart, and is removed with its certificate.
    server.start_again().await;
    let before = receiver.received().len();
    ann.emit("a", json!({})).await;
    assert!(receiver.wait_for(before + 1, SOON).await[before].has_client_certificate);
    let removed = json!({"webhook": {"client_certificate": null, "client_key": null}});
    assert!(
        sink.patch(removed).await["webhook"]
            .get("client_key")
            .is_none()
    );
    assert!(!error_of(&sink).await.is_empty());
}

#[tokio::test]
async fn http2_is_used_on_request_if_the_receiver_supports_it() {
    let authority = TestAuthority::new("private");
    let certificate = authority.server(&["localhost"]);
    let both = TlsReceiver::start(&certificate).await;
    let old = TlsReceiver::start_with(&certificate, None, &["http/1.1"]).await;
    let server = open().start().await;
    let ann = server.user("ann").await;
    let mut sinks = Vec::new();
    for (name, receiver) in [("both", &both), ("old", &old)] {
        let url = receiver.url("localhost", "/hook?a=b");
        let settings = json!({"url": url, "ca": authority.pem(), "http2": true});
        sinks.push(webhook(&ann, name, settings).await);
    }
    sinks[0]
        .patch(json!({"delivery": {"keep_exchanges": true}}))
        .await;
    let text = "x".repeat(100_000);
    for n in 0..5 {
        ann.emit("a", json!({"n": n, "text": text})).await;
    }
    for (receiver, version) in [(&both, Version::HTTP_2), (&old, Version::HTTP_11)] {
        let received = receiver.wait_for(5, SOON).await;
        for (n, one) in received.iter().enumerate() {
            assert_eq!(one.version, version);
            assert_eq!(one.path, "/hook");
            let body: Value = serde_json::from_slice(&one.body).unwrap();
            assert_eq!(
                (&body["data"]["n"], &body["data"]["text"]),
                (&json!(n), &json!(text))
            );
            assert!(
                one.headers["webhook-signature"]
                    .to_str()
                    .unwrap()
                    .starts_with("v1,")
            );
        }
    }
    let authority = format!("localhost:{}", both.address().port());
    assert_eq!(both.received()[0].authority.as_deref(), Some(&*authority));
    assert_eq!((both.connections(), old.connections()), (1, 1));
    sinks[0].wait_for("delivered", 5, SOON).await;
    let path = format!("{}/deliveries?exchanges=true", sinks[0].path());
    let listed = ann.get(&path).await.expect(200).json();
    let oldest = &listed["deliveries"][4]["attempts"][0]["exchange"];
    assert_eq!(oldest["request"]["line"], "POST /hook?a=b HTTP/2");
    assert!(oldest["timing"]["tls"].as_f64().is_some(), "{oldest}");
}

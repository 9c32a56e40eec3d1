//! Trials of sinks: test deliveries and previews.

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread::JoinHandle,
};

use svc_core::RoleId;
use svc_protocol::api::{PatternsInput, Preview, WebhookFormat};

use super::*;

/// Answers one request with 200 and `fine`. Returns the URL and the thread that returns the request.
fn receiver() -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("bound"));
    let got = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut got = Vec::new();
        let mut chunk = [0; 4_096];
        loop {
            let text = String::from_utf8_lossy(&got).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse::<usize>().expect("a length"))
                });
                if body.len() >= length.unwrap_or(0) {
                    break;
                }
            }
            let read = stream.read(&mut chunk).expect("a request");
            got.extend_from_slice(&chunk[..read]);
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nfine")
            .expect("an answer");
        String::from_utf8(got).expect("text")
    });
    (url, got)
}

#[tokio::test]
async fn a_test_is_sent_at_once_and_rate_limited() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let (url, got) = receiver();
    let body = json!({
        "name": "deploys", "patterns": "*", "type": "webhook",
        "webhook": {"url": url, "body_template": r#"{"type": ${{ event.type }}}"#},
    });
    let id = fixture.create(&ann, body).await.expect("created").id;
    let request = |dry_run| Preview {
        event_type: Some("custom.hello".to_owned()),
        dry_run,
        ..Preview::default()
    };
    let dry = fixture
        .service
        .test(&ann, id, request(true))
        .await
        .expect("rendered");
    assert_eq!(
        (dry.body.as_str(), dry.attempt),
        (r#"{"type": "custom.hello"}"#, None)
    );
    let tested = fixture
        .service
        .test(&ann, id, request(false))
        .await
        .expect("sent");
    let attempt = tested.attempt.expect("an attempt");
    assert_eq!(
        (attempt.status, attempt.output.as_deref()),
        (Some(200), Some("fine"))
    );
    let got = got.join().expect("received");
    assert!(got.ends_with(r#"{"type": "custom.hello"}"#), "{got}");
    assert!(
        got.to_ascii_lowercase().contains("webhook-signature: v1,"),
        "{got}"
    );
    let listed = fixture
        .service
        .deliveries(&ann, id, None, deliveries_page())
        .await;
    assert!(listed.expect("listed").items.is_empty());

    let failed = fixture
        .service
        .test(&ann, id, request(false))
        .await
        .expect("tried");
    assert!(failed.attempt.expect("an attempt").error.is_some());
    for _ in 2..TESTS_PER_MINUTE {
        let tried = fixture.service.test(&ann, id, request(false)).await;
        tried.expect("within the limit");
    }
    let over = fixture.service.test(&ann, id, request(false)).await;
    assert!(matches!(&over, Err(error) if error.code() == "rate_limited"));
    assert!(fixture.service.test(&ann, id, request(true)).await.is_ok());
}

/// The same rule as for deliveries: a global webhook acts for the user who created it.
#[tokio::test]
async fn a_test_of_a_global_webhook_is_not_sent_if_its_creator_has_lost_the_permission() {
    let (fixture, root, other) = (Fixture::new(), manager("root"), manager("eve"));
    let body = json!({
        "name": "all", "patterns": "*", "type": "webhook", "owner": "global",
        "webhook": {"url": "http://127.0.0.1:9/"},
    });
    let id = fixture.create(&root, body).await.expect("created").id;
    fixture.store_user(&other).await;
    let creator = root.user.id;
    let revoke = fixture
        .service
        .store
        .write(move |tx| memberships::set_of_user::<RoleId>(tx, creator, &[]));
    revoke.await.expect("revoked");
    let tested = fixture.service.test(&other, id, Preview::default()).await;
    let attempt = tested.expect("tested").attempt.expect("an attempt");
    let error = attempt.error.expect("not sent");
    assert!(error.contains("manage_global_event_sinks"), "{error}");
}

#[tokio::test]
async fn a_preview_shows_own_events_only() {
    let (fixture, ann, ben) = (Fixture::new(), user("ann"), user("ben"));
    let id = fixture.webhook(&ann, "deploys").await.id;
    fixture.emit(&ann, "custom.x", 1).await;
    let list = fixture
        .service
        .deliveries(&ann, id, None, deliveries_page())
        .await;
    let event_id = Some(list.expect("listed").items[0].event_id);
    let request = || Preview {
        event_id,
        body_template: Some("${{ event.data }}".to_owned()),
        ..Preview::default()
    };
    let shown = fixture
        .service
        .preview(&ann, request())
        .await
        .expect("rendered");
    assert_eq!(shown.body, r#"{"n":0}"#);
    let hidden = fixture.service.preview(&ben, request()).await;
    assert!(matches!(&hidden, Err(error) if error.code() == "not_found"));
}

#[tokio::test]
async fn a_sample_system_event_has_a_sample_space() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let shown = |event_type: &str, template: Option<&str>| Preview {
        r#type: template.is_none().then_some(SinkType::Script),
        event_type: Some(event_type.to_owned()),
        body_template: template.map(str::to_owned),
        ..Preview::default()
    };
    for (event_type, space) in [("space.unhealthy", "lab"), ("custom.space.unhealthy", "")] {
        let request = shown(event_type, None);
        let seen = fixture.service.preview(&ann, request).await.expect("shown");
        let seen: Value = serde_json::from_str(&seen.body).expect("JSON");
        assert_eq!(seen["space"]["name"], space);
        let request = shown(event_type, Some("${{ space.name }}"));
        let seen = fixture.service.preview(&ann, request).await.expect("shown");
        assert_eq!(seen.body, json!(space).to_string());
    }
}

#[tokio::test]
async fn a_preview_uses_the_format_the_filter_and_the_key() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let request = |data: Value| Preview {
        event_type: Some("custom.order".to_owned()),
        data: Some(serde_json::value::to_raw_value(&data).expect("JSON")),
        patterns: Some(PatternsInput::Text("custom.*, other".to_owned())),
        format: Some(WebhookFormat::CloudeventsStructured),
        filter: Some("event.data.amount > 100".to_owned()),
        key: Some("event.data.order".to_owned()),
        ..Preview::default()
    };
    let shown = async |data: Value| {
        let shown = fixture.service.preview(&ann, request(data)).await;
        shown.expect("shown")
    };
    let large = shown(json!({"amount": 700, "order": "A-17"})).await;
    let body: Value = serde_json::from_str(&large.body).expect("JSON");
    assert_eq!(body["specversion"], "1.0");
    assert_eq!(
        large.format_headers["content-type"],
        "application/cloudevents+json"
    );
    let (filter, key) = (large.filter.expect("decided"), large.key.expect("a key"));
    assert_eq!((filter.passes, filter.error), (true, None));
    assert_eq!((key.value.as_str(), key.error), ("A-17", None));
    let small = shown(json!({"amount": 7})).await;
    assert_eq!(small.matched_patterns, Some(vec!["custom.*".to_owned()]));
    assert!(!small.filter.expect("decided").passes);
    assert_eq!(small.key.expect("a key").value, "");
    let failing = Preview {
        filter: Some("'x' in event.data.amount".to_owned()),
        ..request(json!({"amount": 7}))
    };
    let failing = fixture.service.preview(&ann, failing).await;
    let filter = failing.expect("shown").filter.expect("decided");
    assert!(!filter.passes && filter.error.is_some(), "{filter:?}");

    let broken = Preview {
        filter: Some("event.data.amount >".to_owned()),
        ..request(json!({}))
    };
    let refused = fixture.service.preview(&ann, broken).await;
    assert!(
        matches!(
            refused,
            Err(RecordError::Refused {
                code: "invalid_expression",
                ..
            })
        ),
        "{refused:?}"
    );
}

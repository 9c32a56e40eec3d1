use std::collections::HashMap;

use uuid::Uuid;

use super::*;

struct Sent(HashMap<&'static str, String>);

impl Headers for Sent {
    fn find(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn read_as(
    kind: VerifyType,
    event_type: &TypeRule,
    headers: &[(&'static str, &str)],
    body: &[u8],
) -> Result<Request, RequestError> {
    let headers = headers
        .iter()
        .map(|&(name, value)| (name, value.to_owned()));
    let rule = EventRule {
        id: Id(Uuid::nil()),
        name: "shop",
        verify: &Verification::of(kind),
        event_type,
        headers: &["X-Extra".to_owned()],
    };
    let verified = Verified {
        signed_id: None,
        signed_head: "12.".to_owned(),
    };
    read(
        &rule,
        &verified,
        &Sent(headers.collect()),
        body,
        Timestamp(0),
    )
}

fn event(kind: VerifyType, headers: &[(&'static str, &str)], body: &str) -> SourceEvent {
    match read_as(kind, &TypeRule::default(), headers, body.as_bytes()) {
        Ok(Request::Event(event)) => event,
        other => panic!("{other:?}"),
    }
}

fn data(event: &SourceEvent) -> Value {
    serde_json::from_str(event.data.as_str()).expect("JSON")
}

#[test]
fn the_type_is_read_from_the_header_or_member_that_the_provider_uses() {
    let check = |kind, headers: &[(&'static str, &str)], body, expected: &str| {
        assert_eq!(
            event(kind, headers, body).event_type,
            format!("source.shop.{expected}")
        );
    };
    check(
        VerifyType::Github,
        &[JSON, ("x-github-event", "pull_request")],
        "{}",
        "pull_request",
    );
    check(
        VerifyType::Gitlab,
        &[JSON, ("x-gitlab-event", "Push Hook")],
        "{}",
        "push_hook",
    );
    check(
        VerifyType::Shopify,
        &[JSON, ("x-shopify-topic", "orders/create")],
        "{}",
        "orders.create",
    );
    check(
        VerifyType::Stripe,
        &[JSON],
        r#"{"type":"invoice.paid"}"#,
        "invoice.paid",
    );
    let mention = r#"{"type":"event_callback","event":{"type":"app_mention"}}"#;
    check(VerifyType::Slack, &[JSON], mention, "app_mention");
    check(
        VerifyType::Slack,
        &[FORM],
        "command=%2Fdeploy&text=now",
        "deploy",
    );
    let action = "payload=%7B%22type%22%3A%22block_actions%22%7D";
    check(VerifyType::Slack, &[FORM], action, "block_actions");
    check(
        VerifyType::Standard,
        &[JSON],
        r#"{"type":"user.created"}"#,
        "user.created",
    );
    for kind in [VerifyType::Hmac, VerifyType::Basic, VerifyType::None] {
        check(kind, &[JSON], r#"{"type":"Order-Paid"}"#, "order-paid");
        check(kind, &[JSON], r#"{"type":7}"#, "event");
    }
    check(VerifyType::None, &[], "", "event");
}

#[test]
fn a_setting_chooses_another_header_or_member_or_a_fixed_type() {
    let read = |rule: TypeRule| {
        let headers = [JSON, ("x-kind", "..A b/é:")];
        let body = br#"{"a":{"b":"from.body"}}"#;
        match read_as(VerifyType::None, &rule, &headers, body) {
            Ok(Request::Event(event)) => event.event_type,
            other => panic!("{other:?}"),
        }
    };
    let some = |text: &str| Some(text.to_owned());
    let rule = TypeRule {
        header: some("X-Kind"),
        ..TypeRule::default()
    };
    assert_eq!(read(rule), "source.shop.a_b._");
    let rule = TypeRule {
        body: some("a.b"),
        ..TypeRule::default()
    };
    assert_eq!(read(rule), "source.shop.from.body");
    let rule = TypeRule {
        body: some("a.b.c"),
        ..TypeRule::default()
    };
    assert_eq!(read(rule), "source.shop.event");
    let rule = TypeRule {
        fixed: some(&"x".repeat(100)),
        ..TypeRule::default()
    };
    assert_eq!(read(rule), format!("source.shop.{}", "x".repeat(TYPE_MAX)));
}

#[test]
fn a_body_becomes_an_object() {
    let check = |headers: &[(&'static str, &str)], body, expected: Value| {
        let mut found = data(&event(VerifyType::None, headers, body));
        let members = found.as_object_mut().expect("an object");
        members.remove(SOURCE_MEMBER).expect("always there");
        assert_eq!(found, expected);
    };
    check(&[JSON], r#"{"a":1}"#, json!({"a": 1}));
    check(&[JSON], "[1,2]", json!({"body": [1, 2]}));
    check(&[JSON], "", json!({}));
    check(
        &[("content-type", "text/plain")],
        "hello",
        json!({"body": "hello"}),
    );
    check(&[("content-type", "text/plain")], "{", json!({"body": "{"}));
    check(&[], "7", json!({"body": 7}));
    check(
        &[FORM],
        "a=1&b=x+y&a=2",
        json!({"a": ["1", "2"], "b": "x y"}),
    );
    check(
        &[FORM],
        "payload=%7B%22a%22%3A1%7D",
        json!({"payload": {"a": 1}}),
    );
    check(&[FORM], "payload=%7B", json!({"payload": "{"}));
    let bytes = read_as(VerifyType::None, &TypeRule::default(), &[], &[0xff, 0]);
    let Ok(Request::Event(event)) = bytes else {
        panic!("an event")
    };
    assert_eq!(data(&event)["body_base64"], "/wA=");
}

#[test]
fn numbers_keep_all_their_digits() {
    let event = event(
        VerifyType::None,
        &[JSON],
        r#"{"id": 820982911946154508123, "x": 1.10}"#,
    );
    let text = event.data.as_str();
    assert!(
        text.starts_with(r#"{"id":820982911946154508123,"x":1.10,"_source":"#),
        "{text}"
    );
}

#[test]
fn numbers_in_the_payload_of_a_form_keep_all_their_digits() {
    let form = "payload=%7B%22x%22%3A0.1000000000000000055%7D";
    let event = event(VerifyType::None, &[FORM], form);
    let text = event.data.as_str();
    assert!(
        text.starts_with(r#"{"payload":{"x":0.1000000000000000055},"_source":"#),
        "{text}"
    );
}

#[test]
fn malformed_json_is_refused_if_it_claims_to_be_json() {
    let read = |body: &[u8]| read_as(VerifyType::None, &TypeRule::default(), &[JSON], body);
    assert!(matches!(read(b"{"), Err(RequestError::Json(_))));
    assert!(matches!(
        read(br#"{"a":1,"a":2}"#),
        Err(RequestError::Json(_))
    ));
    assert!(matches!(read(&[0xff]), Err(RequestError::NotText)));
    for content_type in [
        "Application/JSON; charset=utf-8",
        "application/cloudevents+json",
    ] {
        let headers = [("content-type", content_type)];
        let read = read_as(VerifyType::None, &TypeRule::default(), &headers, b"{");
        assert!(matches!(read, Err(RequestError::Json(_))), "{content_type}");
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert!(matches!(read(deep.as_bytes()), Err(RequestError::Json(_))));
    let nested = format!("{}1{}", "{\"a\":".repeat(126), "}".repeat(126));
    let form: String = form_urlencoded::Serializer::new(String::new())
        .append_pair("payload", &nested)
        .append_pair("payload", &nested)
        .finish();
    // The event of this form nests deeper than an event may. Any result is accepted, but not a
    // panic.
    let _ = read_as(
        VerifyType::None,
        &TypeRule::default(),
        &[FORM],
        form.as_bytes(),
    );
    let large = format!("\"{}\"", "\u{1}".repeat(60_000));
    let read = read_as(
        VerifyType::None,
        &TypeRule::default(),
        &[],
        large.as_bytes(),
    );
    assert!(matches!(read, Err(RequestError::TooLarge(_))));
}

#[test]
fn a_source_member_of_the_sender_is_replaced() {
    let headers = [
        JSON,
        ("x-extra", "7"),
        ("x-other", "8"),
        ("user-agent", "curl"),
    ];
    let event = event(
        VerifyType::None,
        &headers,
        r#"{"_source":{"name":"fake"},"a":1}"#,
    );
    let found = data(&event);
    assert_eq!(found["a"], 1);
    assert_eq!(found["_source"]["name"], "shop");
    assert_eq!(found["_source"]["verify"], "none");
    assert_eq!(
        found["_source"]["headers"],
        json!({"content-type": "application/json", "user-agent": "curl", "x-extra": "7"})
    );
}

#[test]
fn a_delivery_is_recognised_by_its_signed_id_or_by_everything_that_is_signed() {
    let signed = || DeliveryKey::Signed("12.".to_owned());
    let check = |kind, headers: &[(&'static str, &str)], body, expected| {
        assert_eq!(event(kind, headers, body).delivery, expected, "{kind}");
    };
    let id = |text: &str| DeliveryKey::Id(text.to_owned());
    // GitHub does not sign `X-GitHub-Delivery`: a replay could have any id.
    check(
        VerifyType::Github,
        &[JSON, ("x-github-delivery", "d")],
        "{}",
        signed(),
    );
    check(
        VerifyType::Shopify,
        &[JSON, ("x-shopify-webhook-id", "d")],
        "{}",
        signed(),
    );
    check(
        VerifyType::Stripe,
        &[JSON],
        r#"{"id":"evt_1"}"#,
        id("evt_1"),
    );
    check(
        VerifyType::Slack,
        &[JSON],
        r#"{"event_id":"Ev1"}"#,
        id("Ev1"),
    );
    check(VerifyType::Slack, &[FORM], "command=%2Fx", signed());
    check(
        VerifyType::Gitlab,
        &[JSON, ("idempotency-key", "k")],
        "{}",
        id("k"),
    );
    check(VerifyType::Gitlab, &[JSON], "{}", signed());
    // An empty id counts as a missing id.
    check(VerifyType::Stripe, &[JSON], r#"{"id":""}"#, signed());
    check(
        VerifyType::None,
        &[JSON, ("idempotency-key", "")],
        "{}",
        DeliveryKey::None,
    );
    check(
        VerifyType::Hmac,
        &[JSON, ("idempotency-key", "k")],
        "{}",
        signed(),
    );
    check(VerifyType::None, &[JSON], "{}", DeliveryKey::None);
    check(
        VerifyType::Basic,
        &[JSON, ("idempotency-key", "k")],
        "{}",
        id("k"),
    );
}

#[test]
fn without_deduplication_only_an_id_makes_two_requests_the_same_delivery() {
    let verified = Verified {
        signed_id: None,
        signed_head: String::new(),
    };
    let delivery = |headers: &[(&'static str, &str)]| {
        let rule = EventRule {
            id: Id(Uuid::nil()),
            name: "shop",
            verify: &Verification {
                deduplicate: Some(Deduplicate::None),
                ..Verification::of(VerifyType::Gitlab)
            },
            event_type: &TypeRule::default(),
            headers: &[],
        };
        let headers = headers
            .iter()
            .map(|&(name, value)| (name, value.to_owned()));
        let headers = Sent(headers.collect());
        match read(&rule, &verified, &headers, b"{}", Timestamp(0)) {
            Ok(Request::Event(event)) => event.delivery,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(delivery(&[JSON]), DeliveryKey::None);
    let with_key = delivery(&[JSON, ("idempotency-key", "k")]);
    assert_eq!(with_key, DeliveryKey::Id("k".to_owned()));
}

/// Sources that were created before such names were refused may have them.
#[test]
fn the_proof_of_the_sender_is_never_a_part_of_an_event() {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    for &kind in VerifyType::ALL {
        let verify = Verification {
            // A header that is copied from every request.
            header: (kind == VerifyType::Hmac).then(|| "User-Agent".to_owned()),
            ..Verification::of(kind)
        };
        let now = Timestamp(0);
        let signed = crate::source::verify::sign(&verify, secret, "id", b"{}", now);
        let Some((proof, value)) = signed.last().cloned() else {
            assert_eq!(kind, VerifyType::None);
            continue;
        };
        let sent = signed.into_iter().map(|(name, value)| {
            let name: &'static str = name.to_ascii_lowercase().leak();
            (name, value)
        });
        let sent = Sent(sent.collect());
        let rule = EventRule {
            id: Id(Uuid::nil()),
            name: "shop",
            verify: &verify,
            event_type: &TypeRule {
                header: Some(proof.to_ascii_uppercase()),
                ..TypeRule::default()
            },
            headers: &[proof.to_ascii_uppercase(), proof.clone()],
        };
        let verified = Verified {
            signed_id: None,
            signed_head: String::new(),
        };
        match read(&rule, &verified, &sent, b"{}", now) {
            Ok(Request::Event(event)) => {
                assert_eq!(event.event_type, "source.shop.event", "{kind}");
                let data = event.data.as_str();
                assert!(!data.contains(&value), "{kind}: {data}");
                assert!(
                    !data.contains(&proof.to_ascii_lowercase()),
                    "{kind}: {data}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn only_slack_gets_an_answer_to_its_challenge() {
    let body = r#"{"type":"url_verification","challenge":"3eZbrw1aBm2r"}"#;
    let read = |kind| read_as(kind, &TypeRule::default(), &[JSON], body.as_bytes());
    assert!(
        matches!(read(VerifyType::Slack), Ok(Request::Challenge(text)) if text == "3eZbrw1aBm2r")
    );
    assert!(matches!(read(VerifyType::None), Ok(Request::Event(_))));
}

#[test]
fn an_event_may_have_16_kib_more_than_the_largest_body() {
    const MAX: usize = 256 * 1024 + 16 * 1024;
    let with_text = |length: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(length));
    let empty = event(VerifyType::None, &[JSON], &with_text(0));
    let free = MAX - empty.data.as_str().len();
    let largest = event(VerifyType::None, &[JSON], &with_text(free));
    assert_eq!(largest.data.as_str().len(), 278_528);
    let too_large = with_text(free + 1);
    let read = read_as(
        VerifyType::None,
        &TypeRule::default(),
        &[JSON],
        too_large.as_bytes(),
    );
    assert_eq!(read.err(), Some(RequestError::TooLarge(278_529)));
}

#[test]
fn the_headers_of_the_provider_are_copied_into_the_event() {
    let check = |kind, names: &[&'static str]| {
        let mut headers: Vec<_> = names.iter().map(|&name| (name, name)).collect();
        headers.push(("x-not-selected", "x"));
        let found = data(&event(kind, &headers, "{}"));
        let copied: BTreeMap<_, _> = names.iter().map(|&name| (name, name)).collect();
        assert_eq!(found["_source"]["headers"], json!(copied), "{kind}");
    };
    check(
        VerifyType::Github,
        &["x-github-event", "x-github-delivery", "x-github-hook-id"],
    );
    check(
        VerifyType::Gitlab,
        &["x-gitlab-event", "x-gitlab-event-uuid", "x-gitlab-instance"],
    );
    check(
        VerifyType::Slack,
        &["x-slack-retry-num", "x-slack-retry-reason"],
    );
    check(
        VerifyType::Shopify,
        &[
            "x-shopify-topic",
            "x-shopify-shop-domain",
            "x-shopify-webhook-id",
            "x-shopify-api-version",
        ],
    );
    check(VerifyType::Standard, &["webhook-id", "webhook-timestamp"]);
    for kind in [VerifyType::Stripe, VerifyType::Hmac, VerifyType::None] {
        check(kind, &["user-agent"]);
    }
}

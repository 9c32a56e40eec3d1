use svc_core::{SinkId, Timestamp, UserId, delivery_policy::DeliveryPolicy, pattern::Pattern};
use svc_protocol::api::{SinkType, WebhookConfig};
use uuid::Uuid;

use super::*;

fn headers(pairs: &[(&str, &str)]) -> Headers {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn row(number: u128, given: &[(&str, &str)]) -> SinkRow {
    SinkRow {
        id: SinkId(Uuid::from_u128(number)),
        owner_key: UserId::NIL.to_string(),
        owner_id: UserId::NIL,
        name: format!("sink{number}"),
        description: String::new(),
        patterns: vec![Pattern::parse("*", 1).expect("valid")],
        kind: SinkType::Webhook,
        active: true,
        config: SinkConfig::Webhook(WebhookConfig {
            url: "http://example.org/".to_owned(),
            headers: headers(given),
            ..WebhookConfig::default()
        }),
        secret: None,
        previous_secret: None,
        previous_until: None,
        sealed_headers: None,
        sealed_client_key: None,
        policy: DeliveryPolicy::default(),
        paused: None,
        created_at: Timestamp(0),
    }
}

fn shown(row: &SinkRow) -> Headers {
    let webhook = row.config.webhook().expect("a webhook");
    webhook.headers.clone()
}

#[test]
fn header_values_are_encrypted_for_one_sink() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let key = SecretKey::load_or_create(folder.path(), None).expect("a key");
    let mut sealed = row(1, &[("Authorization", "Bearer abc"), ("X-Team", "tea")]);
    let given = shown(&sealed);
    seal(&key, &mut sealed).expect("sealed");
    let masks = headers(&[("Authorization", MASK), ("X-Team", MASK)]);
    assert_eq!(shown(&sealed), masks);
    assert_eq!(open(&key, &sealed).expect("opened"), given);
    let text = format!("{sealed:?}");
    assert!(!text.contains("abc") && !text.contains("tea"), "{text}");

    // The values cannot be decrypted for another sink, or as a signing secret.
    let mut copied = row(2, &[("Authorization", MASK)]);
    copied.sealed_headers.clone_from(&sealed.sealed_headers);
    assert!(open(&key, &copied).is_err());
    let as_secret = sealed.sealed_headers.clone().expect("sealed");
    assert!(sink_secrets::open(&key, &sealed, SinkSecret::Signing, &as_secret).is_err());

    // The values cannot be decrypted for another origin either, but for another path.
    let mut moved = sealed.clone();
    let url_of = |row: &mut SinkRow, new: &str| match &mut row.config {
        SinkConfig::Webhook(webhook) => new.clone_into(&mut webhook.url),
        other => panic!("{other:?}"),
    };
    url_of(&mut moved, "http://example.org/other");
    assert_eq!(open(&key, &moved).expect("opened"), given);
    for other in [
        "https://example.org/",
        "http://example.org:81/",
        "http://evil.example/",
    ] {
        url_of(&mut moved, other);
        assert!(open(&key, &moved).is_err(), "{other}");
    }

    // A patch sets one value and removes the other header.
    sealed.config = row(1, &[("Authorization", "Bearer new")]).config;
    let newer = headers(&[("Authorization", "Bearer new")]);
    assert_eq!(open(&key, &sealed).expect("opened"), newer);
    seal(&key, &mut sealed).expect("sealed");
    assert_eq!(open(&key, &sealed).expect("opened"), newer);
    sealed.config = row(1, &[]).config;
    seal(&key, &mut sealed).expect("sealed");
    assert_eq!(sealed.sealed_headers, None);
}

use serde_json::json;
use svc_core::{Timestamp, UserId, delivery_policy::DeliveryPolicy, pattern::Pattern};
use svc_protocol::api::SinkType;
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
        config: SinkConfig::Webhook {
            url: "http://example.org/".to_owned(),
            headers: headers(given),
            body_template: None,
            options: Default::default(),
        },
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
    match &row.config {
        SinkConfig::Webhook { headers, .. } => headers.clone(),
        other => panic!("{other:?}"),
    }
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
    assert!(key.decrypt(&as_secret, sealed.id.0.as_bytes()).is_err());

    // The values cannot be decrypted for another origin either, but for another path.
    let mut moved = sealed.clone();
    let url_of = |row: &mut SinkRow, new: &str| match &mut row.config {
        SinkConfig::Webhook { url, .. } => new.clone_into(url),
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

    // The row after a change by an earlier version of svc, which writes plain values: one value is
    // new, and the other header is removed.
    sealed.config = row(1, &[("Authorization", "Bearer new")]).config;
    let newer = headers(&[("Authorization", "Bearer new")]);
    assert_eq!(open(&key, &sealed).expect("opened"), newer);
    seal(&key, &mut sealed).expect("sealed");
    assert_eq!(open(&key, &sealed).expect("opened"), newer);
    sealed.config = row(1, &[]).config;
    seal(&key, &mut sealed).expect("sealed");
    assert_eq!(sealed.sealed_headers, None);
}

mod embedded {
    use super::Store;

    fn open() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("the store opens");
        (folder, store)
    }

    #[tokio::test]
    async fn plain_values_are_encrypted_once_by_concurrent_servers() {
        let (_folder, store) = open();
        super::plain_values_are_encrypted_once_by_concurrent_servers(store).await;
    }
}

mod postgres {
    use svc_store::{DatabaseUrl, StoreOptions};
    use svc_testkit::{TestDatabase, TestPostgres};

    use super::Store;

    /// `None` where PostgreSQL is not installed; the testkit reports that.
    async fn open() -> Option<(TestDatabase, Store)> {
        let database = TestPostgres::find()?.database();
        let url = DatabaseUrl::parse(&database.url).expect("a URL");
        let store = Store::connect(url, StoreOptions::default()).await;
        Some((database, store.expect("the store opens")))
    }

    #[tokio::test]
    async fn plain_values_are_encrypted_once_by_concurrent_servers() {
        if let Some((_database, store)) = open().await {
            super::plain_values_are_encrypted_once_by_concurrent_servers(store).await;
        }
    }
}

fn key() -> Arc<SecretKey> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Arc::new(SecretKey::load_or_create(folder.path(), None).expect("a key"))
}

#[tokio::test]
async fn secrets_of_earlier_versions_are_bound_to_their_origin_at_the_start() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(folder.path()).expect("the store opens");
    let key = key();
    let mut former = row(1, &[("Authorization", MASK)]);
    let id = former.id.0.as_bytes();
    let values = br#"{"Authorization":"Bearer abc"}"#;
    former.sealed_headers = Some(key.encrypt(values, &[id, &b" headers"[..]].concat()));
    former.secret = Some(key.encrypt(b"signing", id));
    former.previous_secret = Some(key.encrypt(b"previous", id));
    assert!(open(&key, &former).is_err(), "not bound yet");
    // A secret that was encrypted with another key stays.
    let mut lost = row(2, &[]);
    lost.secret = Some(self::key().encrypt(b"signing", lost.id.0.as_bytes()));
    let stored = [former.clone(), lost.clone()];
    let write = move |tx: &mut Tx<'_>| stored.iter().try_for_each(|row| sinks::insert(tx, row));
    store.write(write).await.expect("stored");
    let both = tokio::join!(seal_stored(&store, &key), seal_stored(&store, &key));
    assert_eq!(both, (Ok(()), Ok(())));
    let read = |tx: &mut Tx<'_>| sinks::list_webhooks_after(tx, SinkId::NIL, 10);
    let found = store.read(read).await.expect("read");
    let authorization = headers(&[("Authorization", "Bearer abc")]);
    assert_eq!(open(&key, &found[0]).expect("opened"), authorization);
    for (sealed, expected) in [
        (&found[0].secret, &b"signing"[..]),
        (&found[0].previous_secret, b"previous"),
    ] {
        let sealed = sealed.as_ref().expect("stored");
        let opened = SinkSecret::Signing.open(&key, &found[0], sealed);
        assert_eq!(opened.expect("opened"), expected);
        assert!(key.decrypt(sealed, id).is_err(), "bound");
    }
    assert_eq!(found[1].secret, lost.secret);
    // A second run changes nothing.
    assert_eq!(seal_stored(&store, &key).await, Ok(()));
    assert_eq!(store.read(read).await.expect("read"), found);
    store.close().await;
}

async fn plain_values_are_encrypted_once_by_concurrent_servers(store: Store) {
    let key = key();
    let rows = [
        row(1, &[("Authorization", "Bearer abc")]),
        row(2, &[]),
        // A plain value may be equal to the mask.
        row(3, &[("X-Team", MASK)]),
    ];
    store
        .write(move |tx| rows.iter().try_for_each(|row| sinks::insert(tx, row)))
        .await
        .expect("stored");
    let both = tokio::join!(seal_stored(&store, &key), seal_stored(&store, &key));
    assert_eq!(both, (Ok(()), Ok(())));
    let read = |tx: &mut Tx<'_>| sinks::list_webhooks_after(tx, SinkId::NIL, 10);
    let stored = store.read(read).await.expect("read");
    let opened: Vec<_> = stored
        .iter()
        .map(|row| open(&key, row).expect("opened"))
        .collect();
    let expected = [
        headers(&[("Authorization", "Bearer abc")]),
        headers(&[]),
        headers(&[("X-Team", MASK)]),
    ];
    assert_eq!(opened, expected);
    assert_eq!(shown(&stored[0]), headers(&[("Authorization", MASK)]));
    assert!(
        stored.iter().all(|row| !has_plain_values(row)),
        "{stored:?}"
    );
    // A second run changes nothing.
    assert_eq!(seal_stored(&store, &key).await, Ok(()));
    assert_eq!(store.read(read).await.expect("read"), stored);
    assert_eq!(json!(shown(&stored[2])), json!({"X-Team": MASK}));
    store.close().await;
}

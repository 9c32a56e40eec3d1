//! Waiting rows are limited for each owner and are written in groups.

use svc_core::{
    QuotaOverrides, Timestamp, UserName,
    journal::{CallEnd, CallPayload, CallVia, JsonPointer, Payload, PayloadOmission},
};
use svc_store::{
    PageRequest, Tx,
    calls::{self, CallFilter, Reach},
    records,
    users::UserRow,
};
use uuid::Uuid;

use super::*;
use crate::metrics::MetricsOptions;

fn row(caller: UserId) -> CallRow {
    CallRow {
        at: svc_clock::now(),
        number: 0,
        process: 0,
        caller,
        credential: None,
        via: CallVia::Api,
        method: "notes.find".into(),
        space: None,
        end: CallEnd::Ok,
        code: 0,
        duration_us: 5,
        times: None,
        params_bytes: 2,
        result_bytes: 2,
        trace: 0,
    }
}

struct Fixture {
    journal: Journal,
    _folder: tempfile::TempDir,
}

impl Fixture {
    fn new(options: JournalOptions) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).expect("the store opens");
        Self {
            journal: Journal::new(store, Metrics::new(MetricsOptions::default()), options),
            _folder: folder,
        }
    }

    async fn user(&self, name: &'static str) -> UserId {
        let user = UserRow {
            quotas: QuotaOverrides::default(),
            id: UserId(Uuid::now_v7()),
            username: UserName::parse(name).expect("valid"),
            password_hash: "x".into(),
            active: true,
            created_at: Timestamp(1),
        };
        let id = user.id;
        let insert = move |tx: &mut Tx<'_>| records::insert(tx, &user);
        self.journal.store.write(insert).await.expect("inserted");
        id
    }

    /// Records a call with these params.
    fn record_params(&self, owner: UserId, params: &str) {
        let payloads = CallPayloads {
            params: Some(params),
            answer: None,
            is_error: false,
            redact: &[JsonPointer::parse("/pin").expect("valid")].into(),
        };
        self.journal.record(owner, row(owner), Some(payloads));
    }

    /// The recorded payloads of an owner's calls, newest first.
    async fn payloads(&self, owner: UserId) -> Vec<Option<CallPayload>> {
        let page = PageRequest::parse(None, Some(1_000)).expect("valid");
        let read = move |tx: &mut Tx<'_>| {
            let found = calls::list(tx, Reach::Of(owner), &CallFilter::default(), page)?;
            let ids = found.calls.iter().map(|call| call.row.id());
            ids.map(|id| calls::find_payload(tx, owner, id)).collect()
        };
        self.journal.store.read(read).await.expect("read")
    }

    async fn count(&self, user: UserId) -> usize {
        let mut page = PageRequest::parse(None, Some(1_000)).expect("valid");
        let mut count = 0;
        loop {
            let read = move |tx: &mut Tx<'_>| {
                calls::list(tx, Reach::Of(user), &CallFilter::default(), page)
            };
            let found = self.journal.store.read(read).await.expect("read");
            count += found.calls.len();
            let Some(next) = found.next_cursor else {
                return count;
            };
            page = PageRequest::parse(Some(&next), Some(1_000)).expect("valid");
        }
    }
}

#[tokio::test]
async fn a_flood_of_one_owner_drops_only_rows_of_this_owner() {
    let fixture = Fixture::new(JournalOptions::default());
    let (flooding, quiet) = (fixture.user("ann").await, fixture.user("bob").await);
    // One caller has half of the places of an owner.
    for _ in 0..WAITING_OF_OWNER_MAX / 2 + 10 {
        fixture.journal.record(flooding, row(flooding), None);
    }
    fixture.journal.record(flooding, row(quiet), None);
    fixture.journal.record(quiet, row(quiet), None);
    assert_eq!(fixture.journal.count_dropped(Some(flooding)), 10);
    assert_eq!(fixture.journal.count_dropped(Some(quiet)), 0);
    assert_eq!(fixture.journal.count_dropped(None), 10);
    fixture.journal.flush().await;
    assert_eq!(fixture.count(quiet).await, 2);
    let rows = WAITING_OF_OWNER_MAX / 2 + 1;
    assert_eq!(fixture.count(flooding).await, rows);
}

#[tokio::test]
async fn rows_of_an_owner_are_kept_up_to_the_limit() {
    let fixture = Fixture::new(JournalOptions {
        rows_per_owner: 100,
        ..JournalOptions::default()
    });
    let (ann, bob) = (fixture.user("ann").await, fixture.user("bob").await);
    fixture.journal.record(bob, row(bob), None);
    for _ in 0..30 {
        for _ in 0..10 {
            fixture.journal.record(ann, row(ann), None);
        }
        fixture.journal.flush().await;
    }
    fixture.journal.maintain().await;
    let kept = fixture.count(ann).await;
    assert!((100..110).contains(&kept), "{kept} rows");
    assert_eq!(fixture.count(bob).await, 1);
}

#[tokio::test]
async fn a_deleted_owner_does_not_stop_the_rows_of_others() {
    let fixture = Fixture::new(JournalOptions::default());
    let ann = fixture.user("ann").await;
    fixture
        .journal
        .record(UserId(Uuid::now_v7()), row(ann), None);
    fixture.journal.record(ann, row(ann), None);
    fixture.journal.flush().await;
    assert_eq!(fixture.count(ann).await, 1);
    assert_eq!(fixture.journal.count_dropped(None), 0);
}

#[test]
fn more_rows_of_an_owner_keep_more_payloads() {
    for (rows_per_owner, expected) in [
        (0, 4 << 20),
        (2_000, 4 << 20),
        (100_000, 67_200_000),
        (u64::MAX, u64::MAX),
    ] {
        let options = JournalOptions {
            rows_per_owner,
            ..JournalOptions::default()
        };
        assert_eq!(options.payload_bytes_per_owner(), expected);
    }
}

#[tokio::test]
async fn a_journal_that_is_off_records_nothing() {
    let fixture = Fixture::new(JournalOptions {
        rows_per_owner: 0,
        ..JournalOptions::default()
    });
    let ann = fixture.user("ann").await;
    fixture.journal.record(ann, row(ann), None);
    fixture.journal.flush().await;
    assert_eq!(fixture.count(ann).await, 0);
}

#[tokio::test]
async fn rows_that_cannot_be_written_are_counted_as_dropped() {
    let fixture = Fixture::new(JournalOptions::default());
    let ann = fixture.user("ann").await;
    fixture.journal.store.close().await;
    fixture.journal.record(ann, row(ann), None);
    fixture.journal.flush().await;
    assert_eq!(fixture.journal.count_dropped(Some(ann)), 1);
}

#[tokio::test]
async fn params_are_redacted_before_they_are_written() {
    let fixture = Fixture::new(JournalOptions::default());
    let ann = fixture.user("ann").await;
    fixture.record_params(ann, r#"{"pin": "1234", "n": 1}"#);
    fixture.journal.record(ann, row(ann), None);
    fixture.journal.flush().await;
    let payloads = fixture.payloads(ann).await;
    let [None, Some(payload)] = payloads.as_slice() else {
        panic!("{payloads:?}");
    };
    let expected = r#"{"pin":"[redacted]","n":1}"#;
    assert_eq!(payload.params, Payload::Text(expected.into()));
    assert_eq!(payload.answer, Payload::Absent);
}

#[tokio::test]
async fn a_flood_of_payloads_drops_only_payloads_of_its_owner() {
    let large = format!("\"{}\"", "x".repeat(1_000_000));
    // The limit is for one second. If a busy machine needs longer, the test tries again.
    let mut tries = 0;
    let (fixture, flooding, quiet) = loop {
        tries += 1;
        assert!(tries <= 20, "the machine is too slow for this test");
        let fixture = Fixture::new(JournalOptions {
            payload_bytes: 1024 * 1024,
            ..JournalOptions::default()
        });
        let (flooding, quiet) = (fixture.user("ann").await, fixture.user("bob").await);
        let start = std::time::Instant::now();
        for _ in 0..20 {
            fixture.record_params(flooding, &large);
        }
        fixture.record_params(quiet, &large);
        if start.elapsed() < Duration::from_secs(1) {
            break (fixture, flooding, quiet);
        }
    };
    fixture.journal.flush().await;
    let params = |payload: Option<CallPayload>| payload.expect("recorded").params;
    let text = Payload::Text(large.into());
    let dropped = Payload::Omitted(PayloadOmission::Dropped);
    let of_flooding: Vec<_> = fixture.payloads(flooding).await;
    let of_flooding: Vec<_> = of_flooding.into_iter().map(params).rev().collect();
    // Every row is written. One caller may use half of what one owner may use: a quarter of the
    // 16 MiB of payloads in a second.
    assert_eq!(of_flooding.len(), 20);
    assert!(of_flooding[..4].iter().all(|params| *params == text));
    assert!(of_flooding[4..].iter().all(|params| *params == dropped));
    let of_quiet = fixture.payloads(quiet).await;
    assert_eq!(of_quiet.into_iter().map(params).collect::<Vec<_>>(), [text]);
    assert_eq!(fixture.journal.count_dropped(None), 0);
}

#[tokio::test]
async fn no_payload_is_stored_if_the_limit_is_zero() {
    let fixture = Fixture::new(JournalOptions {
        payload_bytes: 0,
        ..JournalOptions::default()
    });
    let ann = fixture.user("ann").await;
    fixture.record_params(ann, "{}");
    fixture.journal.flush().await;
    assert_eq!(fixture.payloads(ann).await, [None]);
}

//! Entries of the server about the records of one owner, on both engines.

use serde_json::json;
use svc_protocol::api::AuditEntry;

use super::*;
use crate::{
    Store,
    engines::{TestEngine, on_each_engine},
};

const AT: Timestamp = Timestamp(1_790_000_000_000);

/// An entry of about 2.3 KiB.
fn dropped(target: &str, number: u64, at: Timestamp) -> Entry {
    let detail = json!({"n": number, "note": "x".repeat(1_900)});
    let target = ("event_sink", target.to_owned());
    Entry::by_system(at, "event_sink.dropped", target, detail)
}

async fn append_many(store: &Store, owner: &'static str, numbers: std::ops::Range<u64>) {
    let writing = store.write(move |tx| {
        for number in numbers {
            append_for(tx, owner, &dropped(owner, number, AT))?;
        }
        Ok(())
    });
    writing.await.expect("committed");
}

async fn list_all(store: &Store, target: &'static str) -> Vec<AuditEntry> {
    let query = AuditQuery {
        target_id: Some(target.to_owned()),
        ..AuditQuery::default()
    };
    let mut entries = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let request = PageRequest::parse(cursor.as_deref(), Some(1_000)).expect("valid");
        let query = query.clone();
        let page = store.read(move |tx| list(tx, &query, request));
        let page = page.await.expect("read");
        entries.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return entries;
        }
    }
}

async fn entries_of_the_server_about_one_owner_are_merged_beyond_a_limit(engine: &TestEngine) {
    let store = engine.open().await;
    append_many(&store, "ann", 0..6_000).await;
    append_many(&store, "bob", 0..1).await;
    let entries = list_all(&store, "ann").await;
    let bytes: usize = entries
        .iter()
        .map(|entry| entry.detail.to_string().len())
        .sum();
    assert!(bytes <= 10 * 1024 * 1024, "{bytes} bytes");
    let single = entries.iter().filter(|entry| entry.count == 1).count() as u64;
    assert!((4_000..5_500).contains(&single), "{single} entries");
    let merged: Vec<_> = entries.iter().filter(|entry| entry.count > 1).collect();
    let [merged] = merged.as_slice() else {
        panic!("{} merged entries", merged.len());
    };
    // No drop is without an entry, and the newest detail is known.
    assert_eq!(merged.count + single, 6_000);
    assert_eq!(merged.detail["n"], 5_999);
    // An owner's flood merges no entries of other owners.
    assert_eq!(list_all(&store, "bob").await[0].count, 1);
    // A further entry in the same period is found by its own time, although the id of the merged
    // entry begins with the start of the period.
    let later = AT.plus(Duration::from_secs(60));
    let writing = store.write(move |tx| append_for(tx, "ann", &dropped("ann", 9, later)));
    writing.await.expect("committed");
    let query = AuditQuery {
        since: Some(later),
        ..AuditQuery::default()
    };
    let page = store.read(move |tx| list(tx, &query, PageRequest::default()));
    let found = page.await.expect("read").items;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].at, &found[0].detail["n"]), (later, &json!(9)));
}

async fn a_new_day_begins_with_single_entries(engine: &TestEngine) {
    let store = engine.open().await;
    append_many(&store, "ann", 0..6_000).await;
    let tomorrow = AT.plus(Duration::from_secs(24 * 60 * 60));
    let writing = store.write(move |tx| append_for(tx, "ann", &dropped("new", 1, tomorrow)));
    writing.await.expect("committed");
    assert_eq!(list_all(&store, "new").await[0].count, 1);
}

async fn a_transaction_notes_the_entries_that_it_wrote(engine: &TestEngine) {
    let store = engine.open().await;
    let writing = store.write(|tx| {
        let mut entry = dropped("x", 1, AT);
        entry.detail = json!({"patterns": vec!["custom.x.*"; 1_000]});
        append(tx, &entry)?;
        let written = tx.take_audited();
        assert_eq!(written.len(), 1);
        assert_eq!(written[0].action, "event_sink.dropped");
        assert!(written[0].bytes < 3 * 1024, "{} bytes", written[0].bytes);
        assert_eq!(tx.take_audited(), []);
        Ok(())
    });
    writing.await.expect("committed");
    assert_eq!(list_all(&store, "x").await[0].detail["cut"], true);
}

async fn the_use_of_a_user_is_counted_by_day(engine: &TestEngine) {
    let store = engine.open().await;
    let writing = store.write(|tx| {
        let ann = svc_core::UserId(Uuid::from_u128(1));
        assert_eq!(usage::add(tx, ann, AT, 10)?, 10);
        assert_eq!(usage::add(tx, ann, AT, 5)?, 15);
        assert_eq!(usage::bytes_on_day(tx, ann, AT)?, 15);
        let tomorrow = AT.plus(Duration::from_secs(24 * 60 * 60));
        assert_eq!(usage::bytes_on_day(tx, ann, tomorrow)?, 0);
        assert_eq!(usage::add(tx, ann, tomorrow, 7)?, 7);
        Ok(())
    });
    writing.await.expect("committed");
}

on_each_engine!(
    entries_of_the_server_about_one_owner_are_merged_beyond_a_limit,
    a_new_day_begins_with_single_entries,
    a_transaction_notes_the_entries_that_it_wrote,
    the_use_of_a_user_is_counted_by_day,
);

//! Tables through which the servers of a zone exchange the use of limits, failed logins and logs.

use std::time::Duration;

use svc_core::{ServerId, SpaceId, Timestamp, login::Failures};
use uuid::Uuid;

use crate::{
    engines::{TestEngine, on_each_engine},
    limit_use,
    log_requests::{self, LogRequest},
    login_failures,
};

const MINUTE: Duration = Duration::from_secs(60);

async fn reports_of_other_servers_are_read_while_they_are_new(engine: &TestEngine) {
    let store = engine.open().await;
    let [one, other] = [1, 2].map(|n| ServerId(Uuid::from_u128(n)));
    let write = move |tx: &mut crate::Tx<'_>| {
        limit_use::set(tx, one, "old")?;
        limit_use::set(tx, one, "new")?;
        limit_use::set(tx, other, "own")
    };
    store.write(write).await.expect("committed");
    let read = move |tx: &mut crate::Tx<'_>| limit_use::list_others(tx, other, MINUTE);
    let found = store.read(read).await.expect("read");
    assert_eq!(found, [(one, "new".to_owned())]);
    let prune = |tx: &mut crate::Tx<'_>| {
        let later = tx.now()?.plus(MINUTE);
        limit_use::prune(tx, later)
    };
    assert_eq!(store.write(prune).await, Ok(2));
    store.close().await;
}

async fn failed_logins_are_counted_reset_and_pruned(engine: &TestEngine) {
    let store = engine.open().await;
    let failures = |count| Failures {
        count,
        last: Timestamp(i64::from(count)),
    };
    let write = move |tx: &mut crate::Tx<'_>| {
        login_failures::set(tx, 1, failures(1))?;
        login_failures::set(tx, 1, failures(2))?;
        login_failures::set(tx, 2, failures(3))?;
        login_failures::set(tx, 3, failures(4))?;
        login_failures::reset(tx, 2)
    };
    store.write(write).await.expect("committed");
    let find = |tx: &mut crate::Tx<'_>| login_failures::find(tx, &[1, 2, 9]);
    let found = store.read(find).await.expect("read");
    assert_eq!(found, [(1, failures(2))].into());
    let prune = |tx: &mut crate::Tx<'_>| login_failures::prune(tx, Timestamp(4));
    assert_eq!(store.write(prune).await, Ok(1));
    store.close().await;
}

async fn a_request_for_a_log_is_answered_and_removed(engine: &TestEngine) {
    let store = engine.open().await;
    let request = LogRequest {
        id: "r".to_owned(),
        server_id: ServerId(Uuid::from_u128(1)),
        space_id: SpaceId(Uuid::from_u128(2)),
        after_line: None,
        line_limit: 10,
        lines: None,
    };
    let added = request.clone();
    store
        .write(move |tx| log_requests::add(tx, &added))
        .await
        .expect("committed");
    let find = |tx: &mut crate::Tx<'_>| log_requests::find(tx, "r");
    assert_eq!(store.read(find).await, Ok(Some(request)));
    let answer = |tx: &mut crate::Tx<'_>| log_requests::answer(tx, "r", "[]");
    store.write(answer).await.expect("committed");
    let lines = store.read(find).await.expect("read");
    assert_eq!(lines.and_then(|found| found.lines).as_deref(), Some("[]"));
    let remove = |tx: &mut crate::Tx<'_>| log_requests::remove(tx, "r");
    store.write(remove).await.expect("committed");
    assert_eq!(store.read(find).await, Ok(None));
    store.close().await;
}

on_each_engine!(
    reports_of_other_servers_are_read_while_they_are_new,
    failed_logins_are_counted_reset_and_pruned,
    a_request_for_a_log_is_answered_and_removed,
);

//! Visits of all matching calls, on both engines. `super` compares them with lists.

use svc_core::{Id, Timestamp, UserId};

use super::{row, two_users};
use crate::{
    Store, Tx,
    calls::{self, CallFilter, Coverage, Reach},
    engines::{TestEngine, on_each_engine},
    sql::values,
};

/// The maximum number of blocks that one visit reads.
const BLOCKS_MAX: u64 = 1_000;

/// The ids of all visited calls, newest first.
pub(super) async fn visit(store: &Store, reach: Reach, filter: &CallFilter) -> (Vec<Id>, Coverage) {
    let filter = filter.clone();
    let read = move |tx: &mut Tx<'_>| {
        let mut ids = Vec::new();
        let coverage = calls::visit(tx, reach, &filter, |row| ids.push(row.id()))?;
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok((ids, coverage))
    };
    store.read(read).await.expect("the read succeeds")
}

/// Writes blocks of one call each. The calls end at these times.
async fn write_blocks(store: &Store, owner: UserId, times: impl Iterator<Item = i64>) {
    let rows: Vec<_> = times.zip(1..).map(|(at, n)| row(owner, at, n)).collect();
    let write = move |tx: &mut Tx<'_>| {
        for row in rows {
            calls::append(tx, owner, vec![row])?;
        }
        Ok(())
    };
    store.write(write).await.expect("written");
}

async fn a_visit_of_too_many_blocks_has_the_newest_calls(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, bob) = two_users(&store).await;
    let newest = BLOCKS_MAX.cast_signed() + 5;
    write_blocks(&store, ann, 1..=newest).await;
    let wanted: Vec<_> = (6..=newest)
        .rev()
        .map(|at| row(ann, at, at.cast_unsigned()).id())
        .collect();
    for reach in [Reach::All, Reach::Of(ann)] {
        let (ids, coverage) = visit(&store, reach, &CallFilter::default()).await;
        assert_eq!(coverage, Coverage::Since(Timestamp(6)));
        assert_eq!(ids, wanted);
    }
    // With a time filter, the visit needs fewer blocks.
    let since = CallFilter {
        since: Some(Timestamp(newest - 1)),
        ..CallFilter::default()
    };
    let (ids, coverage) = visit(&store, Reach::All, &since).await;
    assert_eq!((ids.as_slice(), coverage), (&wanted[..2], Coverage::All));
    let (ids, coverage) = visit(&store, Reach::Of(bob), &CallFilter::default()).await;
    assert_eq!((ids, coverage), (Vec::new(), Coverage::All));
}

async fn a_visit_of_too_many_rows_has_the_newest_calls(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, _) = two_users(&store).await;
    write_blocks(&store, ann, 1..=10).await;
    // The visit believes the stored number of rows.
    let enlarge = |tx: &mut Tx<'_>| {
        let sql = "UPDATE call_blocks SET row_count = ?1 WHERE last_at IN (7, 8)";
        tx.execute(sql, values![100_000_i64])
    };
    store.write(enlarge).await.expect("changed");
    let (ids, coverage) = visit(&store, Reach::All, &CallFilter::default()).await;
    assert_eq!(coverage, Coverage::Since(Timestamp(7)));
    assert_eq!(ids.len(), 4);
}

async fn a_visit_says_if_calls_of_any_time_may_be_missing(engine: &TestEngine) {
    let store = engine.open().await;
    let (ann, _) = two_users(&store).await;
    let blocks = usize::try_from(BLOCKS_MAX).expect("small") + 5;
    write_blocks(&store, ann, std::iter::repeat_n(8, blocks)).await;
    let of_that_time = CallFilter {
        until: Some(Timestamp(8)),
        ..CallFilter::default()
    };
    let (ids, coverage) = visit(&store, Reach::All, &of_that_time).await;
    assert_eq!(coverage, Coverage::Part);
    assert_eq!(ids.len() as u64, BLOCKS_MAX);
}

on_each_engine!(
    a_visit_of_too_many_blocks_has_the_newest_calls,
    a_visit_of_too_many_rows_has_the_newest_calls,
    a_visit_says_if_calls_of_any_time_may_be_missing,
);

//! The calls that the caller made, or all calls, over time (`GET /api/stats/calls`).
//!
//! A user has one series of small blocks, and all users together have one. So the cost of an answer
//! depends neither on the number of methods nor on the number of users.

use svc_core::{
    Timestamp, UserId,
    activity_stats::{MethodCount, StatsRange, Subject},
};
use svc_protocol::api::{CallTotals, MethodStatsPoint};
use svc_store::{
    StoreError, Tx,
    method_stats::{self, StatsTable},
};

use super::{
    Overview, Scope,
    methods::{point, show_points},
};
use crate::{identity::Caller, records::Result};

impl Overview {
    pub async fn get_calls(
        &self,
        caller: &Caller,
        scope: Scope,
        range: StatsRange,
    ) -> Result<CallTotals> {
        let user = scope.user_of(caller)?;
        let now = svc_clock::now();
        let read = move |tx: &mut Tx<'_>| list_calls(tx, user, range.first(now));
        let counts = self.store.read_list(caller.user.id, read).await?;
        let (total, points) = self.show_calls(user, range, now, counts);
        Ok(CallTotals {
            scope: scope.label().to_owned(),
            range,
            step_seconds: range.step().as_secs(),
            total,
            points,
        })
    }

    /// Adds the calls that are not stored yet to the stored calls of a range. Returns the sum and
    /// the points.
    pub(super) fn show_calls(
        &self,
        user: UserId,
        range: StatsRange,
        now: Timestamp,
        mut counts: Vec<(Timestamp, MethodCount)>,
    ) -> (MethodStatsPoint, Vec<MethodStatsPoint>) {
        let unwritten = self.calls.find_unwritten(user);
        if unwritten.calls() > 0 {
            counts.push((now, unwritten));
        }
        show_points(range, range.first(now), &counts, point)
    }
}

/// The stored calls of a user, or of all users, since a time.
pub(super) fn list_calls(
    tx: &mut Tx<'_>,
    user: UserId,
    since: Timestamp,
) -> Result<Vec<(Timestamp, MethodCount)>, StoreError> {
    method_stats::list(tx, StatsTable::Calls, user, &Subject::Several, since)
}

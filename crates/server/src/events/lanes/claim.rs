//! Claims lanes, with the slots that [`Schedule`] granted.

use std::time::Duration;

use parking_lot::Mutex;
use svc_core::{ServerId, Timestamp};
use svc_store::{StoreError, Tx, lanes};

use super::{
    schedule::{Grant, Schedule},
    turn::{self, LaneProgress, TransactionTime},
};

/// The lanes that were claimed with a grant.
pub(super) struct ClaimedLanes {
    pub(super) grant: Grant,
    pub(super) progress: Vec<LaneProgress>,
    /// How long until another lane of the owner is due; `None` if no lane has deliveries.
    pub(super) next: Option<Duration>,
}

/// Grants that are not used yet. Dropping the value releases their slots.
pub(super) struct UnusedGrants<'a> {
    pub(super) schedule: &'a Mutex<Schedule>,
    pub(super) grants: Vec<Grant>,
}

impl Drop for UnusedGrants<'_> {
    fn drop(&mut self) {
        let mut schedule = self.schedule.lock();
        for grant in &self.grants {
            schedule.settle(grant, 0, None);
        }
    }
}

/// How long until a lane of the grant's owner is due; `None` if no lane has deliveries.
pub(super) fn time_until_due(
    tx: &mut Tx<'_>,
    server: ServerId,
    grant: &Grant,
    now: Timestamp,
) -> Result<Option<Duration>, StoreError> {
    let first = lanes::first_due(tx, server, (grant.kind, &grant.owner), now)?;
    Ok(first.map(|at| at.since(now)))
}

/// Claims due lanes of the grant's owner and begins their first deliveries.
pub(super) fn claim_lanes(
    tx: &mut Tx<'_>,
    server: ServerId,
    grant: Grant,
    time: TransactionTime,
) -> Result<ClaimedLanes, StoreError> {
    let owner = (grant.kind, &*grant.owner);
    let span = (time.now, time.lease_until);
    let held = lanes::claim(tx, server, owner, span, grant.slots)?;
    let next = if held.len() < grant.slots {
        time_until_due(tx, server, &grant, time.now)?
    } else {
        // All slots are used, so more lanes may be due.
        Some(Duration::ZERO)
    };
    let begin = |held| turn::begin(tx, held, time).transpose();
    let progress = held
        .into_iter()
        .filter_map(begin)
        .collect::<Result<_, _>>()?;
    Ok(ClaimedLanes {
        grant,
        progress,
        next,
    })
}

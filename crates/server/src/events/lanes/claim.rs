//! Claims lanes, with the slots that [`Schedule`] granted.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use svc_core::{ServerId, Timestamp};
use svc_store::{
    Grouped, GroupedResult, StoreError, Tx,
    lanes::{self, Claim, Claimed},
};
use tokio_util::sync::CancellationToken;

use super::{
    schedule::{Grant, Schedule},
    turn::{self, LaneProgress, TransactionTime},
};

/// The lanes that were claimed with a grant.
pub(super) struct ClaimedLanes {
    pub(super) grant: Grant,
    pub(super) progress: Vec<LaneProgress>,
    /// How long until another lane of the owner is due, or a claimed lane that was released at once
    /// because of its rate; `None` if there is no such lane with deliveries that this server may
    /// claim.
    pub(super) next: Option<Duration>,
}

impl ClaimedLanes {
    fn none(grant: Grant) -> Self {
        Self {
            grant,
            progress: Vec::new(),
            next: None,
        }
    }
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

fn claims(grants: &[Grant]) -> Vec<Claim<'_>> {
    let claims = grants.iter().map(|grant| Claim {
        kind: grant.kind,
        owner_key: &grant.owner,
        limit: grant.slots,
    });
    claims.collect()
}

/// For each grant: how long until a lane of its owner is due. `None` if the owner has no lane with
/// deliveries that this server may claim.
pub(super) fn times_until_due(
    tx: &mut Tx<'_>,
    server: ServerId,
    grants: &[Grant],
    now: Timestamp,
) -> Result<Vec<Option<Duration>>, StoreError> {
    let first = lanes::first_due(tx, server, &claims(grants), now)?.into_iter();
    Ok(first.map(|at| at.map(|at| at.since(now))).collect())
}

/// Claims due lanes of the grants' owners and begins their first deliveries.
fn claim_lanes(
    tx: &mut Tx<'_>,
    server: ServerId,
    grants: &[Grant],
    time: TransactionTime,
) -> Result<Vec<ClaimedLanes>, StoreError> {
    let span = (time.now, time.lease_until);
    let claimed = lanes::claim(tx, server, &claims(grants), span)?;
    let leases: Vec<_> = grants
        .iter()
        .zip(&claimed)
        .flat_map(|(grant, claimed)| claimed.leases.iter().map(|lease| (grant.kind, *lease)))
        .collect();
    let begun = turn::begin(tx, &leases, time)?;
    let mut begun: HashMap<_, _> = begun.into_iter().map(|one| (one.held, one)).collect();
    let claimed = grants.iter().zip(claimed);
    let claimed = claimed.map(|(grant, Claimed { leases, next_due })| {
        let progress: Vec<_> = leases.iter().filter_map(|one| begun.remove(one)).collect();
        let released = progress.iter().filter_map(|one| one.released_until());
        let next = released.chain(next_due).min();
        ClaimedLanes {
            grant: grant.clone(),
            progress,
            next: next.map(|at| at.since(time.now)),
        }
    });
    Ok(claimed.collect())
}

/// Claims lanes for the engine. The claim shares a commit with emits and results of deliveries that
/// are written at the same time.
pub(super) struct ClaimCommand {
    pub(super) server: ServerId,
    pub(super) grants: Vec<Grant>,
    pub(super) lease: Duration,
    pub(super) shutdown: CancellationToken,
}

impl Grouped for ClaimCommand {
    type Answer = Vec<ClaimedLanes>;
    type Error = StoreError;

    fn run_together(
        tx: &mut Tx<'_>,
        commands: &[&Self],
    ) -> Result<Vec<GroupedResult<Self>>, StoreError> {
        let claims = commands.iter().map(|command| command.run_alone(tx));
        claims.map(|claimed| Ok(Some(Ok(claimed?)))).collect()
    }

    fn run_alone(&self, tx: &mut Tx<'_>) -> Result<Vec<ClaimedLanes>, StoreError> {
        // The server stops: do not claim again a lane that a worker just released.
        if self.shutdown.is_cancelled() {
            let grants = self.grants.iter().cloned();
            return Ok(grants.map(ClaimedLanes::none).collect());
        }
        let time = TransactionTime::of(tx, self.lease)?;
        claim_lanes(tx, self.server, &self.grants, time)
    }
}

#[cfg(test)]
mod tests {
    use svc_store::lanes::DeliveryKind;
    use tokio::time::Instant;

    use super::*;
    use crate::events::lanes::schedule::Slots;

    #[test]
    fn grants_that_are_not_used_release_their_slots() {
        let (owner, now) = ("ann".into(), Instant::now());
        let slots = Slots {
            webhook: 4,
            ..Slots::default()
        };
        let schedule = Mutex::new(Schedule::new(slots));
        let plan = || {
            let mut schedule = schedule.lock();
            schedule.note_due(DeliveryKind::Webhook, &owner, now);
            schedule.plan(now)
        };
        let first = plan();
        assert_eq!(first.len(), 1);
        assert_eq!(plan(), [], "the owner has no further slot");
        drop(UnusedGrants {
            schedule: &schedule,
            grants: first.clone(),
        });
        assert_eq!(plan(), first);
    }
}

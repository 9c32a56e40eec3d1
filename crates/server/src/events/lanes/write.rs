//! The writes of workers: results and renewed leases. Writes that wait for the same commit run
//! together.

use std::{collections::HashSet, sync::Arc, time::Duration};

use svc_store::{
    Grouped, GroupedResult, StoreError, Tx,
    lanes::{self, LaneLease},
};

use super::turn::{self, LaneProgress, Results, TransactionTime};

/// Records results of one lane. The answer is `None` if the lane is no longer held.
pub(super) struct RecordCommand {
    pub(super) results: Arc<Results>,
    pub(super) lease: Duration,
}

impl Grouped for RecordCommand {
    type Answer = Option<LaneProgress>;
    type Error = StoreError;

    fn run_together(
        tx: &mut Tx<'_>,
        commands: &[&Self],
    ) -> Result<Vec<GroupedResult<Self>>, StoreError> {
        let Some(lease) = commands.first().map(|command| command.lease) else {
            return Ok(Vec::new());
        };
        // A second command for the same lane must read the changes of the first one, so it runs
        // alone afterwards.
        let mut lanes = HashSet::new();
        let is_first: Vec<_> = commands
            .iter()
            .map(|command| lanes.insert(command.results.0.held.lane))
            .collect();
        let first = commands.iter().zip(&is_first);
        let first = first.filter(|(_, is_first)| **is_first);
        let results: Vec<_> = first.map(|(command, _)| &*command.results).collect();
        let mut recorded = turn::record(tx, &results, lease)?.into_iter();
        let answers = is_first
            .into_iter()
            .map(|is_first| is_first.then(|| recorded.next().ok_or(StoreError::NoRow)));
        Ok(answers.collect())
    }

    fn run_alone(&self, tx: &mut Tx<'_>) -> Result<Option<LaneProgress>, StoreError> {
        let recorded = turn::record(tx, &[&self.results], self.lease)?;
        recorded.into_iter().next().ok_or(StoreError::NoRow)
    }
}

/// Renews the lease of a lane. The answer is false if the lane is no longer held.
pub(super) struct RenewCommand {
    pub(super) held: LaneLease,
    pub(super) lease: Duration,
}

impl Grouped for RenewCommand {
    type Answer = bool;
    type Error = StoreError;

    fn run_together(
        tx: &mut Tx<'_>,
        commands: &[&Self],
    ) -> Result<Vec<GroupedResult<Self>>, StoreError> {
        let Some(lease) = commands.first().map(|command| command.lease) else {
            return Ok(Vec::new());
        };
        let until = TransactionTime::of(tx, lease)?.lease_until;
        let leases: Vec<_> = commands.iter().map(|command| command.held).collect();
        let renewed = lanes::turn::renew(tx, &leases, until)?.into_iter();
        Ok(renewed.map(|is_held| Some(Ok(is_held))).collect())
    }

    fn run_alone(&self, tx: &mut Tx<'_>) -> Result<bool, StoreError> {
        let until = TransactionTime::of(tx, self.lease)?.lease_until;
        let renewed = lanes::turn::renew(tx, &[self.held], until)?;
        Ok(renewed == [true])
    }
}

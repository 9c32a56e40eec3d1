//! Counts calls by caller or by credential.

use std::{cmp::Reverse, collections::HashMap};

use svc_core::{
    Timestamp, UserId,
    journal::{CallCredential, CallGrouping, CallRow},
};
use svc_protocol::api::{CallGroup, CallQuery, CallSummary, OtherCallGroups};
use svc_store::{
    Tx,
    calls::{self, Coverage, Reach},
};

use super::{
    CallHistory,
    access::{reach, show_credential, visible_credential},
};
use crate::{
    identity::{Caller, Directory},
    records::Result,
};

/// The maximum number of groups in an answer.
const GROUPS_MAX: usize = 200;

impl CallHistory {
    /// Counts the calls that [`list`](Self::list) returns for the same query. Reads the journal in
    /// the same way as one page.
    pub async fn summarize(
        &self,
        caller: &Caller,
        query: CallQuery,
        by: CallGrouping,
    ) -> Result<CallSummary> {
        let (reach, directory) = (reach(caller), self.directory.clone());
        let mut counts = CallCounts::new(reach, by);
        let Some(filter) = self.filter(caller, query) else {
            return Ok(counts.finish(&directory, Coverage::All));
        };
        let read = move |tx: &mut Tx<'_>| {
            let coverage = calls::visit(tx, reach, &filter, |call| counts.add(call))?;
            Ok(counts.finish(&directory, coverage))
        };
        Ok(self.store.read_list(caller.user.id, read).await?)
    }
}

/// The counts of all groups.
struct CallCounts {
    reach: Reach,
    by: CallGrouping,
    groups: HashMap<GroupKey, GroupCount>,
}

/// The caller and, with [`CallGrouping::Credential`], the credential if the reader may see it.
type GroupKey = (UserId, Option<CallCredential>);

struct GroupCount {
    calls: u64,
    failed: u64,
    last_at: Timestamp,
}

impl CallCounts {
    fn new(reach: Reach, by: CallGrouping) -> Self {
        Self {
            reach,
            by,
            groups: HashMap::new(),
        }
    }

    fn add(&mut self, call: &CallRow) {
        let credential = match self.by {
            CallGrouping::Caller => None,
            CallGrouping::Credential => visible_credential(self.reach, call),
        };
        let group = self.groups.entry((call.caller, credential));
        let group = group.or_insert(GroupCount {
            calls: 0,
            failed: 0,
            last_at: call.at,
        });
        group.calls += 1;
        group.failed += u64::from(call.end.is_failure());
        group.last_at = group.last_at.max(call.at);
    }

    fn finish(self, directory: &Directory, coverage: Coverage) -> CallSummary {
        let mut groups: Vec<_> = self.groups.into_iter().collect();
        groups.sort_unstable_by_key(|((caller, credential), group)| {
            let order = (Reverse(group.calls), Reverse(group.last_at));
            (order, *caller, credential.map(|credential| credential.id))
        });
        let rest = groups.split_off(groups.len().min(GROUPS_MAX));
        CallSummary {
            groups: groups
                .into_iter()
                .map(|((caller, credential), group)| CallGroup {
                    caller_id: caller,
                    caller: directory.find_user(caller).map(|user| user.name.clone()),
                    credential: credential.map(show_credential),
                    calls: group.calls,
                    failed: group.failed,
                    last_at: group.last_at,
                })
                .collect(),
            other: (!rest.is_empty()).then(|| OtherCallGroups {
                groups: rest.len() as u64,
                calls: rest.iter().map(|(_, group)| group.calls).sum(),
                failed: rest.iter().map(|(_, group)| group.failed).sum(),
            }),
            is_complete: coverage == Coverage::All,
            counted_since: match coverage {
                Coverage::Since(since) => Some(since),
                Coverage::All | Coverage::Part => None,
            },
        }
    }
}

#[cfg(test)]
mod tests;

//! The counts of each user that a server reports to the other servers of the zone.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use svc_core::UserId;

use super::USES_MAX;

/// A user's count at one server, such as the number of open streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CountUse {
    pub user: UserId,
    pub count: usize,
}

impl CountUse {
    /// A report of the users with the highest counts.
    pub fn busiest(counts: impl Iterator<Item = (UserId, usize)>) -> Vec<Self> {
        let mut uses: Vec<_> = counts.map(|(user, count)| Self { user, count }).collect();
        uses.sort_by_key(|used| (std::cmp::Reverse(used.count), used.user));
        uses.truncate(USES_MAX);
        uses
    }

    /// The sum of each user's counts over several reports.
    pub fn sum<'u>(reports: impl Iterator<Item = &'u Self>) -> HashMap<UserId, usize> {
        let mut sums = HashMap::new();
        for used in reports {
            let sum: &mut usize = sums.entry(used.user).or_default();
            *sum = sum.saturating_add(used.count);
        }
        sums
    }
}

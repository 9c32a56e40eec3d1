//! The last 24 hours of all methods and sinks of a caller (`GET /api/stats/activity`), for the
//! lists of methods and sinks.
//!
//! One request answers for a whole list, because one request for each row would be too many. The
//! request reads the blocks (stored counts) of the caller and of at most [`CREATORS_MAX`] creators
//! of global sinks. It returns at most [`SERIES_MAX`] methods, and at most as many sinks.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use svc_core::{
    SinkId, Timestamp, UserId,
    method_stats::{MethodCount, find_sink, start_of},
};
use svc_protocol::api::{Activity, MethodActivity, PAGE_MAX, SinkActivity};
use svc_store::{Tx, method_stats, sinks};

use super::methods::MethodStatistics;
use crate::{events::sinks::owner_keys, identity::Caller, records::RecordError};

const STEP: Duration = Duration::from_secs(60 * 60);
const POINTS: usize = 24;
/// The maximum number of methods in an answer, and of sinks. The methods with the most calls and
/// the sinks with the most attempts are returned.
const SERIES_MAX: usize = 1_000;
/// Users besides the caller whose global sinks are counted.
const CREATORS_MAX: usize = 10;

/// Calls and failures of each hour, by the name in the statistics.
type SeriesByName = BTreeMap<String, Series>;

#[derive(Clone, Default)]
struct Series {
    calls: [u64; POINTS],
    errors: [u64; POINTS],
}

impl Series {
    fn add(&mut self, first: Timestamp, at: Timestamp, count: &MethodCount) {
        let hour = at.since(first).as_secs() / STEP.as_secs();
        // The clock of another server may be ahead.
        let hour = usize::try_from(hour).unwrap_or(POINTS).min(POINTS - 1);
        self.calls[hour] = self.calls[hour].saturating_add(count.calls());
        self.errors[hour] = self.errors[hour].saturating_add(count.errors);
    }

    fn total(&self) -> u64 {
        self.calls
            .iter()
            .fold(0, |sum, one| sum.saturating_add(*one))
    }
}

impl MethodStatistics {
    pub async fn activity(&self, caller: &Caller) -> Result<Activity, RecordError> {
        let now = svc_clock::now();
        let hours_before = u32::try_from(POINTS - 1).unwrap_or(0);
        let first = start_of(now, STEP).minus(STEP * hours_before);
        let (user, keys) = (caller.user.id, owner_keys(caller));
        let read = move |tx: &mut Tx<'_>| {
            let managed = sinks::list_creators(tx, &keys, PAGE_MAX)?;
            let mut found: HashMap<UserId, SeriesByName> = HashMap::new();
            for owner in owners_of(user, &managed) {
                let series = found.entry(owner).or_default();
                method_stats::visit(tx, owner, first, |at, name, count| {
                    add(series, first, at, name, count);
                })?;
            }
            Ok((managed, found))
        };
        let (managed, mut found) = self.store.read_list(user, read).await?;
        for (owner, series) in &mut found {
            for (name, count) in self.metrics.methods.list_unwritten(*owner).iter() {
                add(series, first, now, name, count);
            }
        }
        let methods = found
            .get(&user)
            .map(|series| self.methods_of(caller, series));
        Ok(Activity {
            since: first,
            step_seconds: STEP.as_secs(),
            methods: methods.unwrap_or_default(),
            sinks: sinks_of(&managed, &found),
        })
    }

    /// The caller's methods that are registered now and were called.
    fn methods_of(&self, caller: &Caller, series: &SeriesByName) -> Vec<MethodActivity> {
        let viewer = caller.viewer();
        let is_registered = |name: &str| {
            let found = self.registry.find_visible(viewer, caller.user.id, name);
            found.is_some()
        };
        let called = series.iter().filter(|(name, _)| is_registered(name));
        let mut methods: Vec<_> = called.collect();
        methods.sort_by_key(|(_, series)| Reverse(series.total()));
        let show = |(name, series): (&String, &Series)| MethodActivity {
            method: name.clone(),
            calls: series.calls.to_vec(),
            errors: series.errors.to_vec(),
        };
        methods.into_iter().take(SERIES_MAX).map(show).collect()
    }
}

/// The users whose blocks have the attempts of the managed sinks: the caller, and the creators of
/// global sinks.
fn owners_of(user: UserId, managed: &[(SinkId, UserId)]) -> Vec<UserId> {
    let creators: BTreeSet<_> = managed.iter().map(|(_, creator)| *creator).collect();
    let others = creators.into_iter().filter(|creator| *creator != user);
    std::iter::once(user)
        .chain(others.take(CREATORS_MAX))
        .collect()
}

fn add(
    series: &mut SeriesByName,
    first: Timestamp,
    at: Timestamp,
    name: &str,
    count: &MethodCount,
) {
    match series.get_mut(name) {
        Some(known) => known.add(first, at, count),
        None => series
            .entry(name.to_owned())
            .or_default()
            .add(first, at, count),
    }
}

/// The sinks that the caller manages and that made attempts.
fn sinks_of(
    managed: &[(SinkId, UserId)],
    found: &HashMap<UserId, SeriesByName>,
) -> Vec<SinkActivity> {
    let managed: BTreeSet<_> = managed.iter().copied().collect();
    let mut shown = Vec::new();
    for (owner, series) in found {
        for (name, series) in series {
            let sink = find_sink(name).filter(|sink| managed.contains(&(*sink, *owner)));
            shown.extend(sink.map(|id| SinkActivity {
                id,
                attempts: series.calls.to_vec(),
                failed: series.errors.to_vec(),
            }));
        }
    }
    shown.sort_by_key(|sink| Reverse(sink.attempts.iter().sum::<u64>()));
    shown.truncate(SERIES_MAX);
    shown
}

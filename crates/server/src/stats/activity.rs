//! The last 24 hours of all methods and sinks of a caller (`GET /api/stats/activity`), for the
//! lists of methods and sinks.
//!
//! One request answers for a whole list, because one request for each row would be too many. The
//! request reads the blocks (stored counts) of the caller and of at most [`CREATORS_MAX`] creators
//! of global sinks. It returns at most [`SERIES_MAX`] methods, and at most as many sinks.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use svc_core::{
    SinkId, Timestamp, UserId,
    activity_stats::{MethodCount, Subject, start_of},
};
use svc_protocol::api::{Activity, MethodActivity, PAGE_MAX, SinkActivity};
use svc_store::{Tx, method_stats, sinks};

use super::methods::MethodStatistics;
use crate::{events::sinks::owner_keys, identity::Caller, records::Result};

const STEP: Duration = Duration::from_secs(60 * 60);
const POINTS: usize = 24;
/// The maximum number of methods in an answer, and of sinks. The methods with the most calls and
/// the sinks with the most attempts are returned.
const SERIES_MAX: usize = 1_000;
/// Users besides the caller whose global sinks are counted.
const CREATORS_MAX: usize = 10;

/// Calls and failures of each hour.
type SeriesBySubject = BTreeMap<Subject, Series>;

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
    pub async fn activity(&self, caller: &Caller) -> Result<Activity> {
        let now = svc_clock::now();
        let hours_before = u32::try_from(POINTS - 1).unwrap_or(0);
        let first = start_of(now, STEP).minus(STEP * hours_before);
        let (user, keys) = (caller.user.id, owner_keys(caller));
        let (registry, viewing) = (Arc::clone(&self.registry), Arc::clone(&caller.user));
        let is_registered = move |name: &str| {
            let found = registry.find_visible(viewing.viewer(), user, name);
            found.is_some()
        };
        let read = move |tx: &mut Tx<'_>| {
            let managed = sinks::list_creators(tx, &keys, PAGE_MAX)?;
            let listed = Listed {
                user,
                is_registered,
                sinks: managed.iter().copied().collect(),
                first,
            };
            let mut found: HashMap<UserId, SeriesBySubject> = HashMap::new();
            for owner in owners_of(user, &managed) {
                let series = found.entry(owner).or_default();
                method_stats::visit(tx, owner, first, |at, subject, count| {
                    listed.add(series, at, (owner, subject), count);
                })?;
            }
            Ok((listed, found))
        };
        let (listed, mut found) = self.store.read_list(user, read).await?;
        for (owner, series) in &mut found {
            for (subject, count) in self.metrics.methods.list_unwritten(*owner).iter() {
                listed.add(series, now, (*owner, subject), count);
            }
        }
        let methods = found.get(&user).map(methods_of);
        Ok(Activity {
            since: first,
            step_seconds: STEP.as_secs(),
            methods: methods.unwrap_or_default(),
            sinks: sinks_of(&found),
        })
    }
}

/// The subjects whose counts are collected: the caller's methods that are registered now, and the sinks
/// that the caller manages. So quotas bound their number. The blocks of a day may have many more:
/// methods that were registered for a minute, and sinks of other owners.
struct Listed<F> {
    user: UserId,
    is_registered: F,
    /// The sinks that the caller manages, with their creators.
    sinks: BTreeSet<(SinkId, UserId)>,
    first: Timestamp,
}

impl<F: Fn(&str) -> bool> Listed<F> {
    /// Adds counts of a block of `owner`, if the subject is listed.
    fn add(
        &self,
        series: &mut SeriesBySubject,
        at: Timestamp,
        (owner, subject): (UserId, &Subject),
        count: &MethodCount,
    ) {
        if let Some(known) = series.get_mut(subject) {
            return known.add(self.first, at, count);
        }
        let is_listed = match subject {
            Subject::Method(name) => owner == self.user && (self.is_registered)(name),
            Subject::Sink(sink) => self.sinks.contains(&(*sink, owner)),
            Subject::Several => false,
        };
        if is_listed {
            let new = series.entry(subject.clone()).or_default();
            new.add(self.first, at, count);
        }
    }
}

/// The methods with the most calls.
fn methods_of(series: &SeriesBySubject) -> Vec<MethodActivity> {
    let methods = series.iter().filter_map(|(subject, series)| match subject {
        Subject::Method(name) => Some((name, series)),
        _ => None,
    });
    let mut methods: Vec<_> = methods.collect();
    methods.sort_by_key(|(_, series)| Reverse(series.total()));
    let show = |(name, series): (&Arc<str>, &Series)| MethodActivity {
        method: name.to_string(),
        calls: series.calls.to_vec(),
        errors: series.errors.to_vec(),
    };
    methods.into_iter().take(SERIES_MAX).map(show).collect()
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

/// The sinks that made attempts.
fn sinks_of(found: &HashMap<UserId, SeriesBySubject>) -> Vec<SinkActivity> {
    let mut shown = Vec::new();
    for (subject, series) in found.values().flatten() {
        if let Subject::Sink(id) = subject {
            shown.push(SinkActivity {
                id: *id,
                attempts: series.calls.to_vec(),
                failed: series.errors.to_vec(),
            });
        }
    }
    shown.sort_by_key(|sink| Reverse(sink.attempts.iter().sum::<u64>()));
    shown.truncate(SERIES_MAX);
    shown
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const ANN: UserId = UserId(Uuid::from_u128(1));
    const BEN: UserId = UserId(Uuid::from_u128(2));

    fn method(name: &str) -> Subject {
        Subject::Method(name.into())
    }

    #[test]
    fn only_listed_names_are_collected() {
        let (ann, ben) = (SinkId(Uuid::from_u128(3)), SinkId(Uuid::from_u128(4)));
        let listed = Listed {
            user: ANN,
            is_registered: |name: &str| ["echo", "fail"].contains(&name),
            sinks: BTreeSet::from([(ann, ANN), (ben, BEN)]),
            first: Timestamp(0),
        };
        let count = MethodCount::default();
        let collected = |owner| {
            let mut series = SeriesBySubject::new();
            let former = (0..10_000).map(|n| method(&format!("former.m{n}")));
            let others = [method("echo"), Subject::Several];
            let sinks = [ann, ben].map(Subject::Sink);
            for subject in former.chain(others).chain(sinks) {
                listed.add(&mut series, Timestamp(1), (owner, &subject), &count);
                listed.add(&mut series, Timestamp(2), (owner, &subject), &count);
            }
            series.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(collected(ANN), [method("echo"), Subject::Sink(ann)]);
        assert_eq!(collected(BEN), [Subject::Sink(ben)]);
    }
}

//! Metrics of each method. A call adds to the counters of its method; only the first call of a
//! provider takes a lock. New counts are collected when the metrics are requested, and each minute
//! for the stored statistics.

mod meter;

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use parking_lot::Mutex;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, NoLabelSet},
    metrics::MetricType,
};
use svc_core::{
    SinkId, SpaceId, UserId,
    activity_stats::{MethodCount, MethodCounts, Subject},
    fair_places::FairPlaces,
    latency::step_of,
};

pub use meter::MethodMeter;

use self::meter::Sample;
use super::{CallOutcome, MetricsOptions, latency_series::LatencySeries, minute_of};

/// The label of all methods that have no series of their own. A method named `other` is counted
/// with them.
const OTHER: &str = "other";
/// Calls of methods that exist end in one of these ways.
const OUTCOMES: [CallOutcome; 8] = [
    CallOutcome::Ok,
    CallOutcome::MethodError,
    CallOutcome::Unavailable,
    CallOutcome::TimedOut,
    CallOutcome::Interrupted,
    CallOutcome::Notification,
    CallOutcome::NotificationDropped,
    CallOutcome::Cancelled,
];

#[derive(Debug)]
pub struct MethodMetrics {
    options: MetricsOptions,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The counters of called methods that have a provider. The counters of a method without a
    /// provider stay until its last calls are collected.
    meters: HashMap<MeterKey, CollectedMeter>,
    series: FairPlaces<UserId, MethodLabel, Series>,
    /// Calls that are not in the stored statistics yet.
    unwritten: HashMap<UserId, MethodCounts>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct MeterKey {
    owner: UserId,
    name: Arc<str>,
    /// `None` if the series have no label `space`.
    space: Option<SpaceId>,
}

#[derive(Debug)]
struct CollectedMeter {
    meter: Arc<MethodMeter>,
    /// The values of the counters at the last collection.
    collected: Sample,
}

/// The labels of a series. Without the label `owner`, methods of the same name share a series.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct MethodLabel {
    method: Arc<str>,
    owner: Option<String>,
    space: Option<String>,
}

#[derive(Default, Debug)]
struct Series {
    sample: Sample,
    in_flight: u64,
}

impl MethodMetrics {
    pub fn new(options: MetricsOptions) -> Self {
        Self {
            options,
            state: Mutex::new(State {
                meters: HashMap::new(),
                series: FairPlaces::new(options.methods),
                unwritten: HashMap::new(),
            }),
        }
    }

    /// Returns the counters of a method, for one of its providers. `in_flight` counts the running
    /// calls of this provider.
    pub fn open(
        &self,
        owner: UserId,
        name: &Arc<str>,
        space: SpaceId,
        in_flight: &Arc<AtomicU32>,
    ) -> Arc<MethodMeter> {
        let key = MeterKey {
            owner,
            name: Arc::clone(name),
            space: self.options.space_label.then_some(space),
        };
        let mut state = self.state.lock();
        let collected = state.meters.entry(key).or_insert_with(|| CollectedMeter {
            meter: Arc::default(),
            collected: Sample::default(),
        });
        collected.meter.add_in_flight(in_flight);
        Arc::clone(&collected.meter)
    }

    /// Takes the calls that are not in the stored statistics yet, grouped by the owner of the
    /// method.
    pub fn take_unwritten(&self) -> HashMap<UserId, MethodCounts> {
        let mut state = self.state.lock();
        self.collect(&mut state);
        std::mem::take(&mut state.unwritten)
    }

    /// Adds calls that `take_unwritten` returned, because they could not be written.
    pub fn put_back(&self, counts: &[(UserId, MethodCounts)]) {
        let mut state = self.state.lock();
        for (owner, counts) in counts {
            state.unwritten.entry(*owner).or_default().add_all(counts);
        }
    }

    /// The calls of a method, or the attempts of a sink, that are not written yet.
    ///
    /// Users may ask often, so this reads only the counters of this subject. With the label `space`,
    /// it must search all counters.
    pub fn find_unwritten(&self, owner: UserId, subject: &Subject) -> MethodCount {
        let state = self.state.lock();
        let unwritten = state.unwritten.get(&owner);
        let mut count = unwritten
            .and_then(|counts| counts.find(subject))
            .cloned()
            .unwrap_or_default();
        let Subject::Method(name) = subject else {
            return count;
        };
        let mut add = |found: &CollectedMeter| {
            count.add(&found.meter.find_new(&found.collected).answered());
        };
        if self.options.space_label {
            let of_method = |key: &MeterKey| key.owner == owner && key.name == *name;
            let meters = state.meters.iter().filter(|(key, _)| of_method(key));
            meters.for_each(|(_, found)| add(found));
        } else {
            let key = MeterKey {
                owner,
                name: Arc::clone(name),
                space: None,
            };
            state.meters.get(&key).into_iter().for_each(add);
        }
        count
    }

    /// Counts an attempt to deliver an event to a sink, for the stored statistics of the sink's
    /// owner.
    pub fn count_attempt(&self, owner: UserId, sink: SinkId, took: Duration, is_failure: bool) {
        let mut count = MethodCount {
            errors: u64::from(is_failure),
            ..MethodCount::default()
        };
        count.steps[step_of(took)] = 1;
        let mut state = self.state.lock();
        let counts = state.unwritten.entry(owner).or_default();
        counts.add(Subject::Sink(sink), &count);
    }

    /// The calls of all methods of an owner, and the attempts to deliver to all sinks of this
    /// owner, that are not written yet.
    pub fn list_unwritten(&self, owner: UserId) -> MethodCounts {
        let state = self.state.lock();
        let mut counts = state.unwritten.get(&owner).cloned().unwrap_or_default();
        for (key, found) in state.meters.iter().filter(|(key, _)| key.owner == owner) {
            let new = found.meter.find_new(&found.collected).answered();
            if new.calls() > 0 {
                counts.add(Subject::Method(Arc::clone(&key.name)), &new);
            }
        }
        counts
    }

    /// Adds the new counts of all methods to the series and to the unwritten statistics.
    fn collect(&self, state: &mut State) {
        let minute = minute_of(svc_clock::now());
        let State {
            meters,
            series,
            unwritten,
        } = state;
        series.values_mut().for_each(|series| series.in_flight = 0);
        meters.retain(|key, collected| {
            let new = collected.meter.take_new(&mut collected.collected);
            let in_flight = collected.meter.in_flight();
            if new.is_none() && in_flight == 0 {
                // If no provider holds the counters, no call can be added.
                return Arc::strong_count(&collected.meter) > 1;
            }
            let series = match &*key.name {
                OTHER => series.other_mut(),
                _ => series.find_or_other(&key.owner, &self.label(key), minute),
            };
            series.in_flight += in_flight;
            if let Some(new) = new {
                series.sample.add(&new);
                let counts = unwritten.entry(key.owner).or_default();
                counts.add(Subject::Method(Arc::clone(&key.name)), &new.answered());
            }
            true
        });
    }

    fn label(&self, key: &MeterKey) -> MethodLabel {
        MethodLabel {
            method: Arc::clone(&key.name),
            owner: self.options.owner_label.then(|| key.owner.to_string()),
            space: key.space.map(|space| space.to_string()),
        }
    }
}

type Labels<'a> = Vec<(&'static str, &'a str)>;

impl MethodLabel {
    fn list(&self) -> Labels<'_> {
        let mut labels = vec![("method", &*self.method)];
        labels.extend(self.owner.as_deref().map(|owner| ("owner", owner)));
        labels.extend(self.space.as_deref().map(|space| ("space", space)));
        labels
    }
}

impl Collector for MethodMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut state = self.state.lock();
        self.collect(&mut state);
        let places = state.series.list().into_iter();
        let mut all: Vec<(Labels<'_>, &Series)> = places
            .map(|(label, series)| (label.list(), series))
            .collect();
        all.push((vec![("method", OTHER)], state.series.other()));

        let help = "Calls of methods by method and outcome.";
        let mut calls =
            encoder.encode_descriptor("method_calls", help, None, MetricType::Counter)?;
        for (labels, series) in &all {
            for outcome in OUTCOMES {
                let mut labels = labels.clone();
                labels.push(("outcome", outcome.label()));
                let count = series.sample.outcomes[outcome as usize];
                let mut line = calls.encode_family(&labels)?;
                line.encode_counter::<NoLabelSet, u64, u64>(&count, None)?;
            }
        }
        let help = "Time from arrival to answer, by method.";
        let mut seconds =
            encoder.encode_descriptor("method_call_seconds", help, None, MetricType::Histogram)?;
        for (labels, series) in &all {
            let latency: &LatencySeries = &series.sample.latency;
            latency.encode(seconds.encode_family(labels)?)?;
        }
        let help = "Calls that spaces have not answered yet, by method.";
        let mut running =
            encoder.encode_descriptor("method_calls_in_flight", help, None, MetricType::Gauge)?;
        for (labels, series) in &all {
            running
                .encode_family(labels)?
                .encode_gauge(&series.in_flight)?;
        }
        Ok(())
    }
}

//! Metrics of each receiver of events: a sink or a subscribed method.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    time::Instant,
};

use parking_lot::Mutex;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, NoLabelSet},
    metrics::MetricType,
};
use svc_core::{Timestamp, fair_places::FairPlaces, latency::step_of};
use svc_store::lanes::Backlog;

use super::{latency_series::LatencySeries, minute_of};

/// How attempts end.
const OUTCOMES: [&str; 3] = ["delivered", "failed", "unrenderable"];

#[derive(Debug)]
pub struct ReceiverMetrics {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    series: FairPlaces<String, ReceiverLabel, Series>,
    /// Attempts that run now. The slots for deliveries limit their number.
    running: HashMap<ReceiverLabel, u64>,
    /// Waiting deliveries and the age of the oldest in seconds, as last read.
    backlog: BTreeMap<ReceiverLabel, (u64, f64)>,
}

/// The name of a sink or of a subscribed method. Names are unique per owner only, so the label
/// includes the owner (an id, or `global`).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct ReceiverLabel {
    receiver: String,
    owner: String,
}

#[derive(Default, Debug)]
struct Series {
    outcomes: [u64; OUTCOMES.len()],
    latency: LatencySeries,
}

/// An attempt that is counted as running until this value is dropped.
pub struct RunningAttempt<'a> {
    metrics: &'a ReceiverMetrics,
    label: ReceiverLabel,
    began: Instant,
}

impl ReceiverMetrics {
    pub fn new(receivers: usize) -> Self {
        Self {
            state: Mutex::new(State {
                series: FairPlaces::new(receivers),
                running: HashMap::new(),
                backlog: BTreeMap::new(),
            }),
        }
    }

    pub fn attempt_started(&self, receiver: String, owner: String) -> RunningAttempt<'_> {
        let label = ReceiverLabel { receiver, owner };
        let mut state = self.state.lock();
        *state.running.entry(label.clone()).or_default() += 1;
        drop(state);
        RunningAttempt {
            metrics: self,
            label,
            began: Instant::now(),
        }
    }

    /// Replaces the counts of waiting deliveries and the ages of the oldest ones.
    pub fn set_backlog(&self, lanes: &[Backlog], now: Timestamp) {
        let mut state = self.state.lock();
        state.backlog.clear();
        for lane in lanes {
            let label = ReceiverLabel {
                receiver: lane.name.clone(),
                owner: lane.owner.clone(),
            };
            state
                .series
                .find_or_other(&label.owner, &label, minute_of(now));
            let shown = state.shown(label);
            let lag = now.since(lane.oldest).as_secs_f64();
            let (depth, oldest) = state.backlog.entry(shown).or_default();
            *depth += u64::from(lane.depth);
            *oldest = oldest.max(lag);
        }
    }
}

impl State {
    /// The label under which a receiver is shown.
    fn shown(&self, label: ReceiverLabel) -> ReceiverLabel {
        match self.series.find(&label) {
            Some(_) => label,
            None => ReceiverLabel::other(),
        }
    }
}

impl ReceiverLabel {
    /// All receivers without a series of their own. No receiver has an empty owner.
    fn other() -> Self {
        Self {
            receiver: "other".to_owned(),
            owner: String::new(),
        }
    }

    fn list(&self) -> [(&'static str, &str); 2] {
        [
            ("receiver", self.receiver.as_str()),
            ("owner", self.owner.as_str()),
        ]
    }
}

impl RunningAttempt<'_> {
    /// Counts the attempt. An attempt without an outcome was not made, and is not counted.
    pub fn finish(self, outcome: Option<&'static str>) {
        let known = outcome.and_then(|outcome| OUTCOMES.iter().position(|known| *known == outcome));
        let Some(outcome) = known else { return };
        let took = self.began.elapsed();
        let minute = minute_of(svc_clock::now());
        let mut state = self.metrics.state.lock();
        let series = state
            .series
            .find_or_other(&self.label.owner, &self.label, minute);
        series.outcomes[outcome] += 1;
        series.latency.steps[step_of(took)] += 1;
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        series.latency.micros = series.latency.micros.wrapping_add(micros);
    }
}

impl Drop for RunningAttempt<'_> {
    fn drop(&mut self) {
        let mut state = self.metrics.state.lock();
        if let Some(running) = state.running.get_mut(&self.label) {
            *running -= 1;
            if *running == 0 {
                state.running.remove(&self.label);
            }
        }
    }
}

impl Collector for ReceiverMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let state = self.state.lock();
        let other = ReceiverLabel::other();
        let mut all = state.series.list();
        all.push((&other, state.series.other()));
        let mut running: BTreeMap<ReceiverLabel, u64> = BTreeMap::new();
        for (label, count) in &state.running {
            *running.entry(state.shown(label.clone())).or_default() += count;
        }

        let help = "Attempts at deliveries by receiver and outcome.";
        let mut attempts =
            encoder.encode_descriptor("event_attempts", help, None, MetricType::Counter)?;
        for (label, series) in &all {
            for (outcome, count) in OUTCOMES.iter().zip(&series.outcomes) {
                let [receiver, owner] = label.list();
                let labels = [receiver, owner, ("outcome", *outcome)];
                let mut line = attempts.encode_family(&labels)?;
                line.encode_counter::<NoLabelSet, u64, u64>(count, None)?;
            }
        }
        let help = "Time of attempts at deliveries, by receiver.";
        let histogram = MetricType::Histogram;
        let mut seconds =
            encoder.encode_descriptor("event_attempt_seconds", help, None, histogram)?;
        for (label, series) in &all {
            series
                .latency
                .encode(seconds.encode_family(&label.list())?)?;
        }
        let help = "Attempts that run now, by receiver; receivers without any are omitted.";
        let mut in_flight =
            encoder.encode_descriptor("event_attempts_in_flight", help, None, MetricType::Gauge)?;
        for (label, count) in &running {
            in_flight
                .encode_family(&label.list())?
                .encode_gauge(count)?;
        }
        let help = "Deliveries waiting, by receiver; receivers without any are omitted.";
        let mut depth =
            encoder.encode_descriptor("event_queue_depth", help, None, MetricType::Gauge)?;
        for (label, (waiting, _)) in &state.backlog {
            depth.encode_family(&label.list())?.encode_gauge(waiting)?;
        }
        let help = "Age of the oldest waiting delivery, by receiver.";
        let mut lag =
            encoder.encode_descriptor("event_lag_seconds", help, None, MetricType::Gauge)?;
        for (label, (_, seconds)) in &state.backlog {
            lag.encode_family(&label.list())?.encode_gauge(seconds)?;
        }
        Ok(())
    }
}

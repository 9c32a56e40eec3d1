//! What was acknowledged and what arrived, and the comparison of both. No IO: the emitters and the
//! receiver report to the ledger.

use std::fmt;

use serde::Serialize;
use svc_core::EventId;

/// A broken promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    pub kind: FindingKind,
    /// The round in which it was noticed; the first is 1.
    pub round: usize,
    pub what: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingKind {
    /// The receiver did not accept an acknowledged event, and the event was not recorded as `dead`
    /// after a refusal. Or a server refused an emit for good.
    Lost,
    /// An event arrived for the first time after a later event of the same emitter.
    Inverted,
    /// An event arrived that was not emitted, an event was stored twice, or a call succeeded that
    /// never reached the method server.
    Invented,
    /// A call reached the method server twice.
    Twice,
    /// The servers do not go on.
    Stuck,
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost => "lost",
            Self::Inverted => "out of order",
            Self::Invented => "invented",
            Self::Twice => "called twice",
            Self::Stuck => "stuck",
        })
    }
}

/// The number of an event of one emitter, and its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    pub emitter: usize,
    pub n: usize,
    pub id: EventId,
}

/// The requests for one event at one sink.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    id: EventId,
    accepted: bool,
    /// Requests that the receiver did not accept: answered with an error, or cut off.
    failed: u32,
}

/// The arrivals of one emitter's events at one sink, by their numbers.
#[derive(Default)]
struct Track {
    arrivals: Vec<Option<Arrival>>,
    distinct: usize,
}

struct SinkLedger {
    name: String,
    /// The only emitter whose events the sink gets; `None` for all emitters.
    only: Option<usize>,
    tracks: Vec<Track>,
}

impl SinkLedger {
    fn expects(&self, emitter: usize) -> bool {
        self.only.is_none_or(|only| only == emitter)
    }
}

/// Counts for the report.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Totals {
    /// Acknowledged events.
    pub acknowledged: usize,
    /// Deliveries that the acknowledged events require: one for each sink that gets the event.
    pub expected: usize,
    /// Deliveries that the receiver accepted.
    pub arrived: usize,
    /// Further requests for deliveries that the receiver had accepted.
    pub repeated: usize,
    /// Deliveries that ended as `dead`, because the receiver did not accept them.
    pub dead: usize,
}

pub struct Ledger {
    acknowledged: Vec<Vec<EventId>>,
    /// For each emitter, the number of its events that were compared.
    checked: Vec<usize>,
    sinks: Vec<SinkLedger>,
    repeated: usize,
    dead: usize,
    /// Findings that the next check returns.
    noticed: Vec<(FindingKind, String)>,
}

impl Ledger {
    /// One sink for each emitter, and one sink for all emitters.
    pub fn new(emitters: usize) -> Self {
        let sink = |name: String, only| SinkLedger {
            name,
            only,
            tracks: (0..emitters).map(|_| Track::default()).collect(),
        };
        let own = (0..emitters).map(|emitter| sink(format!("e{emitter}"), Some(emitter)));
        Self {
            acknowledged: vec![Vec::new(); emitters],
            checked: vec![0; emitters],
            sinks: own.chain([sink("all".to_owned(), None)]).collect(),
            repeated: 0,
            dead: 0,
            noticed: Vec::new(),
        }
    }

    /// The names of the sinks, by their index.
    pub fn sinks(&self) -> Vec<String> {
        self.sinks.iter().map(|sink| sink.name.clone()).collect()
    }

    /// The number of the next event of an emitter.
    pub fn next(&self, emitter: usize) -> usize {
        self.acknowledged[emitter].len()
    }

    /// The id of an acknowledged event.
    pub fn id(&self, emitter: usize, n: usize) -> Option<EventId> {
        self.acknowledged.get(emitter)?.get(n).copied()
    }

    /// The next event of an emitter was acknowledged.
    pub fn acknowledge(&mut self, emitter: usize, id: EventId) {
        self.acknowledged[emitter].push(id);
    }

    /// How many acknowledged events of an emitter are still missing at one of its sinks.
    pub fn under_way(&self, emitter: usize) -> usize {
        let sinks = self.sinks.iter().filter(|sink| sink.expects(emitter));
        let arrived = sinks.map(|sink| sink.tracks[emitter].distinct).min();
        self.next(emitter)
            .saturating_sub(arrived.unwrap_or_default())
    }

    /// A request for an event was received. Returns how many earlier requests for this event were
    /// not accepted.
    pub fn arrive(&mut self, sink: usize, event: Event) -> u32 {
        let Event { emitter, n, id } = event;
        let SinkLedger { name, tracks, .. } = &mut self.sinks[sink];
        let track = &mut tracks[emitter];
        if track.arrivals.len() <= n {
            track.arrivals.resize(n + 1, None);
        }
        let is_behind = n + 1 < track.arrivals.len();
        match &track.arrivals[n] {
            Some(first) if first.id != id => {
                let what = format!(
                    "event {n} of emitter {emitter} reached sink {name} as {id}, and before as {}",
                    first.id
                );
                self.noticed.push((FindingKind::Invented, what));
                0
            }
            Some(first) => {
                self.repeated += usize::from(first.accepted);
                first.failed
            }
            None => {
                if is_behind {
                    let later = track.arrivals.len() - 1;
                    let what = format!(
                        "event {n} of emitter {emitter} ({id}) reached sink {name} after event {later}"
                    );
                    self.noticed.push((FindingKind::Inverted, what));
                }
                track.distinct += 1;
                track.arrivals[n] = Some(Arrival {
                    id,
                    accepted: false,
                    failed: 0,
                });
                0
            }
        }
    }

    /// The receiver decided about a request that has arrived.
    pub fn answer(&mut self, sink: usize, event: Event, accepted: bool) {
        let track = &mut self.sinks[sink].tracks[event.emitter];
        if let Some(Some(arrival)) = track.arrivals.get_mut(event.n) {
            arrival.accepted |= accepted;
            arrival.failed += u32::from(!accepted);
        }
    }

    /// A request arrived that names no event of an emitter.
    pub fn note_stranger(&mut self, what: String) {
        self.noticed.push((FindingKind::Invented, what));
    }

    /// The events that were acknowledged since the last check and that a sink did not accept. Each
    /// must be recorded as `dead`. Sinks are named by their index.
    pub fn not_accepted(&self) -> Vec<(usize, Event)> {
        let mut missing = Vec::new();
        for (index, sink) in self.sinks.iter().enumerate() {
            for (emitter, ids) in self.acknowledged.iter().enumerate() {
                if !sink.expects(emitter) {
                    continue;
                }
                let track = &sink.tracks[emitter];
                for (n, &id) in ids.iter().enumerate().skip(self.checked[emitter]) {
                    let arrival = track.arrivals.get(n).copied().flatten();
                    if !arrival.is_some_and(|arrival| arrival.accepted) {
                        missing.push((index, Event { emitter, n, id }));
                    }
                }
            }
        }
        missing
    }

    /// Compares the events since the last check, while nothing is under way. `dead` are the events
    /// of [`not_accepted`](Self::not_accepted) that the server recorded as `dead`.
    pub fn check(&mut self, round: usize, dead: &[(usize, EventId)]) -> Vec<Finding> {
        let mut found = std::mem::take(&mut self.noticed);
        for (index, event) in self.not_accepted() {
            let sink = &self.sinks[index];
            let arrival = sink.tracks[event.emitter].arrivals.get(event.n);
            let failed = arrival.copied().flatten().map_or(0, |one| one.failed);
            let is_dead = dead.contains(&(index, event.id));
            if is_dead && failed > 0 {
                self.dead += 1;
                continue;
            }
            let Event { emitter, n, id } = event;
            let why = match (is_dead, failed) {
                (true, _) => "is recorded as dead, but the receiver never refused it".to_owned(),
                (false, 0) => "was acknowledged and never arrived".to_owned(),
                (false, failed) => {
                    format!("was refused {failed} times and is not recorded as dead")
                }
            };
            let what = format!(
                "event {n} of emitter {emitter} ({id}) for sink {}: {why}",
                sink.name
            );
            found.push((FindingKind::Lost, what));
        }
        for sink in &self.sinks {
            for (emitter, track) in sink.tracks.iter().enumerate() {
                let ids = &self.acknowledged[emitter];
                let arrivals = track.arrivals.iter().enumerate();
                for (n, arrival) in arrivals.skip(self.checked[emitter]) {
                    if let Some(arrival) = arrival
                        && (ids.get(n) != Some(&arrival.id) || !sink.expects(emitter))
                    {
                        let what = format!(
                            "event {n} of emitter {emitter} reached sink {} as {}, which was not acknowledged",
                            sink.name, arrival.id
                        );
                        found.push((FindingKind::Invented, what));
                    }
                }
            }
        }
        for (checked, ids) in self.checked.iter_mut().zip(&self.acknowledged) {
            *checked = ids.len();
        }
        let finding = |(kind, what)| Finding { kind, round, what };
        found.into_iter().map(finding).collect()
    }

    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            acknowledged: self.acknowledged.iter().map(Vec::len).sum(),
            repeated: self.repeated,
            dead: self.dead,
            ..Totals::default()
        };
        for sink in &self.sinks {
            for (emitter, track) in sink.tracks.iter().enumerate() {
                if sink.expects(emitter) {
                    totals.expected += self.acknowledged[emitter].len();
                    let arrivals = track.arrivals.iter().flatten();
                    totals.arrived += arrivals.filter(|arrival| arrival.accepted).count();
                }
            }
        }
        totals
    }
}

#[cfg(test)]
mod tests;

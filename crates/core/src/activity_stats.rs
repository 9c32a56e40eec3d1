//! Statistics of an owner's methods and sinks, and of the calls of a user, and how they are packed
//! into blocks.
//!
//! A block counts the calls of all methods of one owner in one period, and the attempts of all
//! sinks of the owner. An attempt of a sink is counted like a call. Other blocks count the calls
//! that one user made, or all users, in a single entry. Blocks of short periods are merged into
//! blocks of longer periods as they get older, so that an owner has only a few hundred blocks.

use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap, sync::Arc, time::Duration};

use crate::{
    id::{SinkId, UserId},
    journal::{
        BlockError,
        bytes::{Reader, put_number, put_text},
    },
    latency::{STEPS, StepCounts, percentile_ms},
    text_enum::text_enum,
    timestamp::{Timestamp, millis},
};

/// The maximum number of entries in a block. If there are more, those with the fewest calls share
/// one entry, [`Subject::Several`].
pub const ENTRIES_MAX: usize = 1_000;
/// The owner of the blocks that count the calls of all users. No user has this id.
pub const ALL_USERS: UserId = UserId::NIL;

/// The prefix of the names of sinks in a block. No name of a method contains a slash.
const SINK_PREFIX: &str = "sink/";
/// The name of [`Subject::Several`] in a block. No method has an empty name.
const SEVERAL: &str = "";

/// The first byte of a block.
pub const VERSION: u8 = 1;
/// The minimum number of bytes of an entry in a block.
const ENTRY_BYTES_MIN: usize = 3;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

text_enum! {
    /// The time that statistics cover.
    StatsRange {
        Hour = "1h",
        Day = "24h",
        Week = "7d",
        Month = "30d",
    }
}

impl StatsRange {
    pub fn duration(self) -> Duration {
        match self {
            Self::Hour => HOUR,
            Self::Day => DAY,
            Self::Week => 7 * DAY,
            Self::Month => 30 * DAY,
        }
    }

    /// The time that one point of the statistics covers.
    pub fn step(self) -> Duration {
        match self {
            Self::Hour => MINUTE,
            Self::Day => 15 * MINUTE,
            Self::Week => HOUR,
            Self::Month => 6 * HOUR,
        }
    }

    /// The start of the first point of the range that ends at `now`.
    pub fn first(self, now: Timestamp) -> Timestamp {
        let step = self.step();
        start_of(now, step).minus(self.duration()).plus(step)
    }

    pub fn points(self) -> usize {
        usize::try_from(self.duration().as_secs() / self.step().as_secs()).unwrap_or(0)
    }

    /// The next longer range. Blocks that are too old for this range are merged into blocks of the
    /// next one.
    pub fn next(self) -> Option<Self> {
        Some(match self {
            Self::Hour => Self::Day,
            Self::Day => Self::Week,
            Self::Week => Self::Month,
            Self::Month => return None,
        })
    }
}

/// What an entry of a block counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// The calls of the method with this canonical name.
    Method(Arc<str>),
    /// The attempts to deliver events to a sink.
    Sink(SinkId),
    /// What has no entry of its own: the methods and sinks with the fewest calls, or all calls that
    /// a user made.
    Several,
}

impl Subject {
    fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Method(name) => Cow::Borrowed(name),
            Self::Sink(sink) => Cow::Owned(format!("{SINK_PREFIX}{sink}")),
            Self::Several => Cow::Borrowed(SEVERAL),
        }
    }

    fn of_name(name: &str) -> Self {
        let sink = name.strip_prefix(SINK_PREFIX);
        match sink.and_then(|id| id.parse::<SinkId>().ok()) {
            Some(sink) => Self::Sink(sink),
            None if name == SEVERAL => Self::Several,
            None => Self::Method(name.into()),
        }
    }
}

/// The start of the period that contains the time `at`, if every period has the length `period`.
pub fn start_of(at: Timestamp, period: Duration) -> Timestamp {
    let period = millis(period);
    Timestamp(at.0.div_euclid(period) * period)
}

/// Answered calls of a method, or attempts to deliver to a sink.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodCount {
    pub errors: u64,
    /// Calls by latency. Their sum is the number of calls.
    pub steps: StepCounts,
}

impl Default for MethodCount {
    fn default() -> Self {
        Self {
            errors: 0,
            steps: [0; STEPS],
        }
    }
}

impl MethodCount {
    pub fn calls(&self) -> u64 {
        self.steps
            .iter()
            .fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    pub fn add(&mut self, other: &Self) {
        self.errors = self.errors.saturating_add(other.errors);
        for (sum, count) in self.steps.iter_mut().zip(&other.steps) {
            *sum = sum.saturating_add(*count);
        }
    }

    pub fn percentile_ms(&self, share: f64) -> Option<f64> {
        percentile_ms(&self.steps, share)
    }
}

/// The calls of an owner's methods in one period, and the attempts of the owner's sinks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodCounts(BTreeMap<Subject, MethodCount>);

impl MethodCounts {
    /// Counts the calls of several methods in a single entry.
    pub fn of_several(count: MethodCount) -> Self {
        Self(BTreeMap::from([(Subject::Several, count)]))
    }

    pub fn add(&mut self, subject: Subject, count: &MethodCount) {
        self.0.entry(subject).or_default().add(count);
    }

    pub fn add_all(&mut self, other: &Self) {
        for (subject, count) in &other.0 {
            self.add(subject.clone(), count);
        }
    }

    pub fn find(&self, subject: &Subject) -> Option<&MethodCount> {
        self.0.get(subject)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Subject, &MethodCount)> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Packs the counts into a block of at most [`ENTRIES_MAX`] entries.
    pub fn encode(&self) -> Vec<u8> {
        let mut entries: Vec<_> = self.0.iter().collect();
        let (several, mut others) = (Subject::Several, MethodCount::default());
        if entries.len() > ENTRIES_MAX {
            entries.sort_by_key(|(subject, count)| (**subject == several, Reverse(count.calls())));
            for (_, count) in entries.drain(ENTRIES_MAX - 1..) {
                others.add(count);
            }
        }
        if others.calls() > 0 {
            entries.push((&several, &others));
        }
        let mut out = vec![VERSION];
        put_number(&mut out, entries.len() as u64);
        for (subject, count) in entries {
            put_text(&mut out, &subject.name());
            put_number(&mut out, count.errors);
            put_steps(&mut out, &count.steps);
        }
        out
    }

    /// Unpacks counts. `block` may contain any bytes: reading them never panics.
    pub fn decode(block: &[u8]) -> Result<Self, BlockError> {
        let mut counts = Self::default();
        read(block, |name, count| {
            counts.add(Subject::of_name(name), &count);
        })?;
        Ok(counts)
    }

    /// Unpacks the counts of each subject, one after the other.
    pub fn decode_each(
        block: &[u8],
        mut found: impl FnMut(Subject, MethodCount),
    ) -> Result<(), BlockError> {
        read(block, |name, count| found(Subject::of_name(name), count))
    }

    /// Unpacks the counts of one subject.
    pub fn decode_one(block: &[u8], wanted: &Subject) -> Result<Option<MethodCount>, BlockError> {
        let (wanted, mut found) = (wanted.name(), None);
        read(block, |name, count| {
            if name == wanted {
                found = Some(count);
            }
        })?;
        Ok(found)
    }
}

fn put_steps(out: &mut Vec<u8>, steps: &StepCounts) {
    let used = steps.iter().enumerate().filter(|(_, count)| **count > 0);
    put_number(out, used.clone().count() as u64);
    for (step, count) in used {
        put_number(out, step as u64);
        put_number(out, *count);
    }
}

fn read(block: &[u8], mut found: impl FnMut(&str, MethodCount)) -> Result<(), BlockError> {
    let mut reader = Reader::open(block, VERSION)?;
    for _ in 0..reader.count(ENTRY_BYTES_MIN)? {
        let name = reader.text()?;
        let mut count = MethodCount {
            errors: reader.number()?,
            ..MethodCount::default()
        };
        for _ in 0..reader.count(2)? {
            let step = reader.index(STEPS)?;
            count.steps[step] = reader.number()?;
        }
        found(name, count);
    }
    reader.end()
}

#[cfg(test)]
mod tests;

//! A time in a time zone, as the search for cron runs needs it. The search ends after some years,
//! so that an expression that never runs (`0 0 30 2 *`) costs little.

use std::cmp::Ordering;

use croner::{
    errors::CronError,
    time::{CivilDateTime, CronDateTime, Resolution, Weekday},
};
use jiff::{
    ToSpan as _, Zoned,
    tz::{AmbiguousOffset, TimeZone},
};

use crate::timestamp::Timestamp;

/// How far a search goes. 29 February may be eight years away.
pub(super) const YEARS_MAX: i32 = 10;

#[derive(Clone, Debug)]
pub(super) struct BoundedTime {
    time: Zoned,
    start_year: i32,
}

impl BoundedTime {
    /// The fraction of a second is dropped: no run has one. With a fraction, the search backwards
    /// can find a run that is later than its start, in the hour that clocks repeat in autumn.
    pub(super) fn new(at: Timestamp, zone: &TimeZone) -> Option<Self> {
        let time = jiff::Timestamp::from_second(at.0.div_euclid(1_000)).ok()?;
        let time = time.to_zoned(zone.clone());
        Some(Self {
            start_year: i32::from(time.year()),
            time,
        })
    }

    pub(super) fn timestamp(&self) -> Timestamp {
        Timestamp(self.time.timestamp().as_millisecond())
    }

    pub(super) fn zoned(&self) -> &Zoned {
        &self.time
    }

    /// The minutes that the clocks skipped right before this time. They do not exist in the time
    /// zone, so each is returned as the same clock time in UTC.
    pub(super) fn skipped_minutes(&self) -> impl Iterator<Item = Zoned> {
        let zone = self.time.time_zone().clone();
        let end = self.time.datetime();
        (1_i64..)
            .map_while(move |minutes| end.checked_sub(minutes.minutes()).ok())
            .take_while(move |minute| {
                let offset = zone.to_ambiguous_timestamp(*minute).offset();
                matches!(offset, AmbiguousOffset::Gap { .. })
            })
            .filter_map(|minute| minute.to_zoned(TimeZone::UTC).ok())
    }

    fn with(&self, time: Zoned) -> Self {
        Self {
            time,
            start_year: self.start_year,
        }
    }
}

impl CronDateTime for BoundedTime {
    fn to_civil(&self) -> CivilDateTime {
        self.time.to_civil()
    }

    fn civil_weekday(&self) -> Weekday {
        self.time.civil_weekday()
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        if (civil.year() - self.start_year).abs() > YEARS_MAX {
            return Err(CronError::TimeSearchLimitExceeded);
        }
        Ok(match self.time.resolve_civil(civil)? {
            Resolution::Single(time) => Resolution::Single(self.with(time)),
            Resolution::Ambiguous(earlier, later) => {
                Resolution::Ambiguous(self.with(earlier), self.with(later))
            }
            Resolution::Gap => Resolution::Gap,
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        Some(self.with(self.time.checked_add_seconds(seconds)?))
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.time.cmp_instant(&other.time)
    }
}

//! Schedules: when a cron expression runs in a time zone, and what happens to missed runs.
//!
//! The current time is an argument. The time zone database is compiled into the program, so that
//! all servers compute the same runs, even if the time zone files of their systems differ.

mod syntax;
mod zoned;

use std::time::Duration;

use croner::{
    Cron,
    errors::CronError,
    parser::{CronParser, Seconds, Year},
};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use thiserror::Error;

use self::zoned::BoundedTime;
use crate::{text_enum::text_enum, timestamp::Timestamp};

/// Prefix of the types of events from schedules.
pub const SCHEDULE_EVENTS: &str = "schedule.";
/// The maximum number of characters of a cron expression.
pub const CRON_MAX: usize = 128;
/// The maximum number of characters of the name of a time zone.
pub const TIMEZONE_MAX: usize = 64;
/// The maximum number of runs that a preview shows.
pub const PREVIEW_MAX: usize = 50;
/// A run that is late by more than this was missed: the server was down, or its clock jumped.
pub const ON_TIME: Duration = Duration::from_secs(60);
/// With the policy `all`, the maximum number of missed runs that are made later. Older runs are
/// skipped.
pub const MISSED_MAX: usize = 100;

text_enum! {
    /// What happens to missed runs.
    MissedPolicy {
        /// Missed runs are skipped.
        Skip = "skip",
        /// Only the latest missed run is made.
        Once = "once",
        /// Every missed run is made, at most the 100 latest.
        All = "all",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScheduleError {
    #[error(
        "the cron expression `{text}` is not valid: {reason}; it has five fields (minute, hour, day of month, month, day of week), such as `0 2 * * *`"
    )]
    Cron { text: String, reason: String },
    #[error(
        "the cron expression `{0}` does not run within {years} years",
        years = zoned::YEARS_MAX
    )]
    NeverRuns(String),
    #[error("the time zone `{0}` does not exist; use a name such as `UTC` or `Europe/Berlin`")]
    TimeZone(String),
}

/// A cron expression in a time zone.
#[derive(Clone, Debug)]
pub struct CronRule {
    cron: Cron,
    zone: TimeZone,
}

impl CronRule {
    /// Parses an expression. A field for seconds is refused, so a rule runs at most once a minute.
    pub fn parse(cron: &str, timezone: &str) -> Result<Self, ScheduleError> {
        let shortened = || cron.chars().take(CRON_MAX).collect::<String>();
        let invalid = |reason: String| ScheduleError::Cron {
            text: shortened(),
            reason,
        };
        if cron.len() > CRON_MAX {
            return Err(invalid(format!("it is longer than {CRON_MAX} characters")));
        }
        if !cron
            .bytes()
            .all(|byte| byte.is_ascii_graphic() || byte == b' ')
        {
            return Err(invalid(
                "it has characters other than printable ASCII".to_owned(),
            ));
        }
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        syntax::check(cron).map_err(invalid)?;
        let cron = parser
            .parse(syntax::resolve(cron))
            .map_err(|error| invalid(reason_of(&error)))?;
        Ok(Self {
            cron,
            zone: find_zone(timezone)?,
        })
    }

    /// Parses an expression like [`parse`](Self::parse), and refuses an expression that does not
    /// run within ten years.
    pub fn parse_running(
        cron: &str,
        timezone: &str,
        now: Timestamp,
    ) -> Result<Self, ScheduleError> {
        let rule = Self::parse(cron, timezone)?;
        match rule.next_after(now) {
            Some(_) => Ok(rule),
            None => Err(ScheduleError::NeverRuns(cron.to_owned())),
        }
    }

    /// The first run after a time; `None` if there is none within ten years.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let mut start = BoundedTime::new(after, &self.zone)?;
        loop {
            let next = self.cron.find_next_occurrence(&start, false).ok()?;
            if self.runs_at(&next) {
                // A run at or before `after` would repeat without end.
                return Some(next.timestamp()).filter(|next| *next > after);
            }
            start = next;
        }
    }

    /// The last run at or before a time; `None` if there is none within ten years.
    pub fn last_until(&self, until: Timestamp) -> Option<Timestamp> {
        let mut start = BoundedTime::new(until, &self.zone)?;
        let mut inclusive = true;
        loop {
            let last = self.cron.find_previous_occurrence(&start, inclusive).ok()?;
            if self.runs_at(&last) {
                return Some(last.timestamp());
            }
            start = last;
            inclusive = false;
        }
    }

    /// Whether the expression really runs at a time that the library found. The library also finds
    /// the end of the hour that clocks skip in spring, even if the expression names no time in that
    /// hour.
    fn runs_at(&self, found: &BoundedTime) -> bool {
        let matches = |time: &jiff::Zoned| self.cron.is_time_matching(time).unwrap_or(false);
        matches(found.zoned()) || found.skipped_minutes().any(|minute| matches(&minute))
    }

    /// The next `count` runs after a time, at most [`PREVIEW_MAX`].
    pub fn upcoming(&self, after: Timestamp, count: usize) -> Vec<Timestamp> {
        let next = |at: &Timestamp| self.next_after(*at);
        std::iter::successors(self.next_after(after), next)
            .take(count.min(PREVIEW_MAX))
            .collect()
    }
}

/// What to do about a run that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DuePlan {
    /// The run that is made now; `None` if all missed runs are skipped.
    pub run: Option<Timestamp>,
    /// The next run; `None` if there is none within ten years.
    pub next: Option<Timestamp>,
}

/// Decides what happens to the run that was due at `due`. The next run is always later than `due`,
/// so no run repeats, even if the clock goes back.
pub fn plan(rule: &CronRule, policy: MissedPolicy, due: Timestamp, now: Timestamp) -> DuePlan {
    let on_time = now.since(due) <= ON_TIME;
    let run = match policy {
        _ if on_time => Some(due),
        MissedPolicy::Skip => None,
        MissedPolicy::Once => Some(rule.last_until(now).unwrap_or(due).max(due)),
        MissedPolicy::All => Some(oldest_kept(rule, due, now)),
    };
    let after = match (run, policy) {
        (Some(run), _) => run,
        (None, _) => now.max(due),
    };
    DuePlan {
        run,
        next: rule.next_after(after),
    }
}

/// The oldest of the latest [`MISSED_MAX`] runs; `due` if there are fewer after it.
fn oldest_kept(rule: &CronRule, due: Timestamp, now: Timestamp) -> Timestamp {
    let missed = |until| rule.last_until(until).filter(|run| *run > due);
    let before = |at: &Timestamp| missed(at.minus(Duration::from_secs(1)));
    let mut latest_first = std::iter::successors(missed(now), before);
    latest_first.nth(MISSED_MAX - 1).unwrap_or(due)
}

fn find_zone(name: &str) -> Result<TimeZone, ScheduleError> {
    let unknown = || ScheduleError::TimeZone(name.chars().take(TIMEZONE_MAX).collect());
    TimeZoneDatabase::bundled().get(name).map_err(|_| unknown())
}

/// The parser's message, without the prefix that the parser adds and without the final dot.
fn reason_of(error: &CronError) -> String {
    let text = match error {
        CronError::InvalidPattern(text)
        | CronError::IllegalCharacters(text)
        | CronError::ComponentError(text) => text.clone(),
        other => other.to_string(),
    };
    text.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;

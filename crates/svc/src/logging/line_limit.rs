//! Limits the log lines that each user can cause.
//!
//! A line with the field `owner.id` is about something that an agent, an event or a request of this
//! user has caused (`global` for sinks of all users), so the user decides how often the line comes.
//! Without a limit, a user could fill the disk of the server, or hide the lines about other users
//! from the reader or from a log service with a limit of its own.

use std::{
    collections::HashMap,
    fmt::Debug,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    warn,
};
use tracing_subscriber::{Layer, layer::Context};

const LINES_PER_MINUTE: u64 = 300;
const MINUTE: Duration = Duration::from_secs(60);
const OWNER: &str = "owner.id";
/// The notices have the target of the lines of a server, so that the same `SVC_LOG` shows them.
const TARGET: &str = "svc_server";

/// Leaves out the lines of a user beyond [`LINES_PER_MINUTE`], and logs their number when the minute
/// is over. Lines at `debug` and `trace` pass, because the operator requested them.
#[derive(Default)]
pub struct LineLimit(Mutex<Lines>);

/// The lines of each user in the current minute. It begins with the first line after the last
/// minute, and is the same for all users.
#[derive(Default)]
struct Lines {
    ends_at: Option<Instant>,
    counts: HashMap<String, u64>,
}

/// A line that the limit adds to the log.
#[derive(PartialEq, Eq, Debug)]
enum Notice {
    /// This line of the user and all further ones of the minute are left out.
    Begins { owner: String },
    /// The number of lines that were left out in the last minute.
    LeftOut { owner: String, lines: u64 },
}

impl Lines {
    /// Counts a line. Returns whether the line is logged.
    fn take(&mut self, owner: Option<String>, now: Instant, notices: &mut Vec<Notice>) -> bool {
        if self.ends_at.is_none_or(|end| end <= now) {
            self.ends_at = Some(now + MINUTE);
            for (owner, count) in self.counts.drain() {
                let lines = count.saturating_sub(LINES_PER_MINUTE);
                if lines > 0 {
                    notices.push(Notice::LeftOut { owner, lines });
                }
            }
        }
        let Some(owner) = owner else {
            return true;
        };
        let count = self.counts.entry(owner.clone()).or_default();
        *count += 1;
        if *count == LINES_PER_MINUTE + 1 {
            notices.push(Notice::Begins { owner });
        }
        *count <= LINES_PER_MINUTE
    }
}

impl Notice {
    fn log(self) {
        match self {
            Self::Begins { owner } => warn!(
                target: TARGET,
                "further lines with owner.id=`{owner}` are left out for up to a minute: the limit is {LINES_PER_MINUTE} lines a minute"
            ),
            Self::LeftOut { owner, lines } => {
                warn!(target: TARGET, "left out {lines} lines with owner.id=`{owner}`");
            }
        }
    }
}

impl<S: Subscriber> Layer<S> for LineLimit {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        if *event.metadata().level() > Level::INFO {
            return true;
        }
        let mut owner = Owner(None);
        event.record(&mut owner);
        let mut notices = Vec::new();
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_logged = lines.take(owner.0, Instant::now(), &mut notices);
        drop(lines);
        // Without the lock: these lines pass through this layer too. They have no owner.
        notices.into_iter().for_each(Notice::log);
        is_logged
    }
}

/// Reads the field `owner.id` of a line.
struct Owner(Option<String>);

impl Visit for Owner {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == OWNER {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing::{debug, info, subscriber::with_default};
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn the_lines_of_each_user_per_minute_are_limited_and_counted() {
        let (mut lines, start, mut notices) = (Lines::default(), Instant::now(), Vec::new());
        let owner = |name: &str| Some(name.to_owned());
        let mut logged = |name: Option<&str>, at: Duration, times: u64| {
            let mut take = || lines.take(name.and_then(owner), start + at, &mut notices);
            (0..times).filter(|_| take()).count() as u64
        };
        let flood = 10 * LINES_PER_MINUTE;
        assert_eq!(logged(Some("ann"), Duration::ZERO, flood), LINES_PER_MINUTE);
        assert_eq!(logged(Some("ann"), MINUTE / 2, flood), 0);
        assert_eq!(logged(Some("ben"), MINUTE / 2, 5), 5, "another user");
        assert_eq!(logged(None, MINUTE / 2, flood), flood, "of no user");
        // The count comes with the next line, also with a line of no user.
        assert_eq!(logged(None, MINUTE, 1), 1);
        assert_eq!(logged(Some("ann"), MINUTE, 1), 1);
        assert_eq!(logged(None, 5 * MINUTE, 1), 1);
        let (ann, lines) = ("ann".to_owned(), 2 * flood - LINES_PER_MINUTE);
        let expected = [
            Notice::Begins { owner: ann.clone() },
            Notice::LeftOut { owner: ann, lines },
        ];
        assert_eq!(notices, expected);
    }

    /// Counts the lines that pass.
    #[derive(Default)]
    struct Passed(std::sync::Arc<Mutex<u64>>);

    impl<S: Subscriber> Layer<S> for Passed {
        fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
            *self.0.lock().expect("one thread") += 1;
        }
    }

    #[test]
    fn lines_with_an_owner_are_limited() {
        let passed = |log: fn()| {
            let (limit, count) = (LineLimit::default(), Passed::default());
            let passed = count.0.clone();
            let subscriber = tracing_subscriber::registry().with(limit).with(count);
            with_default(subscriber, || (0..2 * LINES_PER_MINUTE).for_each(|_| log()));
            *passed.lock().expect("one thread")
        };
        let all = 2 * LINES_PER_MINUTE;
        let limited = || info!(owner.id = %"ann", "a line");
        assert_eq!(passed(limited), LINES_PER_MINUTE);
        let as_text = || info!(owner.id = "ann", "a line");
        assert_eq!(passed(as_text), LINES_PER_MINUTE);
        assert_eq!(passed(|| info!("a line")), all);
        assert_eq!(passed(|| debug!(owner.id = %"ann", "a line")), all);
    }
}

//! The last log lines of each space, in memory. Limited per space and in total. If all logs together
//! are too large, the owner with the most bytes loses a log, so that the many spaces of one owner do
//! not remove the logs of others.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use svc_core::{SpaceId, Timestamp, UserId};
use svc_protocol::api::{LogLine, LogSource, NumberedLine};

/// Maximum number of lines of one space.
const LINES_MAX: usize = 500;
/// Maximum bytes of the lines of one space.
const SPACE_BYTES_MAX: usize = 64 * 1024;
/// Maximum bytes of all spaces. Above this limit, of the spaces of the owner with the most bytes, the
/// one that has had no new lines for the longest time loses its log.
const TOTAL_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Maximum bytes of one line. The agent truncates lines too, but is not trusted.
const LINE_BYTES_MAX: usize = 8 * 1024;

#[derive(Default)]
pub struct SpaceLogs {
    logs: Mutex<Logs>,
}

#[derive(Default)]
struct Logs {
    spaces: HashMap<SpaceId, Log>,
    /// The bytes of all spaces of each owner.
    owners: HashMap<UserId, usize>,
    bytes: usize,
    /// The number that the newest line got. The lines of all spaces are numbered together.
    last_number: u64,
}

struct Log {
    owner: UserId,
    lines: VecDeque<NumberedLine>,
    bytes: usize,
    touched: Timestamp,
}

impl Log {
    fn new(owner: UserId) -> Self {
        Self {
            owner,
            lines: VecDeque::new(),
            bytes: 0,
            touched: Timestamp::default(),
        }
    }
}

impl SpaceLogs {
    pub fn append(&self, (owner, space): (UserId, SpaceId), lines: Vec<LogLine>, dropped: u64) {
        let mut logs = self.logs.lock();
        for line in lines {
            logs.push((owner, space), line);
        }
        if dropped > 0 {
            let line = format!("{dropped} lines were left out: the method server writes too fast");
            logs.push(
                (owner, space),
                LogLine {
                    at: svc_clock::now(),
                    source: LogSource::Agent,
                    line,
                },
            );
        }
        logs.enforce_total(TOTAL_BYTES_MAX, space);
    }

    /// The first `limit` lines after number `after`; without `after`, the last `limit` lines.
    pub fn read(&self, space: SpaceId, after: Option<u64>, limit: usize) -> Vec<NumberedLine> {
        let logs = self.logs.lock();
        let Some(log) = logs.spaces.get(&space) else {
            return Vec::new();
        };
        match after {
            Some(after) => log
                .lines
                .iter()
                .filter(|l| l.n > after)
                .take(limit)
                .cloned()
                .collect(),
            None => log
                .lines
                .iter()
                .skip(log.lines.len().saturating_sub(limit))
                .cloned()
                .collect(),
        }
    }

    pub fn forget(&self, space: SpaceId) {
        self.logs.lock().remove(space);
    }
}

impl Logs {
    fn push(&mut self, (owner, space): (UserId, SpaceId), mut line: LogLine) {
        if line.line.len() > LINE_BYTES_MAX {
            // Copied: `truncate` would keep the memory of the whole line.
            let cut = line.line.floor_char_boundary(LINE_BYTES_MAX);
            line.line = line.line[..cut].to_owned();
        }
        let now = svc_clock::now();
        // A number is at least the time in milliseconds, so numbers keep growing after a restart of
        // the server. A reader can then continue after the last number that it read.
        let time = u64::try_from(now.0).unwrap_or_default();
        self.last_number = (self.last_number + 1).max(time);
        let log = self.spaces.entry(space).or_insert_with(|| Log::new(owner));
        let before = log.bytes;
        log.touched = now;
        log.bytes += line.line.len();
        log.lines.push_back(NumberedLine {
            n: self.last_number,
            line,
        });
        while log.lines.len() > LINES_MAX || log.bytes > SPACE_BYTES_MAX {
            let Some(oldest) = log.lines.pop_front() else {
                break;
            };
            log.bytes -= oldest.line.line.len();
        }
        let (owner, after) = (log.owner, log.bytes);
        self.bytes = self.bytes + after - before;
        let of_owner = self.owners.entry(owner).or_default();
        *of_owner = *of_owner + after - before;
    }

    /// Removes logs until at most `total` bytes are left. Keeps the log of one space, unless it is
    /// the only log of the owner with the most bytes.
    fn enforce_total(&mut self, total: usize, keep: SpaceId) {
        while self.bytes > total {
            let most = self.owners.iter().max_by_key(|(_, bytes)| **bytes);
            let Some(owner) = most.map(|(owner, _)| *owner) else {
                return;
            };
            let logs = self.spaces.iter().filter(|(_, log)| log.owner == owner);
            let quietest = logs.min_by_key(|(space, log)| (**space == keep, log.touched));
            let Some(space) = quietest.map(|(space, _)| *space) else {
                return;
            };
            self.remove(space);
        }
    }

    fn remove(&mut self, space: SpaceId) {
        let Some(log) = self.spaces.remove(&space) else {
            return;
        };
        self.bytes -= log.bytes;
        if let Some(of_owner) = self.owners.get_mut(&log.owner) {
            *of_owner -= log.bytes;
            if *of_owner == 0 {
                self.owners.remove(&log.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn line(text: &str) -> LogLine {
        LogLine {
            at: Timestamp(0),
            source: LogSource::Stderr,
            line: text.to_owned(),
        }
    }

    #[test]
    fn a_log_keeps_the_last_lines_and_numbers_them() {
        let (logs, space) = (SpaceLogs::default(), SpaceId::NIL);
        logs.append(
            (UserId::NIL, space),
            (0..600).map(|n| line(&n.to_string())).collect(),
            2,
        );
        let all = logs.read(space, None, 1000);
        assert_eq!(all.len(), LINES_MAX);
        assert!(all.is_sorted_by(|a, b| a.n < b.n));
        let last = all.last().expect("a line");
        assert!(last.line.line.starts_with("2 lines were left out"));
        let before = &all[all.len() - 2];
        let next = logs.read(space, Some(before.n), 10);
        assert_eq!(next.len(), 1);
        assert_eq!(next[0].n, last.n);
        assert_eq!(logs.read(space, None, 3)[1].n, before.n);
        assert_eq!(before.line.line, "599");
    }

    #[test]
    fn a_reader_continues_after_the_log_began_again() {
        let space = SpaceId::NIL;
        let logs = SpaceLogs::default();
        logs.append((UserId::NIL, space), vec![line("before")], 0);
        let last = logs.read(space, None, 1)[0].n;
        logs.forget(space);
        logs.append((UserId::NIL, space), vec![line("after")], 0);
        let more = logs.read(space, Some(last), 10);
        assert_eq!(more.len(), 1);
        assert_eq!(more[0].line.line, "after");
    }

    #[test]
    fn bytes_are_bounded_per_space_and_line() {
        let (logs, space) = (SpaceLogs::default(), SpaceId::NIL);
        logs.append(
            (UserId::NIL, space),
            vec![line(&"é".repeat(LINE_BYTES_MAX))],
            0,
        );
        assert!(logs.read(space, None, 1)[0].line.line.len() <= LINE_BYTES_MAX);
        logs.append(
            (UserId::NIL, space),
            (0..100).map(|_| line(&"x".repeat(5000))).collect(),
            0,
        );
        let held: usize = logs
            .read(space, None, 1000)
            .iter()
            .map(|l| l.line.line.len())
            .sum();
        assert!(held <= SPACE_BYTES_MAX);
        logs.forget(space);
        assert!(logs.read(space, None, 1).is_empty());
    }

    #[test]
    fn the_logs_of_many_spaces_of_one_owner_do_not_remove_those_of_others() {
        let (ann, ben) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let (mut logs, quiet) = (Logs::default(), SpaceId(Uuid::from_u128(1_000)));
        let text = "x".repeat(1_000);
        logs.push((ann, quiet), line(&text));
        for n in 0..100 {
            let space = SpaceId(Uuid::from_u128(n));
            logs.push((ben, space), line(&text));
            logs.enforce_total(10_000, space);
            assert!(logs.bytes <= 10_000);
            assert!(logs.spaces.contains_key(&space), "the newest stays");
        }
        assert!(logs.spaces.contains_key(&quiet));
        assert_eq!(logs.owners[&ann], 1_000);
        assert_eq!(logs.owners[&ben], 9_000);
        // The counters follow the logs.
        let spaces: Vec<_> = logs.spaces.keys().copied().collect();
        for space in spaces {
            logs.remove(space);
        }
        assert_eq!((logs.bytes, logs.owners.len()), (0, 0));
    }
}

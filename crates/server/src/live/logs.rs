//! The last log lines of each space, in memory. Limited per space and in total.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use svc_core::{SpaceId, Timestamp};
use svc_protocol::api::{LogLine, LogSource, NumberedLine};

/// Maximum number of lines of one space.
const LINES_MAX: usize = 500;
/// Maximum bytes of the lines of one space.
const SPACE_BYTES_MAX: usize = 64 * 1024;
/// Maximum bytes of all spaces. Above this limit, the space that has had no new lines for the
/// longest time loses its log.
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
    bytes: usize,
    /// The number that the newest line got. The lines of all spaces are numbered together.
    last_number: u64,
}

#[derive(Default)]
struct Log {
    lines: VecDeque<NumberedLine>,
    bytes: usize,
    touched: Timestamp,
}

impl SpaceLogs {
    pub fn append(&self, space: SpaceId, lines: Vec<LogLine>, dropped: u64) {
        let mut logs = self.logs.lock();
        for line in lines {
            logs.push(space, line);
        }
        if dropped > 0 {
            let line = format!("{dropped} lines were left out: the method server writes too fast");
            logs.push(
                space,
                LogLine {
                    at: svc_clock::now(),
                    source: LogSource::Agent,
                    line,
                },
            );
        }
        logs.enforce_total(space);
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
    fn push(&mut self, space: SpaceId, mut line: LogLine) {
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
        let log = self.spaces.entry(space).or_default();
        log.touched = now;
        log.bytes += line.line.len();
        self.bytes += line.line.len();
        log.lines.push_back(NumberedLine {
            n: self.last_number,
            line,
        });
        while log.lines.len() > LINES_MAX || log.bytes > SPACE_BYTES_MAX {
            let Some(oldest) = log.lines.pop_front() else {
                break;
            };
            log.bytes -= oldest.line.line.len();
            self.bytes -= oldest.line.line.len();
        }
    }

    fn enforce_total(&mut self, keep: SpaceId) {
        while self.bytes > TOTAL_BYTES_MAX {
            let others = self.spaces.iter().filter(|(space, _)| **space != keep);
            let Some(quietest) = others.min_by_key(|(_, log)| log.touched).map(|(id, _)| *id)
            else {
                break;
            };
            self.remove(quietest);
        }
    }

    fn remove(&mut self, space: SpaceId) {
        if let Some(log) = self.spaces.remove(&space) {
            self.bytes -= log.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
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
        logs.append(space, (0..600).map(|n| line(&n.to_string())).collect(), 2);
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
        logs.append(space, vec![line("before")], 0);
        let last = logs.read(space, None, 1)[0].n;
        logs.forget(space);
        logs.append(space, vec![line("after")], 0);
        let more = logs.read(space, Some(last), 10);
        assert_eq!(more.len(), 1);
        assert_eq!(more[0].line.line, "after");
    }

    #[test]
    fn bytes_are_bounded_per_space_and_line() {
        let (logs, space) = (SpaceLogs::default(), SpaceId::NIL);
        logs.append(space, vec![line(&"é".repeat(LINE_BYTES_MAX))], 0);
        assert!(logs.read(space, None, 1)[0].line.line.len() <= LINE_BYTES_MAX);
        logs.append(
            space,
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
}

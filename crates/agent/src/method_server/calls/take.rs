//! Decides which lines may be written to the method server next.
//!
//! Lines in the pipe cannot be reordered: the call of another user would have to wait until the
//! method server has read all of them. Therefore the pipe holds few bytes: up to [`PIPE_BYTES`]
//! while a single user calls. While several users call, the limit is [`Pipe::shared_bytes_max`],
//! which the writer adapts to how fast the method server reads. A line that would exceed the limit
//! waits until the pipe is empty, however short the line is. Only a large line need not wait if it
//! follows another large line (see [`LARGE_LINE_BYTES`]).

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::Instant;

use super::{CallState, CallTable, Line, Process, Sent};

/// Limit for the bytes in the pipe. On most machines this is one page, the smallest size of a pipe.
pub const PIPE_BYTES: usize = 4 * 1024;
/// A line of at least this size shares the pipe only with other large lines.
pub const LARGE_LINE_BYTES: usize = 16 * 1024;
/// Maximum number of lines taken at a time.
const LINES_MAX: usize = 256;
/// Bytes that are counted for the end of a line: an id, the closing brace and the line break.
const LINE_END_BYTES: usize = 20;
/// Several users count as active until one user has been the only caller for this long.
const SEVERAL_USERS: Duration = Duration::from_secs(60);

/// The state of the pipe, as far as the writer knows it.
#[derive(Clone, Copy, Debug)]
pub struct Pipe {
    /// Bytes written since the pipe was last known to be empty.
    pub written: usize,
    /// The id of the last written line, if that line was a call.
    pub last_call: Option<u64>,
    /// Bytes that the pipe may hold while several users call.
    pub shared_bytes_max: usize,
    /// Whether the pipe was enlarged for large lines.
    pub is_large: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Take {
    /// Lines were taken. If `was_read`, the method server has read all earlier lines.
    Lines { was_read: bool },
    /// A line waits, but the method server must read the pipe first.
    PipeFull,
    /// No line waits, or no line may be written now.
    Nothing,
}

/// Records whether several users have called recently.
#[derive(Default)]
pub struct Users {
    last: Option<u32>,
    last_seen: Option<Instant>,
    changed: Option<Instant>,
}

impl Users {
    pub fn note(&mut self, user: u32, now: Instant) {
        if self.last.replace(user).is_some_and(|last| last != user) {
            self.changed = Some(now);
        }
        self.last_seen = Some(now);
    }

    fn are_several(&self) -> bool {
        match (self.changed, self.last_seen) {
            (Some(changed), Some(seen)) => seen.saturating_duration_since(changed) < SEVERAL_USERS,
            _ => false,
        }
    }
}

impl CallTable {
    /// Whether a line waits that may be written as soon as the pipe has room.
    pub fn has_next(&self) -> bool {
        !self.waiting.is_empty() && self.may_send()
    }

    /// Moves waiting lines to `lines`, as many as the limits allow.
    pub fn take(&mut self, pipe: Pipe, now: Instant, lines: &mut Vec<Line>) -> Take {
        let was_read = pipe.last_call.is_some_and(|id| id < self.read_below);
        let mut written = if was_read { 0 } else { pipe.written };
        let bytes_max = match self.users.are_several() {
            true => pipe.shared_bytes_max,
            false => PIPE_BYTES,
        };
        while self.may_send() && lines.len() < LINES_MAX {
            let Some(next) = self.waiting.front() else {
                break;
            };
            let bytes = next.json.len() + LINE_END_BYTES;
            let is_large = bytes >= LARGE_LINE_BYTES;
            let beside_large = is_large && pipe.is_large && lines.is_empty();
            if written > 0 && written + bytes > bytes_max && !beside_large {
                if lines.is_empty() {
                    return Take::PipeFull;
                }
                break;
            }
            written += bytes;
            self.send_next(now, lines);
        }
        if lines.is_empty() {
            Take::Nothing
        } else {
            Take::Lines { was_read }
        }
    }

    fn may_send(&self) -> bool {
        self.process == Process::Up
            && !self.held
            && (self.limits.in_flight_max).is_none_or(|most| self.sent.len() < most)
    }

    fn send_next(&mut self, now: Instant, lines: &mut Vec<Line>) {
        let Some(item) = self.waiting.pop() else {
            return;
        };
        // A notification has no caller. It gets no answer, so it needs no id and occupies no slot.
        let id = item.caller.map(|caller| {
            let id = self.ids.fetch_add(1, Ordering::Relaxed);
            self.states.insert(caller, CallState::Sent(id));
            let sent = Sent {
                caller,
                cancelled: false,
                arrived: item.arrived,
                sent_at: now,
                due: item.arrived + self.limits.timeout,
                seen: None,
                reports: None,
            };
            self.sent.insert(id, sent);
            id
        });
        lines.push(Line {
            id,
            json: item.json,
        });
    }
}

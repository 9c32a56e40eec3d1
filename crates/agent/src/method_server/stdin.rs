//! Writes lines to a method server's stdin, and keeps few unread bytes in the pipe.
//!
//! Lines in the pipe cannot be reordered or cancelled. Therefore the writer takes the next lines
//! from the call table only when the pipe has room. Where the system permits it, the pipe is small:
//! one page, except while large lines are written. A pipe of one page is writable exactly when it
//! is empty, so the writer can detect that its lines were read.

use std::{io, sync::Arc, time::Duration};

use rustix::io::Errno;
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use super::{
    calls::{LARGE_LINE_BYTES, Line, PIPE_BYTES, Pipe, Take},
    pipe::PipeEnd,
    shared::{Shared, TakeLines},
};

/// Size of the pipe while large lines are written: the kernel's default.
const LARGE_PIPE_BYTES: usize = 64 * 1024;
/// Interval of polling a pipe that cannot signal that it is empty.
const LOOK: Duration = Duration::from_millis(1);
/// A larger write buffer is shrunk to this size after use.
const BUFFER_KEPT: usize = 1024 * 1024;
/// While several users call, the pipe holds about as many bytes as the method server reads in this
/// time.
const READ_TARGET: Duration = Duration::from_millis(2);
/// While several users call, the limit of the pipe is at least this many bytes, unless the method
/// server is slow. With a lower limit, the agent would wake up too often.
const SHARED_BYTES_MIN: usize = 512;
/// A method server that takes at least this long to read a line gets one line at a time.
const SLOW_LINE: Duration = Duration::from_millis(2);

/// Writes the lines of the call table until the process accepts no more lines.
pub async fn write(stdin: PipeEnd, shared: &Shared, work: &Arc<Notify>) -> io::Result<()> {
    let mut pipe = StdinPipe::new(stdin);
    let mut lines = Vec::new();
    let mut buffer = Vec::new();
    loop {
        match shared.take_lines(work, pipe.state(), &mut lines) {
            TakeLines::Closed => return Ok(()),
            TakeLines::Open(Take::Nothing) => {
                pipe.end.stop_waiting();
                work.notified().await;
            }
            TakeLines::Open(Take::PipeFull) => pipe.wait_until_read().await?,
            TakeLines::Open(Take::Lines { was_read }) => {
                if was_read {
                    pipe.set_empty();
                }
                put_lines(&lines, &mut buffer);
                pipe.write(&buffer, &lines).await?;
                lines.clear();
                buffer.clear();
                buffer.shrink_to(BUFFER_KEPT);
            }
        }
    }
}

fn put_lines(lines: &[Line], buffer: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    for line in lines {
        buffer.extend_from_slice(&line.json);
        if let Some(id) = line.id {
            buffer.extend_from_slice(digits.format(id).as_bytes());
            buffer.push(b'}');
        }
        buffer.push(b'\n');
    }
}

struct StdinPipe {
    end: PipeEnd,
    /// Bytes and lines written since the pipe was last known to be empty.
    written: usize,
    lines: usize,
    last_call: Option<u64>,
    shared_bytes_max: usize,
    size: Size,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    /// One page.
    Small,
    Large,
    /// The system cannot change the size.
    Fixed,
}

impl StdinPipe {
    fn new(end: PipeEnd) -> Self {
        let size = match end.set_size(PIPE_BYTES) {
            Ok(()) => Size::Small,
            Err(_) => Size::Fixed,
        };
        Self {
            end,
            written: 0,
            lines: 0,
            last_call: None,
            shared_bytes_max: SHARED_BYTES_MIN,
            size,
        }
    }

    fn state(&self) -> Pipe {
        Pipe {
            written: self.written,
            last_call: self.last_call,
            shared_bytes_max: self.shared_bytes_max,
            is_large: self.size == Size::Large,
        }
    }

    fn set_empty(&mut self) {
        self.written = 0;
        self.lines = 0;
    }

    async fn write(&mut self, buffer: &[u8], lines: &[Line]) -> io::Result<()> {
        let is_large = buffer.len() >= LARGE_LINE_BYTES;
        if is_large && self.size == Size::Small && self.end.set_size(LARGE_PIPE_BYTES).is_ok() {
            self.size = Size::Large;
        } else if !is_large {
            self.shrink();
        }
        let mut rest = buffer;
        while !rest.is_empty() {
            match self.end.write(rest) {
                Ok(count) if count == rest.len() => break,
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
            self.end.writable().await?;
        }
        self.written += buffer.len();
        self.lines += lines.len();
        self.last_call = lines.last().and_then(|line| line.id);
        Ok(())
    }

    /// Waits until the method server has read everything, and adapts the limit of the pipe.
    async fn wait_until_read(&mut self) -> io::Result<()> {
        if self.end.unread_bytes()? > 0 {
            let began = Instant::now();
            while !self.shrink() && self.end.unread_bytes()? > 0 {
                self.end.check_reader()?;
                sleep(LOOK).await;
            }
            while self.end.unread_bytes()? > 0 {
                self.end.writable().await?;
            }
            let took = began.elapsed();
            self.shared_bytes_max =
                next_bytes_max(self.shared_bytes_max, self.written, self.lines, took);
        }
        self.set_empty();
        Ok(())
    }

    /// Makes the pipe small again. Returns `false` if the pipe holds too many bytes for that, or if
    /// the system cannot change its size.
    fn shrink(&mut self) -> bool {
        if self.size == Size::Large && self.end.set_size(PIPE_BYTES).is_ok() {
            self.size = Size::Small;
        }
        self.size == Size::Small
    }
}

/// The number of bytes that the pipe may hold while several users call. `took` is the time in which
/// the method server has read `written` bytes in `lines` lines. A slow method server gets one line
/// at a time. The limit for other method servers has a minimum: a fast method server may take long
/// only because it waits for a free processor. With few lines, it would have to wait again soon.
fn next_bytes_max(current: usize, written: usize, lines: usize, took: Duration) -> usize {
    let per_line = took / u32::try_from(lines.max(1)).unwrap_or(u32::MAX);
    if per_line >= SLOW_LINE {
        return 1;
    }
    let in_time = READ_TARGET.as_nanos() * written as u128 / took.as_nanos().max(1);
    let in_time = usize::try_from(in_time).unwrap_or(usize::MAX);
    in_time
        .min(current.saturating_mul(2))
        .clamp(SHARED_BYTES_MIN, PIPE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pipe_limit_follows_the_reading_speed() {
        let check = |current, written, lines, micros, expected| {
            let took = Duration::from_micros(micros);
            let next = next_bytes_max(current, written, lines, took);
            assert_eq!(next, expected, "{current} {written} {lines} {micros}");
        };
        // A fast method server: the limit doubles, between its minimum and its maximum.
        check(512, 500, 5, 50, 1_024);
        check(1, 100, 1, 50, SHARED_BYTES_MIN);
        check(4_096, 4_000, 40, 400, PIPE_BYTES);
        // 1 ms for each line: two lines would be enough, but the minimum applies.
        check(4_096, 4_000, 40, 40_000, SHARED_BYTES_MIN);
        // 0.2 ms for each line: ten lines.
        check(2_048, 2_000, 20, 4_000, 1_000);
        // 20 ms for each line: one line at a time.
        check(4_096, 4_000, 40, 800_000, 1);
        check(1, 100, 1, 20_000, 1);
        // Read in no measurable time.
        check(512, 500, 5, 0, 1_024);
    }
}

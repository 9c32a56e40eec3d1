//! The space's log: output of the method server and of scripts, and messages of the agent.
//!
//! Lines go to the server in batches. Without a link they wait. Lines over the rate limit or over
//! the queue's size are dropped and counted: logging never waits and never slows down a method
//! server.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use svc_core::Timestamp;
use svc_link::Control;
use svc_protocol::api::{LogLine, LogSource};
use tokio::{sync::Notify, time::sleep};

use crate::outbox::Outbox;

/// The maximum number of bytes kept of one line.
const LINE_BYTES_MAX: usize = 8 * 1024;
/// The maximum number of lines that wait for the link.
const WAITING_MAX: usize = 1_000;
/// The maximum number of lines in one message. Together with [`LINE_BYTES_MAX`], it keeps a batch
/// well below the size limit of a message.
const BATCH_MAX: usize = 200;

pub struct SpaceLog {
    state: Mutex<State>,
    arrived: Notify,
    lines_per_second: u32,
}

struct State {
    waiting: VecDeque<LogLine>,
    dropped: u64,
    /// Lines still allowed in the second that began at `since`.
    allowance: u32,
    since: Instant,
}

impl SpaceLog {
    pub fn new(lines_per_second: u32) -> Self {
        Self {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                dropped: 0,
                allowance: lines_per_second,
                since: Instant::now(),
            }),
            arrived: Notify::new(),
            lines_per_second,
        }
    }

    /// A line of the method server's stderr.
    pub fn stderr(&self, line: &[u8]) {
        let line = to_text(line);
        tracing::debug!(%line, "the method server wrote to stderr");
        self.push(LogSource::Stderr, line);
    }

    /// A line of the method server's stdout that is not a response to a call. The text goes to the
    /// space's log only, because it may hold a result.
    pub fn stdout(&self, line: &[u8]) {
        tracing::debug!(
            bytes = line.len(),
            "the method server wrote a line to stdout that is not a JSON-RPC response"
        );
        self.push(LogSource::Stdout, to_text(line));
    }

    /// A line of output of a script. The text goes to the space's log only.
    pub fn script(&self, line: &[u8]) {
        tracing::debug!(bytes = line.len(), "a script wrote a line");
        self.push(LogSource::Script, to_text(line));
    }

    /// A message of the agent.
    pub fn agent(&self, text: &str) {
        tracing::info!("{text}");
        self.push_agent(text);
    }

    /// A failure that lasts until a user acts.
    pub fn agent_error(&self, text: &str) {
        print_error(text);
        self.push_agent(text);
    }

    /// A failure of a script, with the last lines of its output. Those lines are already in the
    /// space's log, so they are added only to the agent's own log.
    pub fn script_failure(&self, text: &str, output: &str) {
        print_error(text);
        print_error(output);
        self.push_agent(text);
    }

    /// Each line of `text` becomes an entry of its own, so that an excerpt of a file stays
    /// readable.
    fn push_agent(&self, text: &str) {
        for line in text.lines() {
            self.push(LogSource::Agent, to_text(line.as_bytes()));
        }
    }

    /// Sends waiting lines to the server. Never returns.
    pub async fn forward(self: Arc<Self>, outbox: Arc<Outbox>, gather: Duration) {
        loop {
            self.arrived.notified().await;
            sleep(gather).await;
            self.send(&outbox);
        }
    }

    /// Sends the waiting lines without gathering more of them, and waits until the server has stored
    /// them. First waits `pipes`, so that lines that are still in the pipe of a method server arrive.
    pub async fn flush(&self, outbox: &Outbox, pipes: Duration) {
        sleep(pipes).await;
        if self.send(outbox) {
            outbox.flush_log().await;
        }
    }

    /// Sends the waiting lines. Returns `false` if no link is up; then the lines wait, and the next
    /// link calls [`Self::wake`].
    fn send(&self, outbox: &Outbox) -> bool {
        while let Some(batch) = self.take() {
            if !outbox.control(&batch) {
                self.requeue(batch);
                return false;
            }
        }
        true
    }

    /// Sends the waiting lines. Call this function after a link has come up.
    pub fn wake(&self) {
        self.arrived.notify_one();
    }

    fn push(&self, source: LogSource, line: String) {
        self.push_at(svc_clock::now(), Instant::now(), source, line);
    }

    fn push_at(&self, at: Timestamp, now: Instant, source: LogSource, line: String) {
        let mut state = self.state.lock();
        if now.duration_since(state.since) >= Duration::from_secs(1) {
            state.since = now;
            state.allowance = self.lines_per_second;
        }
        if state.allowance == 0 || state.waiting.len() >= WAITING_MAX {
            state.dropped += 1;
        } else {
            state.allowance -= 1;
            state.waiting.push_back(LogLine { at, source, line });
        }
        self.arrived.notify_one();
    }

    fn take(&self) -> Option<Control> {
        let mut state = self.state.lock();
        if state.waiting.is_empty() && state.dropped == 0 {
            return None;
        }
        let count = state.waiting.len().min(BATCH_MAX);
        Some(Control::Log {
            lines: state.waiting.drain(..count).collect(),
            dropped: std::mem::take(&mut state.dropped),
        })
    }

    fn requeue(&self, batch: Control) {
        if let Control::Log { lines, dropped } = batch {
            let mut state = self.state.lock();
            state.dropped += dropped;
            for line in lines.into_iter().rev() {
                state.waiting.push_front(line);
            }
        }
    }
}

/// Logs one record per line. A record escapes line breaks, so a traceback in one record would be
/// unreadable.
fn print_error(text: &str) {
    for line in text.lines() {
        tracing::error!("{line}");
    }
}

/// A line as text, cut to [`LINE_BYTES_MAX`].
fn to_text(line: &[u8]) -> String {
    let kept = &line[..line.len().min(LINE_BYTES_MAX)];
    let mut text = String::from_utf8_lossy(kept).trim_end().to_owned();
    if kept.len() < line.len() {
        text.push_str(&format!(" … ({} bytes)", line.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(log: &SpaceLog) -> (usize, u64) {
        match log.take() {
            Some(Control::Log { lines, dropped }) => (lines.len(), dropped),
            _ => (0, 0),
        }
    }

    #[test]
    fn lines_over_the_rate_are_dropped_and_counted() {
        let log = SpaceLog::new(3);
        let start = Instant::now();
        let push = |now| log.push_at(Timestamp(0), now, LogSource::Stderr, "x".into());
        (0..5).for_each(|_| push(start));
        assert_eq!(taken(&log), (3, 2));
        push(start + Duration::from_secs(1));
        assert_eq!(taken(&log), (1, 0));
        assert_eq!(taken(&log), (0, 0));
    }

    #[test]
    fn long_lines_are_cut() {
        let text = to_text(&vec![b'x'; LINE_BYTES_MAX + 1]);
        assert!(
            text.ends_with("… (8193 bytes)"),
            "{}",
            &text[text.len() - 20..]
        );
        assert_eq!(to_text(b"a\xffb\r\n"), "a\u{fffd}b");
    }

    #[test]
    fn a_text_of_several_lines_stays_several_lines() {
        let log = SpaceLog::new(10);
        log.agent_error("m.toml:1:1: wrong\n  |\n1 | x\n  | ^");
        let Some(Control::Log { lines, .. }) = log.take() else {
            panic!("the log is empty");
        };
        let lines: Vec<_> = lines.iter().map(|line| line.line.as_str()).collect();
        assert_eq!(lines, ["m.toml:1:1: wrong", "  |", "1 | x", "  | ^"]);
    }

    #[test]
    fn long_lines_of_the_agent_are_cut() {
        let log = SpaceLog::new(10);
        log.agent(&"x".repeat(LINE_BYTES_MAX + 1));
        let Some(Control::Log { lines, .. }) = log.take() else {
            panic!("the log is empty");
        };
        assert!(lines[0].line.ends_with("… (8193 bytes)"));
    }

    #[tokio::test]
    async fn lines_wait_for_the_link() {
        let log = Arc::new(SpaceLog::new(100));
        let outbox = Arc::new(Outbox::new(1_000));
        let forwarding =
            tokio::spawn(Arc::clone(&log).forward(Arc::clone(&outbox), Duration::from_millis(1)));
        log.agent("before the link");
        sleep(Duration::from_millis(20)).await;
        let mut frames = outbox.open_home(1);
        log.wake();
        let frame = frames.next().await;
        let text = std::str::from_utf8(&frame.payload).expect("JSON");
        assert!(text.contains("before the link"), "{text}");
        forwarding.abort();
    }

    async fn flush(log: Arc<SpaceLog>, outbox: Arc<Outbox>) {
        log.flush(&outbox, Duration::ZERO).await;
    }

    #[tokio::test]
    async fn a_flush_ends_when_the_server_has_the_lines() {
        let log = Arc::new(SpaceLog::new(100));
        let outbox = Arc::new(Outbox::new(1_000));
        log.agent("before the link");
        flush(Arc::clone(&log), Arc::clone(&outbox)).await;
        let mut frames = outbox.open_home(1);
        let flushing = tokio::spawn(flush(log, Arc::clone(&outbox)));
        let lines = frames.next().await;
        let text = std::str::from_utf8(&lines.payload).expect("JSON");
        assert!(text.contains("before the link"), "{text}");
        let request = frames.next().await;
        assert!(!flushing.is_finished());
        assert!(outbox.answered(1, request.id, Control::LogFlushed));
        flushing.await.expect("it ends");
    }
}

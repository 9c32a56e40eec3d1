//! Keeps the end of a worker's stderr, to explain why the worker ended.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{io::AsyncReadExt, process::ChildStderr, task::JoinHandle, time::timeout};

/// The maximum number of bytes kept.
const KEPT_BYTES_MAX: usize = 4 * 1024;
/// Rust prints this before it aborts for lack of memory.
const OUT_OF_MEMORY: &str = "memory allocation of ";

/// Start of the line that Rust prints after the message of a panic.
const ADVICE: &str = "note: ";

/// Reads the stderr of one process until stderr ends. Dropping this value stops reading.
#[derive(Debug)]
pub(super) struct StderrTail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
    ended: bool,
}

/// The end of a worker's stderr.
pub(super) struct StderrEnd {
    pub(super) out_of_memory: bool,
    pub(super) line: Option<String>,
}

impl StderrTail {
    pub(super) fn of(mut stderr: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let into = kept.clone();
        let reader = tokio::spawn(async move {
            let mut chunk = [0; 1024];
            while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
                let mut kept = into.lock();
                kept.extend(&chunk[..length]);
                let over = kept.len().saturating_sub(KEPT_BYTES_MAX);
                kept.drain(..over);
            }
        });
        Self {
            kept,
            reader,
            ended: false,
        }
    }

    /// Waits for the end of stderr, for at most `within`.
    pub(super) async fn last(&mut self, within: Duration) -> StderrEnd {
        // Polling a finished task again would panic.
        if !self.ended {
            self.ended = timeout(within, &mut self.reader).await.is_ok();
        }
        let kept: Vec<u8> = self.kept.lock().iter().copied().collect();
        let text = String::from_utf8_lossy(&kept);
        StderrEnd {
            out_of_memory: text.contains(OUT_OF_MEMORY),
            line: text
                .lines()
                .map(str::trim)
                .rfind(|line| !line.is_empty() && !line.starts_with(ADVICE))
                .map(str::to_owned),
        }
    }
}

impl Drop for StderrTail {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

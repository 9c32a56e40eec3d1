//! Progress reports of a call, for callers that ask for them.

use bytes::Bytes;
use tokio::sync::broadcast::{self, error::RecvError};

/// The maximum number of reports buffered for a slow listener. Older reports are dropped.
const KEPT_MAX: usize = 16;

/// The sending side of the reports of one call.
#[derive(Clone, Debug)]
pub struct Reports(broadcast::Sender<Bytes>);

/// The receiving side of the reports of one call.
#[derive(Debug)]
pub struct Listener(broadcast::Receiver<Bytes>);

impl Reports {
    pub fn new() -> (Self, Listener) {
        let (sender, receiver) = broadcast::channel(KEPT_MAX);
        (Self(sender), Listener(receiver))
    }

    pub fn put(&self, report: Bytes) {
        // Without a listener the call is about to end, so an error is ignored.
        let _ = self.0.send(report);
    }
}

impl Listener {
    /// Waits for the next report. Never returns after the last report of the call.
    pub async fn next(&mut self) -> Bytes {
        loop {
            match self.0.recv().await {
                Ok(report) => return report,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    /// Returns the next buffered report, without waiting.
    pub fn find_next(&mut self) -> Option<Bytes> {
        loop {
            match self.0.try_recv() {
                Ok(report) => return Some(report),
                Err(broadcast::error::TryRecvError::Lagged(_)) => {}
                Err(_) => return None,
            }
        }
    }
}

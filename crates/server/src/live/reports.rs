//! Reports on the progress of a call, for the few callers that ask for them.

use bytes::Bytes;
use tokio::sync::broadcast::{self, error::RecvError};

/// Reports that wait for a slow listener; the newest ones win.
const KEPT_MAX: usize = 16;

/// Where the reports of one call go.
#[derive(Clone, Debug)]
pub struct Reports(broadcast::Sender<Bytes>);

/// Where they are heard.
#[derive(Debug)]
pub struct Listener(broadcast::Receiver<Bytes>);

impl Reports {
    pub fn new() -> (Self, Listener) {
        let (sender, receiver) = broadcast::channel(KEPT_MAX);
        (Self(sender), Listener(receiver))
    }

    pub fn put(&self, report: Bytes) {
        // Without a listener the call is about to end.
        let _ = self.0.send(report);
    }
}

impl Listener {
    /// The next report; never ends by itself.
    pub async fn next(&mut self) -> Bytes {
        loop {
            match self.0.recv().await {
                Ok(report) => return report,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    /// A report that is already here.
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

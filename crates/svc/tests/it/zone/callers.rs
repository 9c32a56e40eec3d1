//! Callers that call methods at every server of a zone without a pause, while a test stops servers.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use serde_json::json;
use svc_testkit::{TestUser, eventually};
use tokio::task::JoinHandle;

use crate::SOON;

/// The maximum number of servers that callers use.
const SERVERS: usize = 3;

/// The callers of a test.
#[derive(Default)]
pub(super) struct Callers {
    stop: AtomicBool,
    made: AtomicUsize,
    /// The number of the server that callers do not use, plus one. 0 if they use all servers.
    avoided: AtomicUsize,
    /// Calls that have begun and not ended, by server.
    under_way: [AtomicUsize; SERVERS],
}

/// One failed call.
#[derive(Debug)]
pub(super) struct FailedCall {
    pub(super) caller: usize,
    pub(super) server: usize,
    pub(super) why: String,
}

impl Callers {
    /// Starts a caller. It repeats a call of a method that sleeps, until the callers are ended. If
    /// its server is avoided or sends no response, the caller uses the next server. The task
    /// returns the calls that failed.
    pub(super) fn start(
        self: &Arc<Self>,
        caller: usize,
        at: &[TestUser],
        method: &str,
    ) -> JoinHandle<Vec<FailedCall>> {
        tokio::spawn(Arc::clone(self).run(caller, at.to_vec(), method.to_owned()))
    }

    async fn run(
        self: Arc<Self>,
        caller: usize,
        at: Vec<TestUser>,
        method: String,
    ) -> Vec<FailedCall> {
        let mut server = caller % at.len();
        let mut failed = Vec::new();
        while !self.stop.load(Ordering::SeqCst) {
            self.under_way[server].fetch_add(1, Ordering::SeqCst);
            if self.avoided.load(Ordering::SeqCst) == server + 1 {
                self.under_way[server].fetch_sub(1, Ordering::SeqCst);
                server = (server + 1) % at.len();
                continue;
            }
            let called = at[server].try_call(&method, json!({"ms": 5})).await;
            self.under_way[server].fetch_sub(1, Ordering::SeqCst);
            self.made.fetch_add(1, Ordering::SeqCst);
            let why = match called {
                Ok(answer) if answer["result"]["slept"] == 5 => continue,
                Ok(answer) => answer.to_string(),
                Err(error) => format!("no response: {error}"),
            };
            let is_gone = why.starts_with("no response");
            failed.push(FailedCall {
                caller,
                server,
                why,
            });
            if is_gone {
                server = (server + 1) % at.len();
            }
        }
        failed
    }

    /// Waits until this many more calls were made.
    pub(super) async fn wait_for_calls(&self, more: usize) {
        let wanted = self.made.load(Ordering::SeqCst) + more;
        eventually("the callers go on", 6 * SOON, || async {
            self.made.load(Ordering::SeqCst) >= wanted
        })
        .await;
    }

    /// Makes the callers use other servers than this one, and waits until their calls at this
    /// server have ended.
    pub(super) async fn avoid(&self, server: usize) {
        self.avoided.store(server + 1, Ordering::SeqCst);
        eventually("the callers have left the server", SOON, || async {
            self.under_way[server].load(Ordering::SeqCst) == 0
        })
        .await;
    }

    /// Ends the callers, and returns the calls that failed.
    pub(super) async fn end(&self, callers: Vec<JoinHandle<Vec<FailedCall>>>) -> Vec<FailedCall> {
        self.stop.store(true, Ordering::SeqCst);
        let mut failed = Vec::new();
        for caller in callers {
            failed.extend(caller.await.unwrap());
        }
        let made = self.made.load(Ordering::SeqCst);
        println!("{made} calls, {} failed: {failed:?}", failed.len());
        failed
    }
}

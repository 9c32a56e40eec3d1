//! Calls at all servers of a zone. Each call has its own number, and the method server records the
//! numbers. So a call that was made twice is found.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use svc_testkit::{TestAgent, TestSpace, TestUser, eventually, fixture, result};
use tokio::{task::JoinHandle, time::timeout};

use crate::SOON;

const CALLERS: usize = 3;
const PACE: Duration = Duration::from_millis(20);
/// How long a caller waits for a response. A frozen server sends none.
const PATIENCE: Duration = Duration::from_secs(2);

/// The fields are in the order in which they must be dropped.
pub(super) struct Calls {
    callers: Vec<JoinHandle<Vec<u64>>>,
    counters: Arc<Counters>,
    _agent: TestAgent,
    space: TestSpace,
    at: Vec<TestUser>,
}

#[derive(Default)]
struct Counters {
    stop: AtomicBool,
    made: AtomicUsize,
    answered: AtomicUsize,
}

impl Calls {
    /// A space that is linked to every server, and callers of its method.
    pub(super) async fn start(at: &[TestUser]) -> Self {
        let space = at[0].space("lab").await;
        let agent = space.publish(fixture().plain("push").plain("pushed")).await;
        for user in at {
            eventually("the method is at each server", SOON, || async {
                let pushed = user.call("pushed", json!({})).await;
                pushed.get("result").is_some()
            })
            .await;
        }
        let counters = Arc::<Counters>::default();
        let call = |number| tokio::spawn(call(number, at.to_vec(), Arc::clone(&counters)));
        Self {
            callers: (0..CALLERS).map(call).collect(),
            counters: Arc::clone(&counters),
            _agent: agent,
            space,
            at: at.to_vec(),
        }
    }

    /// Waits until more calls have succeeded.
    pub(super) async fn go_on(&self) {
        let before = self.counters.answered.load(Ordering::SeqCst);
        eventually("calls succeed", 4 * SOON, || async {
            self.counters.answered.load(Ordering::SeqCst) >= before + 10
        })
        .await;
    }

    /// Ends the callers, and checks that each call reached the method server at most once, and that
    /// each call that succeeded reached it.
    pub(super) async fn end(self) {
        self.counters.stop.store(true, Ordering::SeqCst);
        let mut answered = Vec::new();
        for caller in self.callers {
            answered.extend(caller.await.unwrap());
        }
        let pushed = self.at[0].call("pushed", json!({})).await;
        let pushed: Vec<_> = result(&pushed).as_array().unwrap().clone();
        let numbers: Vec<_> = pushed
            .iter()
            .filter_map(|call| call["n"].as_u64())
            .collect();
        let distinct: HashSet<_> = numbers.iter().copied().collect();
        assert_eq!(distinct.len(), numbers.len(), "a call was made twice");
        let missing = answered.iter().find(|n| !distinct.contains(n));
        assert_eq!(
            missing, None,
            "a call succeeded without reaching the method server"
        );
        let made = self.counters.made.load(Ordering::SeqCst);
        println!(
            "{made} calls, {} succeeded, none was made twice",
            answered.len()
        );
        assert_eq!(self.space.state().await, "deployed");
    }
}

/// Makes calls, each at the next server. Returns the numbers of the calls that succeeded.
async fn call(caller: usize, at: Vec<TestUser>, counters: Arc<Counters>) -> Vec<u64> {
    let mut answered = Vec::new();
    let mut number = caller as u64;
    while !counters.stop.load(Ordering::SeqCst) {
        let user = &at[counters.made.fetch_add(1, Ordering::SeqCst) % at.len()];
        if let Ok(Ok(answer)) = timeout(PATIENCE, user.try_call("push", json!({"n": number}))).await
            && answer.get("result") == Some(&Value::Null)
        {
            answered.push(number);
            counters.answered.fetch_add(1, Ordering::SeqCst);
        }
        number += CALLERS as u64;
        tokio::time::sleep(PACE).await;
    }
    answered
}

//! A token revoked at one server is refused by the others within a second, while all are busy.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use serde_json::json;
use svc_testkit::{TestPostgres, TestUser, TestZone, eventually, fixture};

use super::{EFFECT_MAX, at_each};
use crate::SOON;

const SERVERS: usize = 3;
const CALLERS_PER_SERVER: usize = 4;

/// What the callers of one server found.
#[derive(Default)]
struct Calls {
    accepted: AtomicUsize,
    refused: AtomicUsize,
    /// When the last accepted call was answered.
    last_accepted: Mutex<Option<Instant>>,
    stop: AtomicBool,
}

impl Calls {
    async fn go_on(self: Arc<Self>, user: TestUser, method: String) {
        while !self.stop.load(Ordering::SeqCst) {
            let request = json!({"jsonrpc": "2.0", "method": method, "params": {}, "id": 1});
            let answer = user.call_raw(request).await;
            match answer.status {
                200 => {
                    assert_eq!(answer.json()["result"], json!({}), "a call that was made");
                    self.accepted.fetch_add(1, Ordering::SeqCst);
                    *self.last_accepted.lock().unwrap() = Some(Instant::now());
                }
                401 => drop(self.refused.fetch_add(1, Ordering::SeqCst)),
                other => panic!("answered {other}: {}", answer.text()),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_revoked_at_one_server_is_refused_by_all_within_a_second_under_load() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, SERVERS).await;
    let ann = zone.server(0).user("ann").await;
    let token = ann.new_token(&["methods"]).await;
    let everywhere = at_each(&zone, &ann, SERVERS).await;
    let revoked = ann.with_token(token["token"].as_str().unwrap());
    let mut agents = Vec::new();
    let mut servers = Vec::new();
    let mut callers = Vec::new();
    for (n, ann) in everywhere.iter().enumerate() {
        let space = ann.space(&format!("lab-{n}")).await;
        let method = format!("echo.of{n}");
        let registration = fixture().with(svc_testkit::method(&method, "echo"));
        agents.push(space.publish(registration).await);
        let calls = Arc::new(Calls::default());
        for _ in 0..CALLERS_PER_SERVER {
            let user = revoked.at(zone.server(n));
            callers.push(tokio::spawn(calls.clone().go_on(user, method.clone())));
        }
        servers.push(calls);
    }
    eventually("every server is under load", SOON, || async {
        let busy = |calls: &Arc<Calls>| calls.accepted.load(Ordering::SeqCst) >= 50;
        servers.iter().all(busy)
    })
    .await;
    let path = format!("/api/tokens/{}", token["id"].as_str().unwrap());
    ann.delete(&path).await.expect(204);
    let revoked_at = Instant::now();
    eventually("every server refuses", SOON, || async {
        let refuses = |calls: &Arc<Calls>| calls.refused.load(Ordering::SeqCst) >= 20;
        servers.iter().all(refuses)
    })
    .await;
    for calls in &servers {
        calls.stop.store(true, Ordering::SeqCst);
    }
    for caller in callers {
        caller.await.unwrap();
    }
    for (n, calls) in servers.iter().enumerate() {
        let last = calls
            .last_accepted
            .lock()
            .unwrap()
            .expect("calls were made");
        let after = last.saturating_duration_since(revoked_at);
        let accepted = calls.accepted.load(Ordering::SeqCst);
        println!("server {n}: {accepted} calls, the last one {after:?} after the revocation");
        assert!(after < EFFECT_MAX, "server {n} took a call {after:?} later");
    }
}

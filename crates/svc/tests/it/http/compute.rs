//! Requests that need much processor time: limited, and never blocking other users.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use futures_util::future::join_all;
use serde_json::json;
use svc_testkit::{Http, SimulatedAgents, TestServer, TestUser, eventually, result};
use tokio::task::JoinSet;

use crate::SOON;

const SPACES: usize = 4;
const METHODS_PER_SPACE: usize = 1_000;
/// The number of expensive requests that one user always has in flight.
const AT_ONCE: usize = 16;
/// Rounds of the other user. Each round has two requests: a health check and a call.
const ROUNDS: usize = 25;

/// Keeps `AT_ONCE` requests of a kind in flight until it is stopped.
struct Attack {
    running: JoinSet<()>,
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
}

impl Attack {
    fn start<F, R>(user: &TestUser, request: F) -> Self
    where
        F: Fn(TestUser) -> R + Clone + Send + 'static,
        R: Future<Output = ()> + Send,
    {
        let (is_over, done) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let mut running = JoinSet::new();
        for _ in 0..AT_ONCE {
            let (user, request) = (user.clone(), request.clone());
            let (is_over, done) = (Arc::clone(&is_over), Arc::clone(&done));
            running.spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    request(user.clone()).await;
                    AtomicUsize::fetch_add(&done, 1, Ordering::Relaxed);
                }
            });
        }
        Self {
            running,
            is_over,
            done,
        }
    }

    fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    async fn wait_for_one(&self) {
        while self.done() == 0 {
            tokio::task::yield_now().await;
        }
    }

    async fn stop(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.running.join_all().await;
    }
}

/// Counts the expensive requests that end while the victim makes two requests in each round. If the
/// expensive requests blocked the serving thread, each response to the victim would wait until
/// `AT_ONCE` of them have ended.
async fn held_up_by(attack: Attack, victim: &TestUser) -> usize {
    attack.wait_for_one().await;
    let before = attack.done();
    for n in 0..ROUNDS {
        let healthy = victim.http().request("GET", "/healthz", &[], "").await;
        healthy.expect(200);
        let params = json!({ "n": n });
        assert_eq!(result(&victim.call("s0.m0", params.clone()).await), &params);
    }
    let during = attack.done() - before;
    attack.stop().await;
    during
}

async fn agents(
    server: &TestServer,
    user: &TestUser,
    spaces: usize,
    methods: usize,
) -> SimulatedAgents {
    let tokens = user.create_spaces(spaces, 4).await;
    let Http::Tcp(address) = server.http() else {
        unreachable!("a test server listens on TCP")
    };
    SimulatedAgents::link(address, tokens, methods, 2).await
}

/// If the expensive requests blocked the serving thread, two times `AT_ONCE` of them would end in
/// each round. This limit is a quarter of their number in all rounds.
const FEW: usize = ROUNDS * AT_ONCE / 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_lists_of_one_user_delay_no_other_user() {
    let server = TestServer::builder().env("SVC_WORKERS", "1").start().await;
    let (eve, victim) = (server.user("eve").await, server.user("victim").await);
    let _methods = agents(&server, &eve, SPACES, METHODS_PER_SPACE).await;
    let _own = agents(&server, &victim, 1, 1).await;
    let listed = eve.get("/api/methods?q=m7").await.expect(200).json();
    assert_eq!(listed["count"], SPACES * 111);

    for path in [
        "/api/methods",
        "/api/methods?q=a+b+c+d+e+f+g+h",
        "/api/openrpc.json",
    ] {
        let attack = Attack::start(&eve, move |eve| async move {
            eve.get(path).await.expect(200);
        });
        let during = held_up_by(attack, &victim).await;
        assert!(during < FEW, "{path}: {during} during {ROUNDS} rounds");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expensive_templates_of_one_user_delay_no_other_user() {
    let server = TestServer::builder().env("SVC_WORKERS", "1").start().await;
    let (eve, victim) = (server.user("eve").await, server.user("victim").await);
    let _own = agents(&server, &victim, 1, 1).await;
    // The template reaches its work limit and is refused.
    let numbers: Vec<_> = (0..200).map(|n| n.to_string()).collect();
    let list = numbers.join(",");
    let heavy = format!(
        "[{{% for a in [{list}] %}}{{% for b in [{list}] %}}{{% if a == b %}}{{% endif %}}{{% endfor %}}{{% endfor %}}1]"
    );
    let sink = json!({"name": "heavy", "patterns": "custom.x", "type": "webhook",
        "webhook": {"url": "https://example.com/", "body_template": heavy}});
    let refused = eve.post("/api/event-sinks", &sink).await.expect(400);
    assert_eq!(refused.code(), "invalid_template", "{}", refused.text());

    let new = sink.clone();
    let creating = Attack::start(&eve, move |eve| {
        let sink = new.clone();
        async move {
            eve.post("/api/event-sinks", &sink).await.expect(400);
        }
    });
    let during = held_up_by(creating, &victim).await;
    assert!(during < FEW, "{during} refusals during {ROUNDS} rounds");

    // A patch checks its template before its transaction: inside, the check would block all other
    // changes.
    let stored = eve
        .webhook("light", "custom.x", "https://example.com/")
        .await;
    let path = stored.path();
    let patch = json!({"webhook": {"body_template": heavy}});
    let patching = Attack::start(&eve, move |eve| {
        let (path, patch) = (path.clone(), patch.clone());
        async move {
            eve.patch(&path, &patch).await.expect(400);
        }
    });
    patching.wait_for_one().await;
    // An emit also waits for the disk, which may be slow for a while, so one good run of five is
    // enough. If patches blocked emits, every run would exceed the limit.
    let mut least = usize::MAX;
    for _ in 0..5 {
        let before = patching.done();
        for n in 0..ROUNDS {
            victim.emit("x", json!({ "n": n })).await;
        }
        least = least.min(patching.done() - before);
        if least < FEW {
            break;
        }
    }
    patching.stop().await;
    assert!(least < FEW, "{least} patches during {ROUNDS} events");
}

#[tokio::test]
async fn a_user_with_too_many_long_computations_is_refused_and_others_are_not() {
    let server = TestServer::builder()
        .env("SVC_COMPUTE_THREADS", "1")
        .env("SVC_COMPUTE_QUEUE", "1")
        .start()
        .await;
    let (eve, victim) = (server.user("eve").await, server.user("victim").await);
    let _methods = agents(&server, &eve, SPACES, METHODS_PER_SPACE).await;
    let mut asking = JoinSet::new();
    for _ in 0..AT_ONCE {
        let eve = eve.clone();
        asking.spawn(async move { eve.get("/api/methods").await });
    }
    // The victim has a separate queue, so the victim's request is not refused.
    let preview = json!({"body_template": "[${{ event.type }}]"});
    let previewed = victim.post("/api/event-sinks/preview", preview).await;
    previewed.expect(200);
    let answers = asking.join_all().await;
    let refused: Vec<_> = answers.iter().filter(|one| one.status != 200).collect();
    assert!(!refused.is_empty() && refused.len() < AT_ONCE);
    for refusal in refused {
        assert_eq!((refusal.status, refusal.code().as_str()), (429, "busy"));
        assert_eq!(refusal.header("retry-after"), Some("1"));
        assert!(
            refusal.text().contains("one user may have 1"),
            "{}",
            refusal.text()
        );
    }
    eventually("eve is served again", SOON, || async {
        eve.get("/api/methods").await.status == 200
    })
    .await;
}

#[tokio::test]
async fn searches_for_the_runs_of_a_schedule_are_limited_for_each_user() {
    let server = TestServer::builder()
        .env("SVC_COMPUTE_THREADS", "1")
        .env("SVC_COMPUTE_QUEUE", "1")
        .start()
        .await;
    let (eve, victim) = (server.user("eve").await, server.user("victim").await);
    let nightly = json!({"name": "nightly", "cron": "0 2 * * *"});
    let created = eve.post("/api/schedules", &nightly).await.expect(201);
    let own = format!("/api/schedules/{}", created.json()["id"].as_str().unwrap());
    // No last weekday of February is a Saturday, so the search looks at every day of ten years.
    let never = json!({"name": "never", "cron": "* * LW 2 +6"}).to_string();
    let preview = "/api/schedules/preview?cron=*+*+LW+2+%2B6";
    for (method, path, body) in [
        ("GET", preview, None),
        ("POST", "/api/schedules", Some(&never)),
        ("PATCH", own.as_str(), Some(&never)),
    ] {
        eventually("a search of eve is refused", SOON, || async {
            let asking = (0..AT_ONCE).map(|_| eve.send(method, path, body.cloned()));
            let answers = join_all(asking).await;
            let codes: Vec<_> = answers.iter().map(|one| (one.status, one.code())).collect();
            let is_known = |(status, code): &(u16, String)| {
                matches!(
                    (status, code.as_str()),
                    (400, "invalid_schedule") | (429, "busy")
                )
            };
            assert!(codes.iter().all(is_known), "{method}: {codes:?}");
            codes.iter().any(|(status, _)| *status == 429)
        })
        .await;
    }
    assert_eq!(eve.get(&own).await.expect(200).json()["name"], "nightly");
    let created = victim.post("/api/schedules", nightly).await;
    created.expect(201);
}

#[tokio::test]
async fn queries_are_limited_in_bytes_and_in_words() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let words = |count: usize| vec!["a"; count].join("+");
    let check = async |path: String, code: &str| {
        let answer = ann.get(&path).await.expect(400);
        assert_eq!(answer.code(), code, "{}", &path[..path.len().min(60)]);
        answer.text()
    };
    ann.get(&format!("/api/methods?q={}", words(16)))
        .await
        .expect(200);
    let told = check(format!("/api/methods?q={}", words(17)), "too_many_words").await;
    assert!(told.contains("17") && told.contains("16"), "{told}");
    // 12,000 words in one query; no route takes a query of that size.
    for route in [
        "methods",
        "events",
        "spaces",
        "scripts",
        "stats",
        "openapi.json",
    ] {
        let told = check(
            format!("/api/{route}?q={}", words(12_000)),
            "query_too_long",
        )
        .await;
        assert!(told.contains("8192"), "{told}");
    }
    let call = format!("/api/methods/call?q={}", words(12_000));
    let refused = ann.post(&call, "{}").await.expect(400);
    assert_eq!(refused.code(), "query_too_long");
}

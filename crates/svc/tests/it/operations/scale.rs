//! Many links and many methods on one server.

use serde_json::{Value, json};
use svc_testkit::{Http, SimulatedAgents, TestServer, raise_open_files_limit, result};
use tokio::{net::TcpStream, time::timeout};

use crate::SOON;

const LINKS: usize = 2_000;
const METHODS: usize = 10;
/// Requests of the test that wait for an answer at the same time.
const AT_ONCE: usize = 64;
/// Far more connections than a listen queue of the default length holds.
const WAITING: usize = 1_000;

#[tokio::test]
async fn two_thousand_links_with_twenty_thousand_methods_still_answer() {
    raise_open_files_limit();
    let server = TestServer::builder().large_quotas().start().await;
    let ann = server.user("ann").await;
    let tokens = ann.create_spaces(LINKS, AT_ONCE).await;
    let Http::Tcp(address) = server.http() else {
        unreachable!("a test server listens on TCP")
    };
    let mut agents = SimulatedAgents::link(address, tokens, METHODS, AT_ONCE).await;
    assert_eq!(agents.len(), LINKS);

    // Every 97th space, so that the links of early and late spaces are among them.
    for n in (0..LINKS).step_by(97) {
        let name = format!("s{n}.m{}", n % METHODS);
        assert_eq!(
            result(&ann.call(&name, json!({ "n": n })).await),
            &json!({ "n": n })
        );
    }

    let batch: Vec<_> = (0..1_000)
        .map(|n| json!({"jsonrpc": "2.0", "method": format!("s{}.m3", 2 * n), "params": [n], "id": n}))
        .collect();
    let answers = ann.call_raw(json!(batch)).await.expect(200).json();
    for (n, answer) in answers.as_array().unwrap().iter().enumerate() {
        assert_eq!(result(answer), &json!([n]));
    }
    let listed: Value = ann.get("/api/methods").await.expect(200).json();
    assert_eq!(listed["count"], LINKS * METHODS);
    let metrics = ann
        .http()
        .request("GET", "/metrics", &[], "")
        .await
        .expect(200)
        .text();
    assert!(metrics.contains(&format!("svc_links {LINKS}")), "{metrics}");
    assert_eq!(agents.ended(), Vec::<String>::new());
}

/// After a restart all agents connect at the same moment. If the listen queue is full, the kernel
/// on the agent's machine repeats the attempt only a second later.
#[tokio::test]
async fn a_thousand_connections_wait_for_a_busy_server() {
    raise_open_files_limit();
    let server = TestServer::start().await;
    server.freeze();
    let mut waiting = Vec::new();
    for n in 0..WAITING.min(system_limit()) {
        // Only the kernel accepts these connections: with a full queue they get no reply.
        let connecting = timeout(SOON, TcpStream::connect(server.address())).await;
        let connected =
            connecting.unwrap_or_else(|_| panic!("the listen queue is full at connection {n}"));
        waiting.push(connected.expect("the server listens"));
    }
    server.thaw();
    let http = server.http();
    http.request("GET", "/readyz", &[], "").await.expect(200);
}

/// Maximum length of a listen queue on this system.
fn system_limit() -> usize {
    let limit = std::fs::read_to_string("/proc/sys/net/core/somaxconn");
    let limit = limit.ok().and_then(|limit| limit.trim().parse().ok());
    limit.unwrap_or(128)
}

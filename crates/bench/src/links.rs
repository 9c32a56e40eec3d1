//! What an idle link costs the server: memory before and after many agents have linked and
//! registered.

use std::time::Instant;

use anyhow::bail;
use serde_json::json;
use svc_testkit::{Http, SimulatedAgents, TestServer, raise_open_files_limit, resident_bytes};

/// Requests under way at the same time.
const AT_ONCE: usize = 64;

pub async fn run(links: usize, methods: usize) -> anyhow::Result<()> {
    raise_open_files_limit();
    let server = TestServer::start().await;
    let user = server.user("ann").await;
    let begun = Instant::now();
    let tokens = user.create_spaces(links, AT_ONCE).await;
    println!("{links} spaces created in {:.1?}", begun.elapsed());
    let before = resident_bytes(server.id());

    let Http::Tcp(address) = server.http() else {
        bail!("a test server listens on TCP")
    };
    let begun = Instant::now();
    let bare = SimulatedAgents::link(address, tokens, methods, AT_ONCE).await;
    let linked = begun.elapsed();
    let after = resident_bytes(server.id());
    let answer = user
        .call(&format!("s{}.m0", links - 1), json!({"x": 1}))
        .await;
    if answer["result"] != json!({"x": 1}) {
        bail!("a call through one of the links answered {answer}");
    }

    let each = after.saturating_sub(before) / links as u64;
    println!(
        "{} links with {methods} methods each, linked in {linked:.1?}",
        bare.len()
    );
    println!(
        "server memory before {} MiB, after {} MiB",
        before >> 20,
        after >> 20
    );
    println!("memory per idle link and its {methods} methods: {each} bytes");
    Ok(())
}

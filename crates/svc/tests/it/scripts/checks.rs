//! Sources of scripts are compiled in a worker before they are stored. A source that overloads the
//! compiler does not affect the server.

use serde_json::json;
use svc_testkit::{TestServer, peak_resident_mib};

/// MiB by which the memory of the server may grow.
const MORE_MEMORY_MAX: u64 = 64;

/// The compiler copies a `finally` block for every `return` that passes through it.
fn explodes() -> String {
    format!(
        "def f():\n try:\n{} finally:\n  def g():\n{}",
        "  if a: return\n".repeat(1_000),
        "   x=f(1,2,3)\n".repeat(14_000)
    )
}

#[tokio::test]
async fn a_source_over_the_compiler_limits_is_refused_and_costs_the_server_no_memory() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let tool = |source: &str| json!({"name": "t", "kind": "tool", "source": source});
    ann.post("/api/scripts", &tool("def main(params): pass\n"))
        .await
        .expect(201);
    let before = peak_resident_mib(server.id());
    let says = "the source cannot be compiled within the limits of scripts: it takes more than";
    let script = json!({"name": "bomb", "kind": "library", "source": explodes()});
    let sink = json!({
        "name": "bomb", "patterns": "*", "type": "script", "script": {"source": explodes()},
    });
    for (path, body) in [("/api/scripts", script), ("/api/event-sinks", sink)] {
        let refused = ann.post(path, &body).await.expect(422);
        assert_eq!(refused.code(), "invalid_script");
        assert!(refused.text().contains(says), "{}", refused.text());
    }
    let grown = peak_resident_mib(server.id()).saturating_sub(before);
    assert!(grown < MORE_MEMORY_MAX, "{grown} MiB");
}

#[tokio::test]
async fn the_error_for_an_unsupported_construct_names_an_existing_alternative() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for kind in ["tool", "sink", "library", "startup"] {
        let source = "def f():\n    yield 1\n";
        let body = json!({"name": "gen", "kind": kind, "source": source});
        let refused = ann.post("/api/scripts", &body).await.expect(422).text();
        assert!(
            refused.contains("no other engine on the server"),
            "{refused}"
        );
        assert!(!refused.contains("python3"), "{refused}");
    }
}

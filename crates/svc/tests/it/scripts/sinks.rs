//! Script sinks (spec 6.3): a script of the owner runs on the server for every matching event.

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestSink, TestUser, get_eventually};

use crate::SOON;

/// Waits until `count` deliveries of the sink have succeeded. Returns the output of the last one.
pub async fn printed(sink: &TestSink, count: usize) -> String {
    let delivered = sink.wait_for("delivered", count, SOON).await;
    let last = &delivered[count - 1]["attempts"];
    let attempts = last.as_array().unwrap();
    let output = &attempts[attempts.len() - 1]["output"];
    output.as_str().unwrap_or_default().to_owned()
}

/// Waits until the first attempt of the sink's first delivery has failed. Returns this attempt.
pub async fn failure(sink: &TestSink) -> Value {
    get_eventually("an attempt fails", SOON, || async {
        let all = sink.deliveries().await;
        let attempt = all.first()?["attempts"].get(0)?.clone();
        attempt["error"].is_string().then_some(attempt)
    })
    .await
}

/// A server that does not retry failed deliveries during a test.
pub async fn patient() -> TestServer {
    TestServer::builder().retries(3600.0, 3600.0).start().await
}

#[tokio::test]
async fn s6_3_a_sink_script_reads_its_event() {
    let server = patient().await;
    let ann = server.user("ann").await;
    let source = "\
import json
import svc.event as e
print(json.dumps({
    'id': e.id(), 'type': e.type(), 'ts': e.ts(), 'space': e.space(), 'actor': e.actor(),
    'custom': e.custom(), 'data': e.data(),
    'string': [e.get_string('s'), e.get_string('n'), e.get_string('none'), e.get_string('x', 'd')],
    'int': [e.get_int('n'), e.get_int('s'), e.get_int('b'), e.get_int('x', 7)],
    'bool': [e.get_bool('b'), e.get_bool('n'), e.get_bool('x', True)],
    'list': [e.get_list('l'), e.get_list('s'), e.get_list('x', [1])],
    'dict': [e.get_dict('d'), e.get_dict('l'), e.get_dict('x', {'k': 1})],
    'emit': hasattr(e, 'emit'),
}))
";
    let sink = ann.script_sink("see", "custom.*", source).await;
    let payload = json!({"s": "text", "n": 3, "b": true, "l": [1, null], "d": {"k": [2]},
        "none": null});
    let id = ann.emit("build.done", payload.clone()).await;
    let seen: Value = serde_json::from_str(&printed(&sink, 1).await).unwrap();
    assert_eq!(seen["id"], id);
    assert_eq!(seen["type"], "custom.build.done");
    let event = ann.get(&format!("/api/events/{id}")).await.json();
    assert_eq!(seen["ts"], event["event_ts"]);
    let no_space = json!({"id": "00000000-0000-0000-0000-000000000000", "name": "", "urls": {}});
    assert_eq!(seen["space"], no_space);
    assert_eq!(
        seen["actor"],
        json!({"id": ann.id, "username": "ann", "kind": "user"})
    );
    assert_eq!(seen["custom"], json!({}));
    assert_eq!(seen["data"], payload);
    assert_eq!(seen["string"], json!(["text", "", "", "d"]));
    assert_eq!(seen["int"], json!([3, 0, 0, 7]));
    assert_eq!(seen["bool"], json!([true, false, true]));
    assert_eq!(seen["list"], json!([[1, null], [], [1]]));
    assert_eq!(seen["dict"], json!([{"k": [2]}, {}, {"k": 1}]));
    assert_eq!(seen["emit"], false);
}

#[tokio::test]
async fn s6_3_a_sink_script_reads_the_space_of_its_event() {
    let server = patient().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let template = json!({"name": "kit", "custom_fields": {"team": "red"}});
    let template = admin.post("/api/templates", template).await.expect(201);
    let source = "import svc.event as e\nprint(e.type(), e.space()['name'], e.custom(), e.get_string('startup_script_id', 'none'))\n";
    let startup = ann.script("startup", "boot", "x = 1\n").await;
    let sink = ann.script_sink("see", "space.created", source).await;
    ann.space_with(json!({"name": "lab", "template_id": template.json()["id"],
        "startup_script_id": startup.id}))
        .await;
    let seen = printed(&sink, 1).await;
    assert_eq!(
        seen,
        format!("space.created lab {{'team': 'red'}} {}\n", startup.id)
    );
}

/// If a sink script could emit, its own events could run it again without end.
#[tokio::test]
async fn s6_3_a_sink_script_cannot_emit() {
    let server = patient().await;
    let ann = server.user("ann").await;
    let again = |route: &str| {
        format!(
            "from svc import api\nfor sink in api.request('GET', '/api/event-sinks')['event_sinks']:\n    api.request('POST', '/api/event-sinks/' + sink['id'] + '{route}', {{}})\n"
        )
    };
    for (name, source, says) in [
        (
            "a",
            "from svc import event\nevent.emit('again', {})",
            "cannot emit",
        ),
        (
            "b",
            "from svc.event import emit\nemit('again', {})",
            "cannot emit",
        ),
        (
            "c",
            "from svc import api\napi.request('POST', '/api/events/emit', {'type': 'again', 'payload': {}})",
            "cannot emit events",
        ),
        ("d", &again("/replay"), "repeat deliveries"),
        ("e", &again("/deliveries/1/resend"), "repeat deliveries"),
    ] {
        let sink = ann
            .script_sink(name, &format!("custom.{name}"), source)
            .await;
        ann.emit(name, json!({})).await;
        let attempt = failure(&sink).await;
        let error = attempt["error"].as_str().unwrap();
        assert!(error.contains(says), "{name}: {error}");
    }
    let events = ann.list("/api/events", "events").await;
    assert_eq!(events.len(), 5, "{events:?}");
}

#[tokio::test]
async fn s6_3_s6_5_output_and_error_are_in_the_delivery_log_and_three_failures_end_the_delivery() {
    let server = TestServer::builder().retries(0.05, 0.1).start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let source = "\
import svc.event as e
print('trying', e.id())
x = 1
raise ValueError('no ink')
";
    let sink = ann.script_sink("fails", "custom.x", source).await;
    let id = ann.emit("x", json!({})).await;
    let dead = sink.wait_for("dead", 1, SOON).await;
    assert_eq!(dead[0]["event_id"], id);
    let attempts = dead[0]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 3);
    for attempt in attempts {
        assert_eq!(attempt["error"], "fails.py:4: ValueError: no ink");
        assert_eq!(attempt["output"], format!("trying {id}\n"));
        assert_eq!(attempt["status"], Value::Null);
        assert!(attempt["ms"].is_u64() && attempt["at"].is_string());
    }
    assert_eq!(admin.audit_entries("event_sink.dead").await.len(), 1);
    // After a correction the script processes the same event.
    let mended = "import svc.event as e\nprint('done', e.id())\n";
    sink.patch(json!({"script": {"source": mended}})).await;
    let resend = format!("{}/deliveries/{}/resend", sink.path(), dead[0]["n"]);
    let answer = ann.post(&resend, "{}").await;
    assert!(matches!(answer.status, 200..300), "{}", answer.text());
    assert_eq!(printed(&sink, 1).await, format!("done {id}\n"));
}

/// A sink script may do little; each refusal gives the reason and the line.
#[tokio::test]
async fn s6_3_access_to_files_environment_and_processes_is_refused_with_its_line() {
    let server = patient().await;
    let ann = server.user("ann").await;
    for (name, source, error) in [
        (
            "env",
            "import os\nx = 1\nprint(os.environ)\n",
            "env.py:3: PermissionError: [Errno 13] scripts on the server have no access to the environment",
        ),
        (
            "file",
            "x = 1\ntext = open('/etc/passwd').read()\n",
            "file.py:2: PermissionError: [Errno 13] scripts on the server have no access to files: '/etc/passwd'",
        ),
        (
            "path",
            "from pathlib import Path\n\nPath('x').write_text('y')\n",
            "path.py:3: PermissionError",
        ),
        (
            "proc",
            "import subprocess\nsubprocess.run(['id'])\n",
            "proc.py:1: ModuleNotFoundError: No module named 'subprocess'",
        ),
        (
            "net",
            "import socket\n",
            "net.py:1: ModuleNotFoundError: No module named 'socket'",
        ),
        (
            "reg",
            "from svc.methods import Server\n",
            "reg.py:1: ModuleNotFoundError: No module named 'svc.methods'",
        ),
    ] {
        let sink = ann
            .script_sink(name, &format!("custom.{name}"), source)
            .await;
        ann.emit(name, json!({})).await;
        let attempt = failure(&sink).await;
        let said = attempt["error"].as_str().unwrap();
        assert!(said.starts_with(error), "{name}: {said}");
        assert_eq!(attempt["output"], Value::Null, "{name}");
    }
}

#[tokio::test]
async fn s6_5_events_reach_a_sink_script_in_order_and_one_at_a_time() {
    let server = patient().await;
    let ann = server.user("ann").await;
    let source = "\
import time
import svc.event as e
begun = time.time()
if e.get_int('n') == 0:
    time.sleep(0.3)
print(e.get_int('n'), begun, time.time())
";
    let sink = ann.script_sink("order", "custom.*", source).await;
    for n in 0..20 {
        ann.emit("step", json!({ "n": n })).await;
    }
    let delivered = sink.wait_for("delivered", 20, SOON).await;
    let mut last_end = 0.0;
    for (n, delivery) in delivered.iter().enumerate() {
        let output = delivery["attempts"][0]["output"].as_str().unwrap();
        let parts: Vec<f64> = output
            .split_whitespace()
            .map(|part| part.parse().unwrap())
            .collect();
        assert_eq!(parts[0] as usize, n);
        assert!(
            parts[1] >= last_end,
            "run {n} began before the previous run ended"
        );
        last_end = parts[2];
    }
}

#[tokio::test]
async fn s6_3_a_sink_needs_one_script_that_can_run() {
    let server = patient().await;
    let ann = server.user("ann").await;
    let script = ann.script("sink", "stored", "x = 1\n").await;
    let body =
        |config: Value| json!({"name": "s", "patterns": "*", "type": "script", "script": config});
    for (config, says) in [
        (json!({}), "script_id"),
        (json!({"script_id": script.id, "source": "x = 1"}), "either"),
        (json!({"source": "x = 1\ndef (:\n"}), "s.py:2: SyntaxError"),
        (
            json!({"source": "def f():\n    yield 1\n"}),
            "s.py:2: NotImplementedError",
        ),
        (json!({"source": "#".repeat(256 * 1024 + 1)}), "at most"),
        (json!({"source": "x = 1", "colour": "red"}), "colour"),
    ] {
        let refused = ann.post("/api/event-sinks", body(config.clone())).await;
        let text = refused.text();
        assert!(matches!(refused.status, 400 | 422), "{text}");
        assert!(text.contains(says), "{says}: {text}");
    }
    let sink = ann.sink(body(json!({"source": "x = 1\n"}))).await;
    // A stored script replaces the sink's source, and a source replaces the stored script.
    let changed = sink
        .patch(json!({"script": {"script_id": script.id}}))
        .await;
    assert_eq!(
        changed["script"],
        json!({"script_id": script.id, "source": null})
    );
    let changed = sink.patch(json!({"script": {"source": "y = 1\n"}})).await;
    assert_eq!(
        changed["script"],
        json!({"script_id": null, "source": "y = 1\n"})
    );
}

/// A test runs at once, without the queue, and does not appear among the deliveries.
#[tokio::test]
async fn s6_3_a_sink_script_can_be_tested() {
    let server = patient().await;
    let ann = server.user("ann").await;
    let source = "import svc.event as e\nprint(e.type(), e.get_int('n'))\nif e.get_int('n') == 2:\n    raise ValueError('two')\n";
    let sink = ann.script_sink("try", "custom.never", source).await;
    let test = async |user: &TestUser, body: Value| {
        let path = format!("{}/test", sink.path());
        user.post(&path, body).await.expect(200).json()
    };
    let tried = test(&ann, json!({"event_type": "custom.a", "data": {"n": 1}})).await;
    assert_eq!(tried["attempt"]["output"], "custom.a 1\n");
    assert_eq!(tried["attempt"]["error"], Value::Null);
    let tried = test(&ann, json!({"event_type": "custom.a", "data": {"n": 2}})).await;
    assert_eq!(tried["attempt"]["error"], "try.py:4: ValueError: two");
    let id = ann.emit("past", json!({"n": 5})).await;
    let tried = test(&ann, json!({ "event_id": id })).await;
    assert_eq!(tried["attempt"]["output"], "custom.past 5\n");
    let dry = test(&ann, json!({"event_type": "custom.a", "dry_run": true})).await;
    assert_eq!(dry["attempt"], Value::Null);
    let body: Value = serde_json::from_str(dry["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["type"], "custom.a");
    assert!(sink.deliveries().await.is_empty());
}

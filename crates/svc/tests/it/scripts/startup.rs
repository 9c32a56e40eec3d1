//! Startup scripts of a space or of its template. Each start of the agent runs the script once,
//! with the files and processes of the space. A failure of the script never stops the agent
//! (spec 4.3, 6.1).

use serde_json::{Value, json};
use svc_testkit::{
    TestReceiver, TestServer, TestSpace, TestUser, fixture_method_server, get_eventually, result,
};

use crate::SOON;

/// Waits for a line of the space's log that contains `text`, and returns the line.
async fn logged(space: &TestSpace, text: &str) -> Value {
    let what = format!("the space's log says `{text}`");
    get_eventually(&what, 2 * SOON, || async {
        let lines = log(space).await;
        let holds = |line: &&Value| {
            line["line"]
                .as_str()
                .is_some_and(|line| line.contains(text))
        };
        lines.iter().find(holds).cloned()
    })
    .await
}

async fn log(space: &TestSpace) -> Vec<Value> {
    let path = format!("{}/logs", space.path());
    let logs = space.owner.get(&path).await.expect(200).json();
    logs["logs"].as_array().unwrap().clone()
}

async fn space_with(user: &TestUser, script_id: &str) -> TestSpace {
    user.space_with(json!({"name": "lab", "startup_script_id": script_id}))
        .await
}

/// Uses files, a process, the API, events and a registration.
const SETUP: &str = r#"
import os
import subprocess
from pathlib import Path
from svc import api, event
from svc.methods import Server

Path("made.txt").write_text("by " + api.me()["username"])
with open("made.txt", "a") as file:
    file.write(" in " + os.environ["SVC_SPACE_NAME"])
done = subprocess.run(["sh", "-c", "cat made.txt; exit 3"], capture_output=True)
print("process:", done.returncode, done.stdout)
print("token:", os.environ.get("SVC_AGENT_TOKEN"))
event.emit("set.up", {"n": 1})
server = Server("METHOD_SERVER")
server.method("ready", "echo", "Says what it hears")
server.register()
print("all done")
"#;

#[tokio::test]
async fn s4_3_a_startup_script_sets_up_its_space() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let program = fixture_method_server();
    let source = SETUP.replace("METHOD_SERVER", program.to_str().unwrap());
    let script = ann.script("startup", "set up", &source).await;
    let space = space_with(&ann, &script.id).await;
    assert_eq!(space.record().await["startup_script_id"], script.id);
    let mut agent = space.agent().await;
    logged(&space, "all done").await;
    logged(&space, "the startup script `set up` is done").await;
    logged(&space, "process: 3 by ann in lab").await;
    // The agent's own credential is not in a script's environment.
    logged(&space, "token: None").await;
    let made = std::fs::read_to_string(space.folder().join("made.txt")).unwrap();
    assert_eq!(made, "by ann in lab");
    let called = ann.call("ready", json!({"n": 1})).await;
    assert_eq!(result(&called), &json!({"n": 1}));
    let events = ann.list("/api/events", "events").await;
    let custom = events
        .iter()
        .find(|one| one["event_type"] == "custom.set.up");
    assert_eq!(custom.unwrap()["space_id"], space.id);
    // The agent leaves no copy of the script.
    assert!(!space.folder().join(".svc/startup.py").exists());
    agent.stop().await;
}

#[tokio::test]
async fn s4_3_a_startup_script_runs_once_and_not_again_on_a_new_link() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let source = "with open('runs.txt', 'a') as f:\n    f.write('run\\n')\nprint('ran')\n";
    let script = ann.script("startup", "count", source).await;
    let space = space_with(&ann, &script.id).await;
    let mut agent = space.agent().await;
    logged(&space, "`count` is done").await;
    let runs = || std::fs::read_to_string(space.folder().join("runs.txt")).unwrap();
    server.restart().await;
    agent.wait_until_linked().await;
    // After each new link the agent registers its methods again. Once that registration is active,
    // the agent is past the point where it would run a startup script.
    let output = agent.register(svc_testkit::fixture().plain("echo")).await;
    output.expect(0);
    server.restart().await;
    space.wait_for_registration("active", 2 * SOON).await;
    result(&ann.call("echo", json!({})).await);
    assert_eq!(runs(), "run\n");
    // A new agent runs the current script again.
    agent.stop().await;
    script
        .patch(json!({"source": source.replace("run\\n", "new\\n")}))
        .await;
    let mut agent = space.agent().await;
    get_eventually("the script runs again", SOON, || async {
        (runs() == "run\nnew\n").then_some(())
    })
    .await;
    agent.stop().await;
}

#[tokio::test]
async fn s4_3_s7_a_failing_startup_script_is_logged_and_the_agent_keeps_serving() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let fixture = svc_testkit::fixture().plain("echo");
    for (name, source, says) in [
        (
            "raises",
            "x = 1\nraise ValueError('no ink')\n",
            "ValueError: no ink",
        ),
        ("exits", "import sys\nsys.exit(7)\n", "exit status: 7"),
        (
            "missing",
            "import nothing_of_the_kind\n",
            "No module named 'nothing_of_the_kind'",
        ),
        (
            "undefined",
            "x = 1\ny = 2\nset_up()\n",
            "name 'set_up' is not defined",
        ),
    ] {
        let script = ann.script("startup", name, source).await;
        let space = ann
            .space_with(json!({"name": name, "startup_script_id": script.id}))
            .await;
        let mut agent = space.agent().await;
        logged(&space, says).await;
        let ended = logged(&space, &format!("the startup script `{name}`: it failed")).await;
        assert_eq!(ended["source"], "agent", "{ended}");
        if name == "raises" {
            logged(&space, "File \".svc/startup.py\", line 2").await;
        }
        agent.register(&fixture).await.expect(0);
        assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
        agent.stop().await;
    }
}

/// The methods file is registered after the startup script has ended, even if the script failed.
#[tokio::test]
async fn s4_3_the_methods_file_is_registered_after_the_startup_script() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let source = format!(
        "open('methods.toml', 'w').write({})\nraise ValueError('late')\n",
        json!(svc_testkit::fixture().plain("echo").to_string())
    );
    let script = ann.script("startup", "writes", &source).await;
    let space = space_with(&ann, &script.id).await;
    let mut agent = space.agent_with(&["--methods-file", "methods.toml"]).await;
    space.wait_for_registration("active", SOON).await;
    logged(&space, "ValueError: late").await;
    assert_eq!(result(&ann.call("echo", json!([2])).await), &json!([2]));
    agent.stop().await;
}

#[tokio::test]
async fn s6_1_a_template_gives_its_spaces_a_global_startup_script() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let receiver = TestReceiver::start().await;
    ann.webhook("created", "space.created", &receiver.url("/"))
        .await;
    let source =
        "from svc import api\nimport greetings\nprint(greetings.HELLO, api.me()['username'])\n";
    ann.script("library", "greetings", "HELLO = 'hello'\n")
        .await;
    let script = admin.global_script("startup", "greet", source).await;
    let template = json!({"name": "kit", "startup_script_id": script.id});
    let template = admin
        .post("/api/templates", template)
        .await
        .expect(201)
        .json();
    let space = ann
        .space_with(json!({"name": "kit", "template_id": template["id"]}))
        .await;
    let plain = ann.space("plain").await;
    let created = receiver.wait_for("/", 2, SOON).await;
    assert_eq!(created[0].json()["data"]["startup_script_id"], script.id);
    assert_eq!(created[0].json()["data"]["template_id"], template["id"]);
    assert_eq!(created[1].json()["data"]["startup_script_id"], Value::Null);
    let mut agent = space.agent().await;
    // The script runs as the space's owner, in the space.
    logged(&space, "hello ann").await;
    let mut other = plain.agent().await;
    let lines = log(&plain).await;
    let startup = |line: &Value| line["line"].as_str().unwrap().contains("startup script");
    assert!(!lines.iter().any(startup), "{lines:?}");
    other.stop().await;
    agent.stop().await;
}

#[tokio::test]
async fn a_space_takes_only_a_startup_script_that_its_owner_may_use() {
    let server = TestServer::start().await;
    let (ann, ben, admin) = (
        server.user("ann").await,
        server.user("ben").await,
        server.admin().await,
    );
    let own = ann.script("startup", "own", "x = 1").await;
    let tool = ann.script("tool", "t", "x = 1").await;
    let nothing = "01890000-0000-7000-8000-000000000000";
    let refuse = async |user: &TestUser, id: &str, says: &str| {
        let body = json!({"name": "bad", "startup_script_id": id});
        let refused = user.post("/api/spaces", body).await;
        assert!(matches!(refused.status, 400 | 422), "{}", refused.text());
        assert!(refused.text().contains(says), "{}", refused.text());
    };
    refuse(&ben, &own.id, "does not exist").await;
    refuse(&ann, &tool.id, "not a startup script").await;
    refuse(&ann, nothing, "does not exist").await;
    // The script of a template is used by all users, so it must be global.
    let global = admin.global_script("startup", "g", "x = 1").await;
    let mine = admin.script("startup", "m", "x = 1").await;
    for id in [&mine.id, &tool.id, &own.id] {
        let body = json!({"name": "kit", "startup_script_id": id});
        let refused = admin.post("/api/templates", body).await;
        assert!(matches!(refused.status, 400 | 422), "{}", refused.text());
    }
    let space = space_with(&ann, &own.id).await;
    let patch = async |id: Value| {
        let body = json!({ "startup_script_id": id });
        ann.patch(&space.path(), body).await
    };
    let changed = patch(json!(global.id)).await.expect(200).json();
    assert_eq!(changed["startup_script_id"], global.id);
    assert!(matches!(patch(json!(tool.id)).await.status, 400 | 422));
    let cleared = patch(Value::Null).await.expect(200).json();
    assert_eq!(cleared["startup_script_id"], Value::Null);
    ann.delete(&own.path()).await.expect(204);
}

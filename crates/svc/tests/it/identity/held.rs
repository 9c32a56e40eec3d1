//! Calls in flight while their caller loses the method: the answer is the same as for a method that
//! does not exist, over every way to call it.

use serde_json::{Value, json};
use svc_testkit::{
    Answer, RegistrationToml, SseStream, TestAgent, TestServer, TestSpace, TestUser, fixture,
    method,
};
use tokio::task::JoinHandle;

use crate::SOON;

/// `hold` reports its progress and returns once the file `go` exists.
const METHOD_SERVER: &str = r#"
while read -r line; do
  id=${line##*\"id\":}; id=${id%\}}
  echo "{\"jsonrpc\":\"2.0\",\"method\":\"\$/progress\",\"params\":{\"id\":$id,\"progress\":1}}"
  while [ ! -e go ]; do sleep 0.02; done
  echo "{\"id\":$id,\"result\":\"secret\"}"
done
"#;

const TOOL: &str = "
from svc import api

def main(params):
    try:
        return api.call('user.ann.hold', {})
    except Exception as error:
        return str(error)
";

/// How bob calls the method.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Single,
    /// Also calls `echo`, which answers at once.
    Batch,
    Script,
    Mcp,
    McpBatch,
}

/// The change during the call: bob loses the method, or ann is deactivated.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Role,
    Group,
    GroupDeleted,
    OwnerDeactivated,
}

struct Scene {
    server: TestServer,
    admin: TestUser,
    ann: TestUser,
    bob: TestUser,
    space: TestSpace,
    agent: TestAgent,
    _echo: TestAgent,
}

fn registration() -> RegistrationToml {
    let hold = method("hold", "hold").shared().groups(&["ops"]).mcp_tool();
    RegistrationToml::shell(METHOD_SERVER).with(hold)
}

impl Scene {
    /// Bob is in the group `ops`, with which ann shares her methods. Without the role `callers` he
    /// may still use `/mcp` and run scripts.
    async fn new() -> Self {
        let server = TestServer::start().await;
        let admin = server.admin().await;
        server.groups(&["ops"]).await;
        server.role("callers", &["use_methods"]).await;
        server.role("clients", &["use_mcp"]).await;
        let ann = server.user("ann").await;
        let bob = server
            .user_with("bob", &["callers", "clients"], &["ops"])
            .await;
        let space = ann.space("lab").await;
        let agent = space.publish(registration()).await;
        let echo = method("echo", "echo").shared().groups(&["ops"]).mcp_tool();
        let _echo = ann.space("echo").await.publish(fixture().with(echo)).await;
        Self {
            server,
            admin,
            ann,
            bob,
            space,
            agent,
            _echo,
        }
    }

    /// Starts a call, and waits until the space works on it.
    async fn start(&self, way: Way) -> JoinHandle<Answer> {
        let _ = std::fs::remove_file(self.space.folder().join("go"));
        let call = |method: &str, id: u8| json!({"jsonrpc": "2.0", "method": method, "params": {}, "id": id});
        let tool = |name: &str, id: u8| {
            let params = json!({"name": name, "arguments": {}});
            json!({"jsonrpc": "2.0", "method": "tools/call", "params": params, "id": id})
        };
        let (path, body) = match way {
            Way::Single => ("/api/methods/call", call("user.ann.hold", 1)),
            Way::Batch => {
                let items = [call("user.ann.echo", 2), call("user.ann.hold", 1)];
                ("/api/methods/call", json!(items))
            }
            Way::Script => ("/api/scripts/run", json!({"kind": "tool", "source": TOOL})),
            Way::Mcp => ("/mcp", tool("user_ann_hold", 1)),
            Way::McpBatch => (
                "/mcp",
                json!([tool("user_ann_echo", 2), tool("user_ann_hold", 1)]),
            ),
        };
        let bob = self.bob.clone();
        let waiting = tokio::spawn(async move { bob.post(path, body).await });
        self.ann.wait_for_in_flight("hold", 1).await;
        waiting
    }

    /// Lets `hold` answer.
    async fn finish(&self, waiting: JoinHandle<Answer>) -> Answer {
        self.space.write("go", "");
        waiting.await.unwrap()
    }

    async fn lose(&self, loss: Loss) {
        let bob = format!("/api/users/{}", self.bob.id);
        let patch = async |path: &str, body: Value| {
            self.admin.patch(path, body).await.expect(200);
        };
        match loss {
            Loss::Role => patch(&bob, json!({"roles": ["clients"]})).await,
            Loss::Group => patch(&bob, json!({"groups": []})).await,
            Loss::GroupDeleted => {
                let groups = self.admin.list("/api/groups", "groups").await;
                let id = groups[0]["id"].as_str().unwrap().to_owned();
                self.admin
                    .delete(&format!("/api/groups/{id}"))
                    .await
                    .expect(204);
            }
            Loss::OwnerDeactivated => {
                let ann = format!("/api/users/{}", self.ann.id);
                patch(&ann, json!({"active": false})).await;
            }
        }
    }

    async fn restore(&self) {
        let bob = json!({"roles": ["callers", "clients"], "groups": ["ops"]});
        let path = format!("/api/users/{}", self.bob.id);
        self.admin.patch(&path, bob).await.expect(200);
    }
}

#[tokio::test]
async fn a_caller_who_loses_a_method_while_it_runs_does_not_get_its_result() {
    let scene = Scene::new().await;
    for way in [
        Way::Single,
        Way::Batch,
        Way::Script,
        Way::Mcp,
        Way::McpBatch,
    ] {
        for loss in [Loss::Role, Loss::Group] {
            let waiting = scene.start(way).await;
            scene.lose(loss).await;
            let answer = scene.finish(waiting).await.expect(200);
            let text = answer.text();
            assert!(!text.contains("secret"), "{way:?} {loss:?}: {text}");
            let code = match way {
                Way::Single | Way::Batch => "-32601",
                Way::Script => "not found",
                Way::Mcp | Way::McpBatch => "-32602",
            };
            let items = if matches!(way, Way::Batch | Way::McpBatch) {
                2
            } else {
                1
            };
            // The first item of a batch was answered before the loss, and waited for the other.
            assert_eq!(
                text.matches(code).count(),
                items,
                "{way:?} {loss:?}: {text}"
            );
            // The next call gets the same answer.
            let next = scene.bob.call("user.ann.echo", json!({})).await;
            assert_eq!(next["error"]["code"], -32601, "{way:?} {loss:?}: {next}");
            scene.restore().await;
        }
        let waiting = scene.start(way).await;
        // A change that does not concern bob.
        scene
            .server
            .user_with(&format!("other{}", way as u8), &[], &[])
            .await;
        let text = scene.finish(waiting).await.expect(200).text();
        assert!(text.contains("secret"), "{way:?}: {text}");
    }
    let waiting = scene.start(Way::Batch).await;
    scene.lose(Loss::GroupDeleted).await;
    let text = scene.finish(waiting).await.expect(200).text();
    assert!(!text.contains("secret"), "{text}");
}

#[tokio::test]
async fn the_results_of_a_batch_are_withheld_if_the_owner_is_deactivated() {
    let scene = Scene::new().await;
    let waiting = scene.start(Way::Batch).await;
    scene.lose(Loss::OwnerDeactivated).await;
    let answers = scene.finish(waiting).await.expect(200).json();
    assert_eq!(answers[0]["error"]["code"], -32601, "{answers}");
    assert!(answers[1]["error"]["code"].is_i64(), "{answers}");
}

#[tokio::test]
async fn a_call_is_answered_under_the_registration_that_accepted_it() {
    let scene = Scene::new().await;
    let waiting = scene.start(Way::Single).await;
    let private = RegistrationToml::shell(METHOD_SERVER).with(method("hold", "hold"));
    scene.agent.register(private).await.expect(0);
    // Any change of the directory makes the server check again.
    scene.server.user_with("other", &[], &[]).await;
    let answer = scene.finish(waiting).await.expect(200).json();
    assert_eq!(answer["result"], "secret", "{answer}");
    let next = scene.bob.call("user.ann.hold", json!({})).await;
    assert_eq!(next["error"]["code"], -32601, "{next}");
}

#[tokio::test]
async fn progress_is_not_reported_to_a_caller_who_lost_the_method() {
    let scene = Scene::new().await;
    let _ = std::fs::remove_file(scene.space.folder().join("go"));
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "user_ann_hold", "arguments": {}, "_meta": {"progressToken": "t"}},
    });
    let request = scene
        .bob
        .request("POST", "/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", crate::mcp::LEGACY)
        .body(call.to_string().into())
        .unwrap();
    let mut stream = SseStream::open(&scene.bob.http(), request).await;
    stream.next(SOON).await.expect("a report of progress");
    scene.lose(Loss::Group).await;
    scene.space.write("go", "");
    let last = stream.next(SOON).await.expect("the answer").data;
    assert!(
        last.contains("-32602") && !last.contains("secret"),
        "{last}"
    );
    assert!(stream.next(SOON).await.is_none(), "the stream ends");
}

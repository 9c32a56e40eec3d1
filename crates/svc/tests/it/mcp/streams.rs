//! `list_changed` for modern (2026-07-28) and legacy clients: sent within a second, and only to
//! users whose list changed.

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{SseStream, TestServer, TestUser, fixture, method};

use crate::{
    SOON,
    mcp::{LEGACY, MODERN, modern_body},
};

/// Time limit for the message about a change. Much more than a second, because the machine may be
/// busy.
const CHANGE: Duration = SOON;
/// How long a stream must stay quiet.
const QUIET: Duration = Duration::from_millis(1_500);

/// A modern stream, after its acknowledgement.
pub async fn listen(user: &TestUser, path: &str) -> SseStream {
    let params = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
    let body = modern_body("subscriptions/listen", params).to_string();
    let request = user
        .request("POST", path)
        .header("content-type", "application/json")
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", "subscriptions/listen")
        .body(body.into())
        .unwrap();
    let mut stream = SseStream::open(&user.http(), request).await;
    let first = next(&mut stream).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        first["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    assert_eq!(subscription(&first["params"]), 1);
    stream
}

/// A legacy stream.
async fn watch(user: &TestUser) -> SseStream {
    let request = user
        .request("GET", "/mcp")
        .header("accept", "text/event-stream")
        .header("mcp-protocol-version", LEGACY)
        .body(Default::default())
        .unwrap();
    SseStream::open(&user.http(), request).await
}

fn subscription(members: &Value) -> &Value {
    &members["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

async fn next(stream: &mut SseStream) -> Value {
    let message = stream.next(CHANGE).await.expect("the stream goes on");
    assert_eq!(message.event, "message");
    serde_json::from_str(&message.data).expect("JSON")
}

pub async fn changed(stream: &mut SseStream) {
    assert_eq!(
        next(stream).await["method"],
        "notifications/tools/list_changed"
    );
}

pub async fn quiet(stream: &mut SseStream) {
    let told = tokio::time::timeout(QUIET, stream.next(SOON)).await;
    assert!(told.is_err(), "{told:?}");
}

#[tokio::test]
async fn changes_reach_exactly_the_users_whose_list_changed() {
    let server = TestServer::start().await;
    let group = server.groups(&["ops"]).await[0].clone();
    let admin = server.admin().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let cat = server.user_with("cat", &["user"], &["ops"]).await;
    let mut of_ann = listen(&ann, "/mcp").await;
    let (mut of_ben, mut of_cat) = (listen(&ben, "/mcp").await, watch(&cat).await);
    let space = ann.space("lab").await;
    let tool = |name: &str| method(name, "echo").mcp_tool();

    // A private tool affects only its owner.
    let mut agent = space.publish(fixture().with(tool("one"))).await;
    let told = next(&mut of_ann).await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(subscription(&told["params"]), 1);
    tokio::join!(quiet(&mut of_ben), quiet(&mut of_cat));

    // A tool for a group affects its members.
    let with_group = fixture()
        .with(tool("one"))
        .with(tool("two").shared().groups(&["ops"]));
    agent.register(with_group.clone()).await.expect(0);
    changed(&mut of_ann).await;
    changed(&mut of_cat).await;
    quiet(&mut of_ben).await;

    // A registration that adds only a method that is not a tool does not change the list.
    agent
        .register(with_group.clone().with(method("no.tool", "echo").shared()))
        .await
        .expect(0);
    tokio::join!(quiet(&mut of_ann), quiet(&mut of_ben), quiet(&mut of_cat));

    // One user joins the group, another loses the permission to use shared methods.
    let patch = json!({"groups": ["ops"]});
    admin
        .patch(&format!("/api/users/{}", ben.id), patch)
        .await
        .expect(200);
    changed(&mut of_ben).await;
    server.role("agent", &["use_mcp"]).await;
    let patch = json!({"roles": ["agent"]});
    admin
        .patch(&format!("/api/users/{}", cat.id), patch)
        .await
        .expect(200);
    changed(&mut of_cat).await;
    quiet(&mut of_ann).await;

    // The group is deleted.
    admin
        .delete(&format!("/api/groups/{}", group["id"].as_str().unwrap()))
        .await
        .expect(204);
    changed(&mut of_ben).await;
    tokio::join!(quiet(&mut of_ann), quiet(&mut of_cat));

    // The tools end with their agent.
    assert!(agent.stop().await.success());
    changed(&mut of_ann).await;
    tokio::join!(quiet(&mut of_ben), quiet(&mut of_cat));
}

#[tokio::test]
async fn streams_end_with_their_credential_and_with_the_server() {
    let mut server = TestServer::start().await;
    let admin = server.admin().await;
    let ann = server.user("ann").await;
    let token = ann.new_token(&["mcp"]).await;
    let scoped = ann.with_token(token["token"].as_str().unwrap());
    let (mut modern, mut legacy) = (listen(&scoped, "/mcp").await, watch(&scoped).await);
    ann.delete(&format!("/api/tokens/{}", token["id"].as_str().unwrap()))
        .await
        .expect(204);
    let last = next(&mut modern).await;
    assert_eq!(
        (&last["id"], &last["result"]["resultType"]),
        (&json!(1), &json!("complete"))
    );
    assert_eq!(subscription(&last["result"]), 1);
    assert_eq!(modern.next(CHANGE).await, None);
    assert_eq!(legacy.next(CHANGE).await, None);

    // A stream ends when its user loses the permission to use MCP.
    let mut modern = listen(&ann, "/mcp").await;
    let patch = json!({"roles": []});
    admin
        .patch(&format!("/api/users/{}", ann.id), patch)
        .await
        .expect(200);
    next(&mut modern).await;
    assert_eq!(modern.next(CHANGE).await, None);

    let mut legacy = watch(&admin).await;
    assert!(server.terminate().await.success());
    assert_eq!(legacy.next(CHANGE).await, None);
}

#[tokio::test]
async fn streams_of_a_user_are_limited() {
    let server = TestServer::builder()
        .config_table("quotas", "streams = 5")
        .start()
        .await;
    let ann = server.user("ann").await;
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(watch(&ann).await);
    }
    let request = ann
        .request("GET", "/mcp")
        .header("accept", "text/event-stream");
    let answer = ann
        .http()
        .send(request.body(Default::default()).unwrap())
        .await;
    let refused = answer.expect(429).json();
    assert_eq!(refused["code"], "quota_exceeded");
    assert_eq!(refused["limit"], 5);
    assert_eq!(refused["setting"], "quotas.streams");
    let ben = server.user("ben").await;
    watch(&ben).await;
    drop(open.pop());
    svc_testkit::eventually("another stream can be opened", SOON, || async {
        let request = ann
            .request("GET", "/mcp")
            .header("accept", "text/event-stream");
        let request = request.body(Default::default()).unwrap();
        let http = ann.http();
        // A timeout means that the stream was opened: its response does not end, but a refusal is
        // answered at once.
        let sending = http.try_send(request);
        let answer = tokio::time::timeout(Duration::from_millis(300), sending);
        answer.await.is_err()
    })
    .await;
}

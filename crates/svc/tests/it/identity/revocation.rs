//! Requests in flight when their caller is revoked: requests whose body has not arrived, calls
//! and scripts that wait for their result, tool calls answered as a stream, agents of stopped
//! spaces.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::{
    Answer, RegistrationToml, SseStream, TestAgent, TestServer, TestSpace, TestUser, eventually,
    method,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
    time::timeout,
};

use crate::SOON;

/// An id that no record has.
const UNKNOWN_ID: &str = "01890000-0000-7000-8000-000000000000";

/// `hold` reports its progress and returns once the file `go` exists.
const METHOD_SERVER: &str = r#"
while read -r line; do
  id=${line##*\"id\":}; id=${id%\}}
  echo "{\"jsonrpc\":\"2.0\",\"method\":\"\$/progress\",\"params\":{\"id\":$id,\"progress\":1}}"
  while [ ! -e go ]; do sleep 0.02; done
  echo "{\"id\":$id,\"result\":\"secret\"}"
done
"#;

/// How a caller is revoked before the body of their request has arrived.
#[derive(Clone, Copy, Debug)]
enum Revocation {
    Deactivate,
    DeleteToken,
    TakeRole,
}

/// A request whose head has been sent. The server asks for the body (`100 Continue`) after it has
/// authenticated the caller, so a revocation at this point always comes between the check and the
/// body.
pub struct HalfSent {
    stream: TcpStream,
    body: String,
}

pub enum Begun {
    /// The route reads a body.
    Waits(HalfSent),
    /// The route has answered without reading a body.
    Answered,
}

pub async fn begin(
    server: &TestServer,
    token: &str,
    method: &str,
    path: &str,
    body: &str,
) -> Begun {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\naccept: application/json\r\n\
         content-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
        server.address(),
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let status = read_status(&mut stream).await;
    match status {
        100 => Begun::Waits(HalfSent {
            stream,
            body: body.to_owned(),
        }),
        _ => Begun::Answered,
    }
}

impl HalfSent {
    /// Sends the body; returns the status of the answer.
    pub async fn finish(mut self) -> u16 {
        self.stream.write_all(self.body.as_bytes()).await.unwrap();
        read_status(&mut self.stream).await
    }
}

/// Reads the head of one response, and returns its status.
async fn read_status(stream: &mut TcpStream) -> u16 {
    let mut head = Vec::new();
    let reading = async {
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
    };
    timeout(SOON, reading).await.expect("an answer in time");
    let head = String::from_utf8(head).unwrap();
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

/// A body that would change something if the route accepted it.
fn body(path: &str) -> String {
    let body = match path {
        "/api/users" => json!({
            "username": "backdoor", "password": "a long enough password", "roles": ["admin"],
        }),
        "/api/methods/call" => json!({"jsonrpc": "2.0", "method": "x", "id": 1}),
        _ => json!({"name": "backdoor"}),
    };
    body.to_string()
}

async fn changing_routes(server: &TestServer) -> Vec<(String, String, String)> {
    let listed = server
        .anonymous_cli()
        .run(&["server", "routes", "-o", "json"])
        .await
        .expect(0)
        .json();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = listed.as_array().unwrap().iter();
    rows.map(|row| (text(row, "method"), text(row, "path"), text(row, "needs")))
        .filter(|(method, _, needs)| {
            // Leave out routes that need no credential.
            method != "GET" && !needs.starts_with("nothing") && needs != "loopback"
        })
        .collect()
}

/// Revokes the caller. Returns the status that the caller's request must then get.
async fn revoke(admin: &TestUser, mallory: &TestUser, token: &Value, how: Revocation) -> u16 {
    let user = format!("/api/users/{}", mallory.id);
    match how {
        Revocation::Deactivate => {
            admin
                .patch(&user, json!({"active": false}))
                .await
                .expect(200);
            401
        }
        Revocation::DeleteToken => {
            let path = format!("/api/tokens/{}", token["id"].as_str().unwrap());
            mallory.delete(&path).await.expect(204);
            401
        }
        Revocation::TakeRole => {
            admin.patch(&user, json!({"roles": []})).await.expect(200);
            403
        }
    }
}

async fn restore(admin: &TestUser, mallory: &TestUser) {
    let user = format!("/api/users/{}", mallory.id);
    let restored = json!({"active": true, "roles": ["admin"]});
    admin.patch(&user, restored).await.expect(200);
}

#[tokio::test]
async fn s5_a_body_that_arrives_after_the_revocation_changes_nothing() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let mallory = server.user_with("mallory", &["admin"], &[]).await;
    let (mut wrong, mut waited) = (Vec::new(), 0);
    for (method, path, needs) in changing_routes(&server).await {
        let concrete = path.replace("{id}", UNKNOWN_ID).replace("{n}", "1");
        let concrete = concrete.replace("{user_code}", "BCDFGHJK");
        for how in [
            Revocation::Deactivate,
            Revocation::DeleteToken,
            Revocation::TakeRole,
        ] {
            if matches!(how, Revocation::TakeRole) && needs.starts_with("caller") {
                continue;
            }
            let token = mallory.new_token(&[]).await;
            let secret = token["token"].as_str().unwrap();
            let begun = begin(&server, secret, &method, &concrete, &body(&path)).await;
            let Begun::Waits(request) = begun else {
                continue;
            };
            waited += 1;
            let expected = revoke(&admin, &mallory, &token, how).await;
            let status = request.finish().await;
            if status != expected {
                wrong.push(format!("{method} {path}, {how:?}: {status}"));
            }
            restore(&admin, &mallory).await;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(waited > 40, "only {waited} requests waited for a body");
    for path in ["/api/users", "/api/groups", "/api/roles", "/api/tokens"] {
        let listed = admin.get(path).await.expect(200).text();
        assert!(!listed.contains("backdoor"), "{path}: {listed}");
    }
}

/// A space whose method `hold` answers when the test creates the file `go`.
async fn holding(server: &mut TestServer) -> (TestUser, TestUser, TestSpace, TestAgent) {
    let admin = server.admin().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let hold = method("hold", "hold").mcp_tool();
    let registration = RegistrationToml::shell(METHOD_SERVER).with(hold);
    let agent = space.publish(registration).await;
    (admin, ann, space, agent)
}

/// Revokes a token while a request with it waits for `hold`. The request must not get the result.
async fn expect_no_secret(
    ann: &TestUser,
    token: &Value,
    space: &TestSpace,
    waiting: JoinHandle<Answer>,
) {
    let path = format!("/api/tokens/{}", token["id"].as_str().unwrap());
    ann.delete(&path).await.expect(204);
    space.write("go", "");
    let answer = waiting.await.unwrap();
    assert!(!answer.text().contains("secret"), "{}", answer.text());
    answer.expect(401);
}

#[tokio::test]
async fn s5_a_caller_revoked_while_waiting_does_not_get_the_result() {
    let mut server = TestServer::start().await;
    let (admin, ann, space, _agent) = holding(&mut server).await;
    let bob = server.user("bob").await;
    let token = ann.new_token(&[]).await;
    let revoked = ann.with_token(token["token"].as_str().unwrap());
    let call = json!({"jsonrpc": "2.0", "method": "hold", "params": {}, "id": 1}).to_string();
    let waiting = {
        let revoked = revoked.clone();
        tokio::spawn(async move { revoked.call_raw(call).await })
    };
    ann.wait_for_in_flight("hold", 1).await;
    // The deactivation of another user does not affect the call.
    admin
        .patch(&format!("/api/users/{}", bob.id), json!({"active": false}))
        .await
        .expect(200);
    expect_no_secret(&ann, &token, &space, waiting).await;
    // A caller who is not revoked gets the result, even if other callers were revoked.
    let own = ann.call("hold", json!({})).await;
    assert_eq!(own["result"], "secret");
}

#[tokio::test]
async fn s5_a_caller_revoked_during_a_run_of_a_script_does_not_get_the_result() {
    let mut server = TestServer::start().await;
    let (_admin, ann, space, _agent) = holding(&mut server).await;
    let source = "from svc import api\n\ndef main(params):\n    return api.call('hold', {})\n";
    let tool = ann.script("tool", "tool", source).await;
    let token = ann.new_token(&[]).await;
    let revoked = ann.with_token(token["token"].as_str().unwrap());
    let path = format!("{}/run", tool.path());
    let waiting = tokio::spawn(async move { revoked.post(&path, json!({})).await });
    ann.wait_for_in_flight("hold", 1).await;
    expect_no_secret(&ann, &token, &space, waiting).await;
    let own = ann.run_tool(&tool, json!({})).await;
    assert_eq!(own["result"], "secret");
}

#[tokio::test]
async fn s5_a_tool_call_answered_as_a_stream_ends_with_its_credential() {
    let mut server = TestServer::start().await;
    let (admin, ann, _space, mut agent) = holding(&mut server).await;
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "hold", "arguments": {}, "_meta": {"progressToken": "t"}},
    });
    let request = ann
        .request("POST", "/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", crate::mcp::LEGACY)
        .body(call.to_string().into())
        .unwrap();
    let mut stream = SseStream::open(&ann.http(), request).await;
    stream.next(SOON).await.expect("a report of progress");
    let path = format!("/api/users/{}", ann.id);
    admin
        .patch(&path, json!({"active": false}))
        .await
        .expect(200);
    let revoked = Instant::now();
    assert!(stream.next(SOON).await.is_none(), "the stream ends");
    // The stream checks its credential every second. A busy machine may need longer.
    assert!(revoked.elapsed() < Duration::from_secs(20));
    // The agent waits for the reactivation of its owner.
    agent.process().wait_for_log("is deactivated", SOON).await;
}

#[tokio::test]
async fn s5_the_agent_token_of_a_stopped_space_does_not_act_as_its_owner() {
    let mut server = TestServer::start().await;
    let (_admin, ann, space, mut agent) = holding(&mut server).await;
    let as_agent = ann.with_token(&space.agent_token);
    as_agent.get("/api/spaces").await.expect(200);
    let mut stream = {
        let request = as_agent
            .request("GET", "/api/events/stream")
            .body(String::new().into())
            .unwrap();
        SseStream::open(&ann.http(), request).await
    };
    ann.post(&format!("{}/stop", space.path()), "{}")
        .await
        .expect(200);
    for (method, path) in [
        ("GET", "/api/auth/me".to_owned()),
        ("GET", "/api/spaces".to_owned()),
        ("POST", "/api/scripts".to_owned()),
        ("POST", "/api/methods/call".to_owned()),
        // With this route, the agent could start its space again by itself.
        ("POST", format!("{}/start", space.path())),
        ("POST", format!("{}/agent-token", space.path())),
    ] {
        let answer = as_agent.send(method, &path, Some("{}".to_owned())).await;
        let answer = answer.expect(403);
        assert_eq!(answer.code(), "space_stopped", "{method} {path}");
    }
    let ended = timeout(SOON, async { while stream.next(SOON).await.is_some() {} });
    ended.await.expect("open streams end too");
    // The agent waits and does not exit.
    eventually("the agent reports the stopped space", SOON, || async {
        let status = agent.find_status().await.unwrap_or_default();
        status.to_string().contains("the space is stopped")
    })
    .await;
    ann.post(&format!("{}/start", space.path()), "{}")
        .await
        .expect(200);
    as_agent.get("/api/spaces").await.expect(200);
    space
        .wait_for_state("deployed", Duration::from_secs(30))
        .await;
    space.write("go", "");
    eventually("its methods are back", SOON, || async {
        ann.find_method("hold").await.is_some()
    })
    .await;
    assert_eq!(ann.call("hold", json!({})).await["result"], "secret");
    agent.stop().await;
}

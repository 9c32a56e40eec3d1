//! API tokens: scopes, expiry, revocation (spec 2.4, 5).

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser, error_code, fixture, method, result};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream},
    net::TcpStream,
};

/// Statuses of three routes that scopes open and of two other paths, in a fixed order.
async fn reach(user: &TestUser) -> [u16; 5] {
    let call = json!({"jsonrpc": "2.0", "method": "missing", "id": 1});
    [
        user.get("/api/methods").await.status,
        user.call_raw(call).await.status,
        user.post("/mcp", "{}").await.status,
        user.get("/api/spaces").await.status,
        user.get("/api/nowhere").await.status,
    ]
}

#[tokio::test]
async fn s2_4_s5_s7_scopes_open_exactly_their_routes() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let [methods, call, mcp, spaces, nowhere] = reach(&ann.scoped(&["methods"]).await).await;
    assert_eq!(
        [methods, call, mcp, spaces, nowhere],
        [200, 200, 403, 403, 403]
    );
    let [methods, call, mcp, spaces, nowhere] = reach(&ann.scoped(&["mcp"]).await).await;
    assert_eq!([methods, call, spaces, nowhere], [403, 403, 403, 403]);
    assert_ne!(mcp, 403);
    let [methods, call, mcp, spaces, nowhere] = reach(&ann.scoped(&["mcp", "methods"]).await).await;
    assert_eq!([methods, call, spaces, nowhere], [200, 200, 403, 403]);
    assert_ne!(mcp, 403);
    // An empty list of scopes means unrestricted.
    let [methods, call, _, spaces, nowhere] = reach(&ann.scoped(&[]).await).await;
    assert_eq!([methods, call, spaces, nowhere], [200, 200, 200, 404]);
    let denied = ann.scoped(&["methods"]).await.get("/api/spaces").await;
    assert_eq!(denied.code(), "scope_denied");
    let head = ann
        .scoped(&["methods"])
        .await
        .send("HEAD", "/api/methods", None)
        .await;
    assert_eq!(head.status, 200);
}

#[tokio::test]
async fn s5_a_scoped_token_never_gains_more_than_its_scopes() {
    let server = TestServer::start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let scoped = ann.scoped(&["methods"]).await;
    let path = format!("/api/users/{}", ann.id);
    admin
        .patch(&path, json!({"roles": ["admin"]}))
        .await
        .expect(200);
    ann.get("/api/users").await.expect(200);
    assert_eq!(reach(&scoped).await, [200, 200, 403, 403, 403]);
    // In particular, the token cannot create tokens.
    scoped
        .post("/api/tokens", json!({"name": "more"}))
        .await
        .expect(403);
}

#[tokio::test]
async fn s5_cookies_and_agent_tokens_bypass_the_scope_check() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let cookie = ann.login().await;
    let headers = [("cookie", cookie.as_str())];
    server
        .http()
        .request("GET", "/api/spaces", &headers, "")
        .await
        .expect(200);
    ann.with_token(&space.agent_token)
        .get("/api/spaces")
        .await
        .expect(200);
}

#[tokio::test]
async fn s5_an_agent_token_acts_as_the_owner_but_not_on_credentials_or_other_spaces() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (space, other) = (ann.space("lab").await, ann.space("other").await);
    let bens = ben.space("lab").await;
    let _agent = bens
        .publish(fixture().with(method("echo", "echo").shared()))
        .await;
    let agent = ann.with_token(&space.agent_token);
    result(&agent.call("user.ben.echo", json!({})).await);
    let me = agent.get("/api/auth/me").await.expect(200).json();
    assert_eq!(me["username"], "ann");
    assert_eq!(me["credential"], "agent");
    assert_eq!(me["space_id"], space.id);
    agent
        .get(&format!("{}/logs", space.path()))
        .await
        .expect(200);
    agent.get("/api/tokens").await.expect(403);
    agent
        .post("/api/tokens", json!({"name": "x"}))
        .await
        .expect(403);
    agent
        .post("/api/spaces", json!({"name": "x"}))
        .await
        .expect(403);
    agent.delete(&other.path()).await.expect(403);
    agent
        .post(&format!("{}/stop", other.path()), "{}")
        .await
        .expect(403);
    other.record().await;
}

#[tokio::test]
async fn s5_secrets_are_shown_once_and_stored_as_hashes_only() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let body = json!({"name": "laptop", "scopes": ["methods"], "expires_in_days": 30});
    let created = ann.post("/api/tokens", body).await.expect(201).json();
    let keys = [
        "id",
        "name",
        "token",
        "scopes",
        "created_at",
        "expires_at",
        "last_used_at",
    ];
    let found: Vec<_> = created.as_object().unwrap().keys().collect();
    assert_eq!(found, keys);
    let secret = created["token"].as_str().unwrap();
    assert!(secret.starts_with("svc_pat_"));
    assert_eq!(created["scopes"], json!(["methods"]));
    assert!(created["expires_at"].is_string());
    let list = ann.get("/api/tokens").await.expect(200);
    assert!(!list.text().contains("svc_pat_"), "{}", list.text());
    let tokens = list.json()["tokens"].as_array().unwrap().clone();
    assert!(tokens.iter().any(|token| token["name"] == "laptop"));
    assert_eq!(
        tokens
            .iter()
            .find(|token| token["name"] == "testkit")
            .unwrap()["scopes"],
        json!([])
    );

    server.terminate().await;
    for entry in std::fs::read_dir(server.data_dir()).unwrap().flatten() {
        let Ok(bytes) = std::fs::read(entry.path()) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for secret in [secret, &ann.token, &space.agent_token, &ann.password] {
            assert!(!text.contains(secret), "{:?} holds a secret", entry.path());
        }
    }
    let log = server.log();
    assert!(
        !log.contains("svc_pat_") && !log.contains("svc_agt_"),
        "{log}"
    );
}

#[tokio::test]
async fn s5_a_revoked_token_is_refused_from_the_next_request_on() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let token = ann.new_token(&[]).await;
    let path = format!("/api/tokens/{}", token["id"].as_str().unwrap());
    let other = ann.with_token(token["token"].as_str().unwrap());
    other.get("/api/methods").await.expect(200);
    ben.delete(&path).await.expect(404);
    let revoked = ann.delete(&path).await;
    assert!([200, 204].contains(&revoked.status), "{}", revoked.text());
    other.get("/api/methods").await.expect(401);
    ann.delete(&path).await.expect(404);
    ann.get("/api/methods").await.expect(200);
}

#[tokio::test]
async fn s5_an_expired_token_is_refused() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let token = ann.new_token(&[]).await;
    let expired = ann.with_token(token["token"].as_str().unwrap());
    expired.get("/api/methods").await.expect(200);
    server.expire_token(token["id"].as_str().unwrap()).await;
    let answer = expired.get("/api/methods").await.expect(401);
    assert!(answer.text().contains("expired"), "{}", answer.text());
    assert!(answer.header("www-authenticate").is_some());
    ann.get("/api/methods").await.expect(200);
}

#[tokio::test]
async fn s2_4_the_answer_to_an_invalid_token_request_names_the_fault() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for (body, said) in [
        (json!({"name": "x", "scopes": ["events"]}), "events"),
        (json!({"name": "x", "scopes": "methods"}), "methods"),
        (
            json!({"name": "x", "expires_in_days": 0}),
            "expires_in_days",
        ),
        (json!({"name": "x", "colour": "red"}), "colour"),
        (json!({"name": ""}), "name"),
        (json!({}), "name"),
    ] {
        let answer = ann.post("/api/tokens", &body).await.expect(400);
        assert!(answer.text().contains(said), "to {body}: {}", answer.text());
    }
    ann.post("/api/tokens", "{").await.expect(400);
}

#[tokio::test]
async fn s5_last_use_is_recorded() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    ann.get("/api/methods").await.expect(200);
    // The last use is written at the latest when the server ends.
    server.restart().await;
    let tokens = ann.get("/api/tokens").await.expect(200).json();
    let used = |token: &Value| token["last_used_at"].is_string();
    assert!(
        tokens["tokens"].as_array().unwrap().iter().any(used),
        "{tokens}"
    );
}

#[tokio::test]
async fn s5_a_token_in_a_cookie_or_a_session_as_a_bearer_is_refused() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let cookie = format!("svc_session={}", ann.token);
    let headers = [("cookie", cookie.as_str())];
    server
        .http()
        .request("GET", "/api/methods", &headers, "")
        .await
        .expect(401);
    let session = ann.login().await;
    let secret = session.split_once('=').unwrap().1;
    ann.with_token(secret).get("/api/methods").await.expect(401);
    for bad in ["", "Bearer", "Basic YTpi", "Bearer  ", "bearer svc_pat_x"] {
        let headers = [("authorization", bad)];
        server
            .http()
            .request("GET", "/api/methods", &headers, "")
            .await
            .expect(401);
    }
    assert_eq!(error_code(&ann.call("missing", json!({})).await), -32601);
}

/// A token of this user, created with the current token.
async fn child(user: &TestUser, body: Value) -> (TestUser, Value) {
    let record = user.post("/api/tokens", body).await.expect(201).json();
    (user.with_token(record["token"].as_str().unwrap()), record)
}

#[tokio::test]
async fn s5_a_token_created_with_an_expiring_token_does_not_outlive_it() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (expiring, parent) = child(&ann, json!({"name": "p", "expires_in_days": 2})).await;
    let (_, shorter) = child(&expiring, json!({"name": "a", "expires_in_days": 1})).await;
    assert!(shorter["expires_at"].as_str() < parent["expires_at"].as_str());
    let (grandchild, same) = child(&expiring, json!({"name": "b"})).await;
    assert_eq!(same["expires_at"], parent["expires_at"]);
    let (_, third) = child(&grandchild, json!({"name": "c"})).await;
    assert_eq!(third["expires_at"], parent["expires_at"]);
    for maker in [&expiring, &grandchild] {
        let longer = json!({"name": "d", "expires_in_days": 30});
        let refused = maker.post("/api/tokens", longer).await.expect(403);
        assert_eq!(refused.code(), "outlives_parent");
        let expiry = parent["expires_at"].as_str().unwrap();
        assert!(refused.text().contains(expiry), "{}", refused.text());
    }
    // An agent token never expires, so an expiring token cannot create one.
    let space = ann.space("lab").await;
    let rotate = format!("{}/agent-token", space.path());
    for (path, body) in [("/api/spaces", json!({"name": "x"})), (&*rotate, json!({}))] {
        let refused = expiring.post(path, body).await.expect(403);
        assert_eq!(refused.code(), "expiring_credential", "{path}");
    }
    ann.with_token(&space.agent_token)
        .get("/api/auth/me")
        .await
        .expect(200);
    assert!(
        !ann.get("/api/spaces")
            .await
            .text()
            .contains(r#""name":"x""#)
    );
    server.expire_token(parent["id"].as_str().unwrap()).await;
    expiring.get("/api/auth/me").await.expect(401);
}

#[tokio::test]
async fn s5_revoking_a_token_revokes_the_tokens_created_with_it() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let ann = server.user("ann").await;
    let (parent, record) = child(&ann, json!({"name": "parent"})).await;
    let (one, _) = child(&parent, json!({"name": "child"})).await;
    let (two, _) = child(&one, json!({"name": "grandchild"})).await;
    let (scoped, _) = child(&two, json!({"name": "scoped", "scopes": ["methods"]})).await;
    let (sibling, _) = child(&ann, json!({"name": "sibling"})).await;
    // Scoped tokens and agent tokens create no tokens.
    let refused = scoped.post("/api/tokens", json!({"name": "x"})).await;
    assert_eq!(refused.expect(403).code(), "scope_denied");
    let agent = ann.with_token(&ann.space("lab").await.agent_token);
    let refused = agent.post("/api/tokens", json!({"name": "x"})).await;
    assert_eq!(refused.expect(403).code(), "agent_denied");
    scoped.get("/api/methods").await.expect(200);
    ann.delete(&format!("/api/tokens/{}", record["id"].as_str().unwrap()))
        .await
        .expect(204);
    for ended in [&parent, &one, &two] {
        ended.get("/api/auth/me").await.expect(401);
    }
    scoped.get("/api/methods").await.expect(401);
    sibling.get("/api/auth/me").await.expect(200);
    let revoked = admin.get("/api/audit?action=token.revoked").await.json();
    let revoked = revoked["audit"].as_array().unwrap();
    assert_eq!(revoked.len(), 4);
    let with_parent = |entry: &&Value| entry["detail"]["revoked_with"] == record["id"];
    assert_eq!(revoked.iter().filter(with_parent).count(), 3);
}

/// Makes a call over an open connection; returns the status of the answer.
async fn call_over(connection: &mut BufStream<TcpStream>, host: &str, token: &str) -> String {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"missing"}"#;
    let request = format!(
        "POST /api/methods/call HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    connection.flush().await.unwrap();
    let (mut status, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).await.unwrap();
        match line.trim().split_once(' ') {
            Some(("HTTP/1.1", rest)) => rest[..3].clone_into(&mut status),
            Some(("content-length:", bytes)) => length = bytes.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    connection.read_exact(&mut vec![0; length]).await.unwrap();
    status
}

#[tokio::test]
async fn s5_each_call_over_a_connection_has_the_permissions_of_its_own_token() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let record = ann.new_token(&["methods"]).await;
    let first = record["token"].as_str().unwrap();
    let other = bob.new_token(&["mcp"]).await;
    let other = other["token"].as_str().unwrap();
    let host = server.address().to_string();
    let mut connection = BufStream::new(TcpStream::connect(server.address()).await.unwrap());
    for (token, expected) in [
        (first, "200"),
        (first, "200"),
        (other, "403"),
        (first, "200"),
        (&first[..first.len() - 1], "401"),
        ("", "401"),
        (first, "200"),
    ] {
        let status = call_over(&mut connection, &host, token).await;
        assert_eq!(status, expected, "{token}");
    }
    let path = format!("/api/tokens/{}", record["id"].as_str().unwrap());
    ann.delete(&path).await.expect(204);
    assert_eq!(call_over(&mut connection, &host, first).await, "401");
}

//! Who sees which method, and under what name (spec 4.1, V1-V6).

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser, error_code, fixture, method, result};

async fn cannot_call(user: &TestUser, names: &[&str]) {
    for name in names {
        let response = user.call(name, json!({})).await;
        assert_eq!(error_code(&response), -32601, "{} calls {name}", user.name);
    }
}

#[tokio::test]
async fn v1_a_private_method_is_visible_only_to_its_owner() {
    let server = TestServer::start().await;
    let (admin, ann, ben) = (
        server.admin().await,
        server.user("ann").await,
        server.user("ben").await,
    );
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().with(method("notes.echo", "echo")))
        .await;

    assert_eq!(ann.method_names().await, ["notes.echo"]);
    assert_eq!(
        result(&ann.call("notes.echo", json!({"a": 1})).await),
        &json!({"a": 1})
    );

    // Not even an administrator sees the method, and hidden and missing methods look the same.
    let unknown = ben.call("notes.nothing", json!({})).await;
    for other in [&ben, &admin] {
        assert!(other.method_names().await.is_empty());
        assert_eq!(other.call("notes.echo", json!({})).await, unknown);
        assert_eq!(other.call("user.ann.notes.echo", json!({})).await, unknown);
    }
}

#[tokio::test]
async fn v2_a_shared_method_needs_the_permission_to_use_methods() {
    let server = TestServer::start().await;
    server.role("spacer", &["use_spaces"]).await;
    let ann = server.user_with("ann", &["spacer"], &[]).await;
    let ben = server.user("ben").await;
    let cat = server.user_with("cat", &["spacer"], &[]).await;
    let space = ann.space("lab").await;
    let registration = fixture().with(method("echo", "echo").shared());
    let _agent = space.publish(registration).await;

    // Owners need no permission for their own methods.
    assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
    assert_eq!(
        result(&ben.call("user.ann.echo", json!([1])).await),
        &json!([1])
    );
    assert!(cat.method_names().await.is_empty());
    cannot_call(&cat, &["user.ann.echo", "echo"]).await;

    // A change of roles takes effect at once, both ways.
    let admin = server.admin().await;
    let path = format!("/api/users/{}", cat.id);
    admin
        .patch(&path, json!({"roles": ["user"]}))
        .await
        .expect(200);
    assert_eq!(cat.method_names().await, ["user.ann.echo"]);
    result(&cat.call("user.ann.echo", json!({})).await);
    admin.patch(&path, json!({"roles": []})).await.expect(200);
    cannot_call(&cat, &["user.ann.echo"]).await;
}

#[tokio::test]
async fn v2_a_permission_added_to_a_role_takes_effect_at_once() {
    let server = TestServer::start().await;
    let role = server.role("spacer", &["use_spaces"]).await;
    let (ann, cat) = (
        server.user("ann").await,
        server.user_with("cat", &["spacer"], &[]).await,
    );
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().with(method("echo", "echo").shared()))
        .await;
    cannot_call(&cat, &["user.ann.echo"]).await;
    let path = format!("/api/roles/{}", role["id"].as_str().unwrap());
    let body = json!({"permissions": ["use_spaces", "use_methods"]});
    server.admin().await.patch(&path, body).await.expect(200);
    result(&cat.call("user.ann.echo", json!({})).await);
}

#[tokio::test]
async fn v3_groups_limit_a_shared_method_to_their_members() {
    let server = TestServer::start().await;
    let groups = server.groups(&["ops", "research", "sales"]).await;
    let research_id = groups[1]["id"].as_str().unwrap();
    let ann = server.user("ann").await;
    let by_name = server.user_with("ben", &["user"], &["ops"]).await;
    let by_id = server.user_with("cat", &["user"], &["research"]).await;
    let outside = server.user_with("dan", &["user"], &["sales"]).await;
    let space = ann.space("lab").await;
    let registration = fixture().with(
        method("deploy", "echo")
            .shared()
            .groups(&["ops", research_id]),
    );
    let _agent = space.publish(registration).await;

    for member in [&by_name, &by_id] {
        assert_eq!(member.method_names().await, ["user.ann.deploy"]);
        result(&member.call("user.ann.deploy", json!({})).await);
    }
    assert!(outside.method_names().await.is_empty());
    cannot_call(&outside, &["user.ann.deploy"]).await;
    // The owner sees the method without being a member of its groups, and sees the names of the
    // groups.
    result(&ann.call("deploy", json!({})).await);
    let document = ann.find_method("deploy").await.unwrap();
    assert_eq!(document["groups"], json!(["ops", "research"]));
}

#[tokio::test]
async fn v3_membership_changes_take_effect_at_once_and_a_deleted_group_matches_no_user() {
    let server = TestServer::start().await;
    let groups = server.groups(&["ops"]).await;
    let admin = server.admin().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let space = ann.space("lab").await;
    let registration = fixture().with(method("deploy", "echo").shared().groups(&["ops"]));
    let _agent = space.publish(registration).await;

    cannot_call(&ben, &["user.ann.deploy"]).await;
    let path = format!("/api/users/{}", ben.id);
    admin
        .patch(&path, json!({"groups": ["ops"]}))
        .await
        .expect(200);
    result(&ben.call("user.ann.deploy", json!({})).await);

    // The deleted group does not leave an empty list of groups: an empty list would open the method
    // to all users.
    let group = format!("/api/groups/{}", groups[0]["id"].as_str().unwrap());
    let deleted = admin.delete(&group).await;
    assert!([200, 204].contains(&deleted.status), "{}", deleted.text());
    cannot_call(&ben, &["user.ann.deploy"]).await;
    cannot_call(&admin, &["user.ann.deploy"]).await;
    result(&ann.call("deploy", json!({})).await);

    // The owner sees that a group was deleted, but not its id.
    let document = ann.get("/api/methods?name=deploy").await.expect(200).json();
    let method = &document["methods"][0];
    assert_eq!(method["groups"], json!([]));
    assert_eq!(method["deleted_groups"], 1);
    let shown = server
        .cli(&ann)
        .run(&["method", "list", "deploy"])
        .await
        .expect(0);
    assert!(shown.stdout.contains("1 deleted group"), "{}", shown.stdout);
}

#[tokio::test]
async fn v3_s7_an_unknown_group_refuses_the_registration() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let unknown_id = "01890000-0000-7000-8000-000000000000";
    for group in ["ghosts", unknown_id] {
        let registration = fixture().with(method("deploy", "echo").shared().groups(&[group]));
        let refused = agent.register(registration).await.expect(6);
        assert!(refused.stderr.contains(group), "{}", refused.stderr);
    }
    assert!(ann.method_names().await.is_empty());
}

#[tokio::test]
async fn v4_without_groups_every_user_with_the_permission_sees_a_shared_method() {
    let server = TestServer::start().await;
    server.groups(&["ops"]).await;
    let ann = server.user("ann").await;
    let ben = server.user("ben").await;
    let cat = server.user_with("cat", &["user"], &["ops"]).await;
    let space = ann.space("lab").await;
    let registration = fixture().with(method("echo", "echo").shared().groups(&[]));
    let _agent = space.publish(registration).await;
    for other in [&ben, &cat, &server.admin().await] {
        assert_eq!(other.method_names().await, ["user.ann.echo"]);
        result(&other.call("user.ann.echo", json!({})).await);
    }
}

#[tokio::test]
async fn v5_the_owner_uses_the_bare_name_and_never_the_prefix() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(method("notes.echo", "echo").shared())
        .with(method("plain", "echo").shared());
    let _agent = space.publish(registration).await;
    assert_eq!(ann.method_names().await, ["notes.echo", "plain"]);
    result(&ann.call("notes.echo", json!({})).await);
    result(&ann.call("plain", json!({})).await);
    cannot_call(&ann, &["user.ann.notes.echo", "user.ann.plain"]).await;
}

#[tokio::test]
async fn v6_others_see_a_shared_method_under_the_owner_prefix() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let anns = ann.space("lab").await;
    let bens = ben.space("lab").await;
    let registration = fixture()
        .with(method("a.b.echo", "echo").shared())
        .with(method("who", "env").shared());
    let _anns_agent = anns.publish(&registration).await;
    // Equal names of different owners never conflict, even if the definitions differ.
    let own = fixture().with(method("who", "env").shared().description("Ben's own"));
    let _bens_agent = bens.publish(own).await;

    assert_eq!(
        ben.method_names().await,
        ["user.ann.a.b.echo", "user.ann.who", "who"]
    );
    assert_eq!(
        ann.method_names().await,
        ["a.b.echo", "user.ben.who", "who"]
    );
    cannot_call(
        &ben,
        &["a.b.echo", "user.ben.who", "user.ann", "user.cat.who"],
    )
    .await;

    let space_id = |response: &Value| result(response).as_str().unwrap().to_owned();
    let ask = json!({"name": "SVC_SPACE_ID"});
    assert_eq!(space_id(&ben.call("who", ask.clone()).await), bens.id);
    assert_eq!(
        space_id(&ben.call("user.ann.who", ask.clone()).await),
        anns.id
    );
    assert_eq!(space_id(&ann.call("who", ask.clone()).await), anns.id);
    assert_eq!(space_id(&ann.call("user.ben.who", ask).await), bens.id);
}

#[tokio::test]
async fn s4_1_discovery_shows_the_owner_more_fields_than_other_users() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let space = ann.space("lab").await;
    let shown = method("notes.search", "echo")
        .shared()
        .description("Find notes")
        .keywords(&["query"])
        .mcp_tool()
        .line("title", r#""Search notes""#)
        .line("annotations", "{ read_only = true, open_world = false }")
        .line("params_schema", r#"{ type = "object" }"#);
    let _agent = space.publish(fixture().with(shown)).await;

    let own = ann.find_method("notes.search").await.unwrap();
    let theirs = ben.find_method("user.ann.notes.search").await.unwrap();
    let keys = [
        "name",
        "title",
        "description",
        "keywords",
        "scope",
        "mcp_tool",
        "mcp_tool_name",
        "annotations",
        "params_schema",
        "result_schema",
        "journal",
        "owner_id",
        "owner",
        "provider_count",
        "local_name",
        "groups",
        "deleted_groups",
        "events",
        "event_sinks",
        "providers",
    ];
    for document in [&own, &theirs] {
        let found: Vec<_> = document.as_object().unwrap().keys().collect();
        assert_eq!(found, keys);
        assert_eq!(document["owner"], "ann");
        assert_eq!(document["owner_id"], ann.id);
        assert_eq!(document["provider_count"], 1);
        assert_eq!(document["keywords"], json!(["query"]));
        assert_eq!(document["title"], "Search notes");
        let annotations = json!({"read_only": true, "open_world": false});
        assert_eq!(document["annotations"], annotations);
        assert_eq!(document["params_schema"], json!({"type": "object"}));
        assert_eq!(document["result_schema"], Value::Null);
        assert_eq!(document["journal"], "outcome");
    }
    assert_eq!(own["mcp_tool_name"], "notes_search");
    assert_eq!(theirs["mcp_tool_name"], "user_ann_notes_search");
    assert_eq!(own["local_name"], "echo");
    let provider = json!({"space_id": space.id, "space": "lab", "in_flight": 0, "state": "ready"});
    assert_eq!(own["providers"], json!([provider]));
    assert_eq!(theirs["local_name"], Value::Null);
    assert_eq!(theirs["providers"], json!([]));

    let found = |path: &'static str| {
        let ann = ann.clone();
        async move { ann.get(path).await.expect(200).json()["count"].clone() }
    };
    assert_eq!(found("/api/methods?name=notes.search").await, 1);
    assert_eq!(found("/api/methods?name=notes").await, 0);
    assert_eq!(found("/api/methods?q=FIND").await, 1);
    assert_eq!(found("/api/methods?q=query").await, 1);
    assert_eq!(found("/api/methods?q=nowhere").await, 0);
    assert_eq!(found("/api/methods?owner=ann").await, 1);
    assert_eq!(found("/api/methods?owner=ben&limit=5").await, 0);
    assert_eq!(found("/api/methods?scope=shared&limit=5").await, 1);
    assert_eq!(found("/api/methods?scope=private").await, 0);
    ann.get("/api/methods?scope=other").await.expect(400);
    for (user, page, expected) in [(&ann, "", 1), (&ann, "&limit=5", 1), (&ben, "&limit=5", 0)] {
        let path = format!("/api/methods?space={}{page}", space.id);
        let listed = user.get(&path).await.expect(200).json();
        assert_eq!(listed["count"], expected, "{} {path}", user.name);
    }
}

//! Quotas: how much one user may have. A refusal names the limit and the setting, and other users
//! are not affected.

use serde_json::{Value, json};
use svc_link::Control;
use svc_testkit::{
    Answer, RawLink, TestPostgres, TestServer, TestUser, TestZone, eventually, fixture, method,
    simulated_registration,
};

use tokio::task::JoinSet;

use crate::SOON;

/// A resource with a quota.
struct Resource {
    quota: &'static str,
    path: &'static str,
    list: &'static str,
    body: fn(usize) -> Value,
}

static RESOURCES: [Resource; 6] = [
    Resource {
        quota: "spaces",
        path: "/api/spaces",
        list: "spaces",
        body: |n| json!({"name": format!("s{n}")}),
    },
    Resource {
        quota: "tokens",
        path: "/api/tokens",
        list: "tokens",
        body: |n| json!({"name": format!("t{n}")}),
    },
    Resource {
        quota: "scripts",
        path: "/api/scripts",
        list: "scripts",
        body: |n| json!({"name": format!("l{n}"), "kind": "library", "source": "a = 1"}),
    },
    Resource {
        quota: "sinks",
        path: "/api/event-sinks",
        list: "event_sinks",
        body: |n| json!({"name": format!("f{n}"), "patterns": "*", "type": "json-rpc"}),
    },
    Resource {
        quota: "sources",
        path: "/api/sources",
        list: "sources",
        body: |n| json!({"name": format!("r{n}"), "verify": {"type": "none"}}),
    },
    Resource {
        quota: "schedules",
        path: "/api/schedules",
        list: "schedules",
        body: |n| json!({"name": format!("c{n}"), "cron": "0 2 * * *"}),
    },
];

/// High enough for the tokens that exist already: the administrator has one per created user.
const LIMIT: usize = 6;

impl Resource {
    async fn create(&self, user: &TestUser, n: usize) -> Answer {
        user.post(self.path, (self.body)(n)).await
    }

    async fn count(&self, user: &TestUser) -> usize {
        user.list(self.path, self.list).await.len()
    }

    /// Creates records up to `limit`, and checks that the next record is refused.
    async fn fill(&self, user: &TestUser, limit: usize) {
        for n in self.count(user).await..limit {
            self.create(user, n).await.expect(201);
        }
        self.refuses(user, limit, limit + 1).await;
    }

    async fn refuses(&self, user: &TestUser, limit: usize, wanted: usize) {
        let refused = self.create(user, 1_000).await.expect(409);
        assert_eq!(refused.code(), "quota_exceeded");
        let problem = refused.json();
        assert_eq!(problem["limit"], limit, "{problem}");
        let setting = format!("quotas.{}", self.quota);
        assert_eq!(problem["setting"], setting, "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        for part in [&setting, &limit.to_string(), &wanted.to_string()] {
            assert!(detail.contains(part), "{detail}");
        }
    }

    async fn delete_one(&self, user: &TestUser) {
        let items = user.list(self.path, self.list).await;
        // The first token is the one the user acts with.
        let id = items.last().unwrap()["id"].as_str().unwrap();
        user.delete(&format!("{}/{id}", self.path))
            .await
            .expect(204);
    }
}

async fn limited_server() -> TestServer {
    let lines = format!(
        "spaces = {LIMIT}\ntokens = {LIMIT}\nscripts = {LIMIT}\nsinks = {LIMIT}\nsources = {LIMIT}\nschedules = {LIMIT}"
    );
    TestServer::builder()
        .config_table("quotas", &lines)
        .start()
        .await
}

async fn set_quota(admin: &TestUser, user: &TestUser, quota: &str, value: Value) {
    let path = format!("/api/users/{}", user.id);
    let body = json!({"quotas": {quota: value}});
    admin.patch(&path, body).await.expect(200);
}

#[tokio::test]
async fn concurrent_requests_cannot_exceed_the_quota() {
    let server = limited_server().await;
    let ann = server.user("ann").await;
    for resource in &RESOURCES {
        resource.fill(&ann, LIMIT).await;
        resource.delete_one(&ann).await;
        let mut attempts = JoinSet::new();
        for n in 0..8 {
            let (user, body) = (ann.clone(), (resource.body)(200 + n));
            attempts.spawn(async move { user.post(resource.path, body).await.status });
        }
        let statuses = attempts.join_all().await;
        let created = statuses.iter().filter(|&&status| status == 201).count();
        let refused = statuses.iter().filter(|&&status| status == 409).count();
        assert_eq!(
            (created, refused),
            (1, 7),
            "{}: {statuses:?}",
            resource.quota
        );
        assert_eq!(resource.count(&ann).await, LIMIT);
    }
}

#[tokio::test]
async fn an_administrator_sets_another_value_for_a_single_user() {
    let server = limited_server().await;
    let (ann, bob, admin) = (
        server.user("ann").await,
        server.user("bob").await,
        server.admin().await,
    );
    for resource in &RESOURCES {
        resource.fill(&ann, LIMIT).await;
        set_quota(&admin, &ann, resource.quota, json!(LIMIT + 2)).await;
        resource.fill(&ann, LIMIT + 2).await;
        resource.fill(&bob, LIMIT).await;
        // A lower value removes nothing.
        set_quota(&admin, &ann, resource.quota, json!(2)).await;
        assert_eq!(resource.count(&ann).await, LIMIT + 2);
        resource.refuses(&ann, 2, LIMIT + 3).await;
        set_quota(&admin, &ann, resource.quota, Value::Null).await;
        resource.refuses(&ann, LIMIT, LIMIT + 3).await;
        set_quota(&admin, &bob, resource.quota, json!(0)).await;
        resource.refuses(&bob, 0, LIMIT + 1).await;
    }
}

#[tokio::test]
async fn a_users_quotas_are_shown_and_audited() {
    let server = TestServer::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let path = format!("/api/users/{}", ann.id);
    let shown = admin.get(&path).await.expect(200).json();
    assert_eq!(shown["quotas"], json!({}));
    let body = json!({"quotas": {"sinks": 500, "spaces": 3}});
    let changed = admin.patch(&path, body).await.expect(200).json();
    assert_eq!(changed["quotas"], json!({"sinks": 500, "spaces": 3}));
    // Only the named quotas change.
    let body = json!({"quotas": {"spaces": null}});
    admin.patch(&path, body).await.expect(200);
    let shown = admin.get(&path).await.expect(200).json();
    assert_eq!(shown["quotas"], json!({"sinks": 500}));
    let me = ann.get("/api/auth/me").await.expect(200).json();
    let limits = json!({
        "spaces": 500, "tokens": 200, "scripts": 500, "sinks": 500, "sources": 100,
        "schedules": 100, "methods": 20_000, "event_bytes": 1_073_741_824,
        "audit_bytes": 10_485_760, "streams": 50,
    });
    assert_eq!(me["quotas"], limits);
    let entries = admin.audit_entries("user.updated").await;
    assert_eq!(entries[0]["actor"], "admin");
    assert_eq!(entries[0]["target_id"], ann.id);
    assert_eq!(entries[0]["detail"]["quotas"], json!({"sinks": 500}));
    assert_eq!(
        entries[0]["detail"]["previous_quotas"],
        json!({"sinks": 500, "spaces": 3})
    );
    for (body, code) in [
        (json!({"quotas": {"sink": 5}}), "invalid_body"),
        (json!({"quotas": {"sinks": -1}}), "invalid_body"),
        (json!({"quotas": {"sinks": 1_u64 << 53}}), "invalid_quota"),
        (json!({"quotas": null}), "invalid_body"),
    ] {
        assert_eq!(admin.patch(&path, body).await.expect(400).code(), code);
    }
}

#[tokio::test]
async fn only_an_administrator_raises_their_own_quota() {
    let server = TestServer::start().await;
    server.role("people", &["manage_users"]).await;
    let pat = server.user_with("pat", &["user", "people"], &[]).await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let path = |user: &TestUser| format!("/api/users/{}", user.id);
    let body = json!({"quotas": {"sinks": 500}});
    let refused = pat.patch(&path(&pat), &body).await.expect(403);
    assert_eq!(refused.code(), "permission_denied");
    ann.patch(&path(&ann), &body).await.expect(403);
    let shown = admin.get(&path(&pat)).await.expect(200).json();
    assert_eq!(shown["quotas"], json!({}));
    pat.patch(&path(&ann), &body).await.expect(200);
    admin.patch(&path(&admin), &body).await.expect(200);
}

#[tokio::test]
async fn global_sinks_and_scripts_are_counted_together_and_not_against_a_user() {
    let server = TestServer::builder()
        .config_table("quotas", "sinks = 2\nscripts = 2")
        .start()
        .await;
    let admin = server.admin().await;
    let global_ones = |resource: &&Resource| ["sinks", "scripts"].contains(&resource.quota);
    for resource in RESOURCES.iter().filter(global_ones) {
        set_quota(&admin, &admin, resource.quota, json!(1)).await;
        let global = async |n| {
            let mut body = (resource.body)(n);
            body["owner"] = json!("global");
            admin.post(resource.path, body).await
        };
        global(0).await.expect(201);
        global(1).await.expect(201);
        let refused = global(2).await.expect(409).json();
        assert_eq!(refused["limit"], 2, "{refused}");
        resource.create(&admin, 3).await.expect(201);
        resource.create(&admin, 4).await.expect(409);
    }
}

#[tokio::test]
async fn a_registration_beyond_the_quota_of_methods_is_refused() {
    let server = TestServer::builder()
        .config_table("quotas", "methods = 3")
        .start()
        .await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let (lab, attic) = (ann.space("lab").await, ann.space("attic").await);
    let (in_lab, in_attic) = (lab.agent().await, attic.agent().await);
    let with = |names: &[&str]| {
        let methods = names.iter().map(|name| method(name, "echo"));
        methods.fold(fixture(), |file, method| file.with(method))
    };
    let refused = in_lab.register(with(&["a", "b", "c", "d"])).await.expect(6);
    for part in ["4 methods", "at most 3", "quotas.methods"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    assert_eq!(ann.method_names().await, Vec::<String>::new());
    in_lab.register(with(&["a", "b", "c"])).await.expect(0);
    in_attic.register(with(&["d"])).await.expect(6);
    // A method that two spaces offer counts once.
    in_attic.register(with(&["a"])).await.expect(0);
    let bobs = bob.space("lab").await;
    let of_bob = bobs.agent().await;
    of_bob.register(with(&["a", "b", "c"])).await.expect(0);

    // A changed quota is in effect for the next registration.
    set_quota(&server.admin().await, &ann, "methods", json!(4)).await;
    in_attic.register(with(&["a", "d"])).await.expect(0);
    set_quota(&server.admin().await, &ann, "methods", json!(1)).await;
    // Published methods stay, and a registration that does not raise their number is accepted.
    assert_eq!(ann.method_names().await, ["a", "b", "c", "d"]);
    in_attic.register(with(&["a", "e"])).await.expect(0);
    in_attic.register(with(&["a", "e", "f"])).await.expect(6);
    assert_eq!(ann.method_names().await, ["a", "b", "c", "e"]);
}

#[tokio::test]
async fn subscriptions_of_stopped_spaces_count_for_the_quota_of_methods() {
    let server = TestServer::builder()
        .config("grace_seconds = 1")
        .config_table("quotas", "methods = 2")
        .start()
        .await;
    let ann = server.user("ann").await;
    let (lab, attic) = (ann.space("lab").await, ann.space("attic").await);
    let holding = |name: &str| {
        let subscribed = method(name, "echo").line("events", r#"["custom.x"]"#);
        subscribed.line("event_overflow", "\"hold\"")
    };
    let mut in_lab = lab.agent().await;
    let two = fixture().with(holding("a")).with(holding("b"));
    in_lab.register(two).await.expect(0);
    in_lab.stop().await;
    eventually("the methods are gone", 2 * SOON, || async {
        ann.method_names().await.is_empty()
    })
    .await;
    let in_attic = attic.agent().await;
    let third = || fixture().with(holding("c"));
    let refused = in_attic.register(third()).await.expect(6);
    let parts = [
        "3 subscriptions",
        "at most 2",
        "quotas.methods",
        "svc space delete",
    ];
    for part in parts {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    assert_eq!(ann.method_names().await, Vec::<String>::new());
    // A method without a subscription needs no room.
    in_attic
        .register(fixture().with(method("c", "echo")))
        .await
        .expect(0);
    ann.delete(&lab.path()).await.expect(204);
    in_attic.register(third()).await.expect(0);
    // The same registration again changes nothing, and a lowered quota does not refuse it.
    set_quota(&server.admin().await, &ann, "methods", json!(1)).await;
    in_attic.register(third()).await.expect(0);
    assert_eq!(ann.method_names().await, ["c"]);
}

#[tokio::test]
async fn registrations_at_the_same_time_cannot_exceed_the_quota_together() {
    let server = TestServer::builder()
        .config_table("quotas", "methods = 3")
        .start()
        .await;
    let ann = server.user("ann").await;
    let tokens = ann.create_spaces(4, 4).await;
    let mut registering = JoinSet::new();
    for token in tokens {
        let address = server.address();
        registering.spawn(async move {
            let mut link = RawLink::connect(address, &token).await;
            link.hello(&[svc_link::VERSION]).await;
            let answer = link.register(simulated_registration(2)).await;
            // The link stays open until all links have their answers.
            (link, answer)
        });
    }
    let answers = registering.join_all().await;
    let (mut accepted, mut codes) = (0, Vec::new());
    for (_, answer) in &answers {
        match answer {
            Control::Registered(_) => accepted += 1,
            Control::RegisterRefused { problem } => {
                assert_eq!(
                    problem.exceeded.as_ref().map(|exceeded| exceeded.limit),
                    Some(3)
                );
                codes.push(problem.code.as_str());
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        (accepted, codes.as_slice()),
        (1, &["quota_exceeded"; 3][..])
    );
}

#[tokio::test]
async fn the_command_line_sets_and_shows_quotas() {
    let server = TestServer::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let update = async |quotas: &[&str]| {
        let mut args = vec!["user", "update", "ann"];
        args.extend_from_slice(quotas);
        server.cli(&admin).run(&args).await
    };
    let shown = update(&["--quota", "sinks=500,streams=2"]).await.expect(0);
    assert!(shown.stdout.contains("sinks=500"), "{}", shown.stdout);
    update(&["--quota", "sinks=default", "--quota", "spaces=1"])
        .await
        .expect(0);
    let path = format!("/api/users/{}", ann.id);
    let user = admin.get(&path).await.expect(200).json();
    assert_eq!(user["quotas"], json!({"spaces": 1, "streams": 2}));
    for wrong in ["sinks", "sink=1", "sinks=many"] {
        update(&["--quota", wrong]).await.expect(2);
    }
    ann.space("lab").await;
    let refused = server.cli(&ann).run(&["space", "create", "two"]).await;
    let refused = refused.expect(6);
    assert!(
        refused.stderr.contains("quotas.spaces"),
        "{}",
        refused.stderr
    );
}

#[tokio::test]
async fn a_quota_set_at_one_server_of_a_zone_is_in_effect_at_the_others() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let admin = zone.server(0).admin().await;
    set_quota(&admin, &ann, "spaces", json!(1)).await;
    let elsewhere = ann.at(zone.server(1));
    eventually("the other server has the quota", SOON, || async {
        let me = elsewhere.get("/api/auth/me").await;
        me.status == 200 && me.json()["quotas"]["spaces"] == 1
    })
    .await;
    ann.space("lab").await;
    RESOURCES[0].refuses(&elsewhere, 1, 2).await;
}

#[tokio::test]
async fn long_texts_of_templates_and_health_checks_are_refused() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let check = |bytes: usize| json!({"type": "command", "command": "x".repeat(bytes)});
    let template = |name: &str, field: usize, command: usize| {
        json!({
            "name": name, "custom_fields": {"k": "v".repeat(field)}, "health_check": check(command),
        })
    };
    let path = "/api/templates";
    admin
        .post(path, template("a", 4_096, 4_096))
        .await
        .expect(201);
    for (field, command) in [(4_097, 1), (1, 4_097)] {
        let refused = admin.post(path, template("b", field, command)).await;
        assert!(
            refused.expect(400).text().contains("4097"),
            "{field} {command}"
        );
    }
    let space = |name: &str, bytes: usize| json!({"name": name, "health_check": check(bytes)});
    admin
        .post("/api/spaces", space("b", 4_097))
        .await
        .expect(400);
    let made = admin.post("/api/spaces", space("a", 4_096)).await;
    let id = made.expect(201).json()["id"].as_str().unwrap().to_owned();
    let patch = json!({"health_check": check(4_097)});
    admin
        .patch(&format!("/api/spaces/{id}"), patch)
        .await
        .expect(400);
}

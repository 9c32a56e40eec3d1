//! `svc migrate`: moves the data of a single server to a zone.

use http::Request;
use serde_json::{Value, json};
use svc_testkit::{
    Output, Reply, TestAgent, TestDatabase, TestPostgres, TestReceiver, TestScript, TestServer,
    TestSink, TestSpace, TestUser, fixture, result,
};

use crate::SOON;

async fn migrate(server: &TestServer, to: &str) -> Output {
    let from = format!("sqlite:{}", server.data_dir().display());
    let svc = server.anonymous_cli();
    svc.run(&["migrate", "--from", &from, "--to", to, "-o", "json"])
        .await
}

/// Runs the command that the migration prints, and returns the key that this command sets.
fn secret_key(said: &Output) -> String {
    let line = said
        .stderr
        .lines()
        .find(|line| line.contains("SVC_SECRET_KEY="));
    let line = line.expect("a command sets the key").trim();
    let shell = std::process::Command::new("sh")
        .args(["-c", &format!("{line}\nprintf %s \"$SVC_SECRET_KEY\"")])
        .output()
        .unwrap();
    let key = String::from_utf8(shell.stdout).unwrap();
    assert!(!key.is_empty() && !said.stderr.contains(&key), "{line}");
    key
}

/// The user Ann and her records, on a server with the embedded database.
struct Household {
    ann: TestUser,
    admin: TestUser,
    cookie: String,
    script: TestScript,
    space: TestSpace,
    _agent: TestAgent,
    /// One delivery of this sink is in flight, and two wait.
    hook: TestSink,
    /// One delivery of this sink is dead.
    dead: TestSink,
    receiver: TestReceiver,
}

/// The body of an event that is emitted several times with one idempotency key.
const ONCE: &str = r#"{"type":"once","payload":{}}"#;

impl Household {
    async fn new(server: &TestServer) -> Self {
        let receiver = TestReceiver::start().await;
        server.groups(&["ops"]).await;
        let ann = server.user_with("ann", &["user"], &["ops"]).await;
        let admin = server.admin().await;
        let template = json!({"name": "small"});
        admin.post("/api/templates", template).await.expect(201);
        let space = ann.space("lab").await;
        let url = receiver.url("/dead");
        let dead = ann.webhook("dead", "custom.order.lost", &url).await;
        receiver.set("/dead", Reply::Status(500));
        ann.emit("order.lost", json!({})).await;
        dead.wait_for("dead", 1, SOON).await;
        let url = receiver.url("/hook");
        let hook = ann.webhook("hook", "custom.order.*", &url).await;
        ann.emit("order.first", json!({"n": 0})).await;
        hook.wait_for("delivered", 1, SOON).await;
        receiver.set("/hook", Reply::Hang);
        for n in 1..=3 {
            ann.emit("order.more", json!({ "n": n })).await;
        }
        receiver.wait_for("/hook", 2, SOON).await;
        Self {
            cookie: ann.login().await,
            script: ann.script("library", "mine", "x = 1\n").await,
            _agent: space.publish(fixture().plain("pid")).await,
            ann,
            admin,
            space,
            hook,
            dead,
            receiver,
        }
    }

    /// Emits an event with a fixed idempotency key. Returns the id of the event, which is the same
    /// each time.
    async fn emit_once(&self) -> Value {
        let answer = self.ann.emit_with_key("k", ONCE).await.unwrap();
        answer.json()["event_id"].clone()
    }

    async fn credentials_and_records_are_as_they_were(&self) {
        let me = self.ann.get("/api/auth/me").await.expect(200).json();
        assert_eq!(me["groups"], json!(["ops"]));
        let request = Request::get("/api/auth/me")
            .header("cookie", &self.cookie)
            .body(Default::default())
            .unwrap();
        assert_eq!(self.ann.http().send(request).await.status, 200);
        assert_eq!(self.script.record().await, self.script.created);
        let templates = self.admin.list("/api/templates", "templates").await;
        assert_eq!(templates[0]["name"], "small");
    }

    /// Checks that waiting deliveries arrive in order, and that the delivery that was in flight has
    /// the same signature as before.
    async fn deliveries_go_on(&self, before: &[Value]) {
        let all = self.hook.wait_for("delivered", 4, SOON).await;
        assert_eq!(all[0], before[0]);
        let came = self.receiver.received("/hook");
        let numbers: Vec<_> = came
            .iter()
            .map(|one| one.json()["data"]["n"].clone())
            .collect();
        // On a busy machine, the attempt of 1 may have failed and was repeated before the end.
        assert_eq!(numbers[..3], [0, 1, 1]);
        let mut order = numbers.clone();
        order.dedup();
        assert_eq!(order, [0, 1, 2, 3]);
        assert_eq!(came[1].body, came[2].body);
        for header in ["x-service-signature", "webhook-id"] {
            assert!(!came[1].header(header).is_empty(), "{header}");
            assert_eq!(came[1].header(header), came[2].header(header));
        }
        let lost = self.dead.deliveries().await.remove(0);
        assert_eq!(lost["state"], "dead");
        let event = lost["event_id"].as_str().unwrap();
        let path = format!("/api/events/{event}");
        self.ann.get(&path).await.expect(200);
    }

    /// Checks that the space never stopped, and that its agent has linked to its server again.
    async fn the_space_stayed(&self, node: &Value) {
        self.space.wait_for_registration("active", SOON).await;
        assert!(result(&self.ann.call("pid", json!({})).await).is_number());
        let record = self.space.record().await;
        assert_eq!(record["state"], "deployed");
        assert_eq!(record["node_id"], *node);
        let path = "/api/events?type=space.stopped";
        let stopped = self.ann.list(path, "events").await;
        assert_eq!(stopped, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn a_migration_moves_all_data() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let database = postgres.database();
    let builder = TestServer::builder().embedded().allow_loopback_webhooks();
    let mut server = builder.retries(0.1, 0.1).start().await;
    let home = Household::new(&server).await;
    let once = home.emit_once().await;
    let deliveries = home.hook.deliveries().await;
    let audit = home.admin.list("/api/audit", "audit").await;
    let node = home.space.record().await["node_id"].clone();
    let said = migrate(&server, &database.url).await.expect(1);
    assert!(said.stderr.contains("stop it first"), "{}", said.stderr);
    server.kill9();

    // A target that contains tables already is refused.
    let taken = postgres.database();
    postgres.sql(&taken.name, "CREATE TABLE users (name TEXT)");
    let refused = migrate(&server, &taken.url).await.expect(6);
    assert!(refused.stderr.contains("createdb"), "{}", refused.stderr);
    let said = migrate(&server, &database.url).await.expect(0);
    let report = said.json();
    assert_eq!(report["server_id"], node);
    let tables = report["tables"].as_array().unwrap();
    let events = tables.iter().find(|table| table["name"] == "events");
    let events = events.expect("a report about events");
    assert!(events["rows"].as_u64().unwrap() >= 6, "{events}");
    assert_eq!(events["sha256"].as_str().unwrap().len(), 64);
    assert!(said.stderr.contains("copying events: "), "{}", said.stderr);
    let again = migrate(&server, &database.url).await.expect(6);
    assert!(again.stderr.contains("`users`"), "{}", again.stderr);

    home.receiver.set("/hook", Reply::Status(200));
    let key = secret_key(&said);
    server.start_again_on(&database.url, &key).await;
    home.credentials_and_records_are_as_they_were().await;
    assert_eq!(home.emit_once().await, once);
    let now = home.admin.list("/api/audit", "audit").await;
    assert!(audit.iter().all(|entry| now.contains(entry)));
    home.deliveries_go_on(&deliveries).await;
    home.the_space_stayed(&node).await;
}

/// The number of events in the source database: so many that copying them takes seconds.
const MANY: &str = "60000";

/// Whether all data is in the target, as other connections see it. Fails on partial data.
fn arrived(postgres: &TestPostgres, database: &TestDatabase) -> bool {
    let tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'";
    if postgres.sql(&database.name, tables) == "0" {
        return false;
    }
    let events = postgres.sql(&database.name, "SELECT COUNT(*) FROM events");
    assert_eq!(events, MANY);
    true
}

#[tokio::test]
async fn kill_9_at_any_moment_leaves_the_source_unchanged_and_the_target_empty_or_complete() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut server = TestServer::builder().embedded().start().await;
    server
        .edit_database(&format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})
             INSERT INTO events (id, type, ts, owner_id, space_id, actor, data, seq)
                 SELECT printf('%08d', i), 'a', i, 'o', 's', '{{}}', '{{}}', i FROM n"
        ))
        .await;
    let file = server.data_dir().join("svc.db");
    let before = std::fs::read(&file).unwrap();
    let from = server.data_dir().display().to_string();
    let killed = postgres.database();
    for moment in [
        "copying meta: ",
        "copying events: ",
        "copying scripts: ",
        "checking meta: ",
        "checking events: ",
    ] {
        let args = ["migrate", "--from", &from, "--to", &killed.url];
        let mut migrating = server.anonymous_cli().spawn(&args);
        migrating.wait_for_log(moment, SOON * 6).await;
        migrating.kill9();
        assert!(!arrived(postgres, &killed), "{moment}");
        assert!(!server.data_dir().join("server.id").exists(), "{moment}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
    // Kill the migration near its end, when it may or may not be complete.
    let last = postgres.database();
    let args = ["migrate", "--from", &from, "--to", &last.url];
    let mut migrating = server.anonymous_cli().spawn(&args);
    let last_line = "checking idempotency_keys: ";
    migrating.wait_for_log(last_line, SOON * 6).await;
    migrating.kill9();
    arrived(postgres, &last);
    // After all those kills the migration still succeeds.
    migrate(&server, &killed.url).await.expect(0);
    assert!(arrived(postgres, &killed));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    server.start_again().await;
}

#[tokio::test]
async fn invalid_input_is_refused_with_the_reason() {
    let mut server = TestServer::builder().embedded().start().await;
    server.terminate().await;
    let folder = server.data_dir().display().to_string();
    let nowhere = "postgres://svc:s3cret@127.0.0.1:1/svc";
    let missing = server.home().join("missing").display().to_string();
    for (args, code, says) in [
        (&["--from", &folder][..], 2, "SVC_DATABASE_URL"),
        (
            &["--from", &folder, "--to", &folder],
            2,
            "--to takes a PostgreSQL database",
        ),
        (&["--from", &folder, "--to", "sqlite:x"], 2, "postgres://"),
        (
            &["--from", &folder, "--to", "postgres://u:s3cret@h:x/d"],
            2,
            "is not valid",
        ),
        (
            &["--from", nowhere, "--to", nowhere],
            2,
            "--from takes an embedded database",
        ),
        (
            &["--from", &missing, "--to", nowhere],
            5,
            "holds no database",
        ),
        (
            &["--from", &folder, "--to", nowhere],
            7,
            "postgres://svc@127.0.0.1:1/svc",
        ),
        // Without --from, the folder of the configuration is used. Here it does not exist.
        (&["--to", nowhere], 5, ".local/share/svc"),
    ] {
        let said = server
            .anonymous_cli()
            .run(&[&["migrate"], args].concat())
            .await;
        let said = said.expect(code);
        assert!(said.stderr.contains(says), "{args:?}: {}", said.stderr);
        assert!(!said.stderr.contains("s3cret"), "{args:?}: {}", said.stderr);
    }
    let said = server
        .anonymous_cli()
        .env("SVC_DATA_DIR", &folder)
        .env("SVC_DATABASE_URL", nowhere)
        .run(&["migrate"])
        .await;
    said.expect(7);
    server.start_again().await;
}

//! Starting a server of a zone: several at once, and refusals with their messages.

use std::path::PathBuf;

use serde_json::json;
use svc_testkit::{
    Cli, GUARDED_USER, Output, TempDir, TestDatabase, TestPostgres, TestServer, fixture_file,
};

const KEY: &str = "YSBrZXkgb2YgYSB6b25lIHRoYXQgaXMgbm90IGl0cyE=";

/// A run of `svc server start` that must be refused.
struct Attempt {
    folder: TempDir,
    key: Option<&'static str>,
    env: Vec<(&'static str, &'static str)>,
}

impl Attempt {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            key: Some(KEY),
            env: Vec::new(),
        }
    }

    fn without_key(mut self) -> Self {
        self.key = None;
        self
    }

    fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.push((name, value));
        self
    }

    async fn on(self, url: &str) -> Output {
        let data: PathBuf = self.folder.path().join("data");
        let mut svc = Cli::new(self.folder.path());
        if let Some(key) = self.key {
            svc = svc.env("SVC_SECRET_KEY", key);
        }
        for (name, value) in &self.env {
            svc = svc.env(name, value);
        }
        let data = data.to_str().unwrap();
        let start = ["server", "start", "--listen", "127.0.0.1:0"];
        let on = ["--data-dir", data, "--database-url", url];
        svc.run(&[start.as_slice(), &on].concat()).await
    }
}

/// Checks that the command failed with this code, and that stderr contains all of these texts.
#[track_caller]
fn check(said: Output, code: i32, words: &[&str]) {
    let said = said.expect(code);
    for word in words {
        assert!(
            said.stderr.contains(word),
            "no `{word}` in: {}",
            said.stderr
        );
    }
}

#[tokio::test]
async fn servers_that_start_at_once_on_an_empty_database_take_turns() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let TestDatabase { name, url, .. } = postgres.database();
    let start = || TestServer::builder().database_url(&url).start();
    let (one, two, three, four) = tokio::join!(start(), start(), start(), start());
    for server in [&one, &two, &three, &four] {
        let admin = server.admin().await;
        let listed = admin.get("/api/servers").await.expect(200).json();
        assert_eq!(listed["servers"].as_array().unwrap().len(), 4);
    }
    let steps = "SELECT COUNT(*) = MAX(version) AND MIN(version) = 1 FROM schema_migrations";
    assert_eq!(postgres.sql(&name, steps), "t");
    let users = "SELECT COUNT(*) FROM users";
    assert_eq!(postgres.sql(&name, users), "1", "one administrator");
}

#[tokio::test]
async fn an_unusable_database_is_refused_with_a_remedy() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let database = postgres.database();
    for (url, words) in [
        ("mysql://ann@localhost/svc", "postgres://"),
        ("postgres://localhost/svc", "user"),
        ("postgres://ann@localhost:x/svc", "port"),
    ] {
        let said = Attempt::new().on(url).await;
        check(said, 2, &["`database_url` is not valid", words]);
    }
    let nowhere = database.url.replace(&database.name, "nowhere");
    let said = Attempt::new().on(&nowhere).await;
    check(said, 1, &[&nowhere, "\"nowhere\" does not exist"]);
    // No program listens on the lowest port.
    let silent = "postgres://svc@127.0.0.1:1/svc";
    let said = Attempt::new().on(silent).await;
    check(said, 1, &[silent, "refused"]);

    let said = Attempt::new().without_key().on(&database.url).await;
    check(said, 1, &["SVC_SECRET_KEY", "openssl rand -base64 32"]);
    let said = Attempt::new().env("SVC_SPACES_ALLOW_LOCAL", "true");
    let said = said.on(&database.url).await;
    check(said, 2, &["allow_local", "database_url"]);
    let tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'";
    let made = postgres.sql(&database.name, tables);
    assert_eq!(made, "0", "the refused start created no tables");
}

#[tokio::test]
async fn another_key_or_a_newer_schema_is_refused() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let database = postgres.database();
    let mut first = TestServer::builder()
        .database_url(&database.url)
        .start()
        .await;
    let said = Attempt::new().on(&database.url).await;
    let words = ["SVC_SECRET_KEY is not the key of this zone", "every server"];
    check(said, 1, &words);
    // The running server is not affected.
    first.admin().await.emit("x", json!({})).await;
    first.terminate().await;
    let newer = "INSERT INTO schema_migrations (version, name, applied_at, compatible_since) \
                 VALUES (99, 'x', 0, 99)";
    postgres.sql(&database.name, newer);
    let said = Attempt::new().on(&database.url).await;
    check(said, 1, &["schema version 99", "start a newer svc"]);
}

#[tokio::test]
async fn the_database_password_is_checked_and_never_shown() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let database = postgres.database();
    let (user, secret) = (GUARDED_USER, "it's @ secret");
    let name = &database.name;
    postgres.sql(
        name,
        &format!(
            "CREATE ROLE {user} LOGIN PASSWORD 'it''s @ secret'; \
             ALTER DATABASE {name} OWNER TO {user}"
        ),
    );
    let url = |password: &str| {
        let host = format!("127.0.0.1:{}", postgres.port());
        format!("postgres://{user}:{password}@{host}/{name}")
    };
    let said = Attempt::new().on(&url("wr0ng")).await;
    assert!(!said.stderr.contains("wr0ng"), "{}", said.stderr);
    check(said, 1, &["password authentication failed", user]);
    let right = url("it%27s%20%40%20secret");
    let server = TestServer::builder().database_url(&right).start().await;
    server.admin().await.emit("x", json!({})).await;
    assert!(!server.log().contains(secret), "{}", server.log());
}

#[tokio::test]
async fn tls_connects_to_a_database_with_a_valid_certificate() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let database = postgres.database();
    let authority = fixture_file("ca.pem");
    let proving = format!("{}?sslmode=verify-full", database.url);
    let said = Attempt::new().on(&proving).await;
    check(said, 1, &["certificate", "sslrootcert=<file>"]);
    let trusting = format!("{proving}&sslrootcert={}", authority.display());
    let missing = format!("{proving}&sslrootcert=/nowhere/ca.pem");
    check(Attempt::new().on(&missing).await, 2, &["/nowhere/ca.pem"]);
    let servers = [
        TestServer::builder().database_url(&trusting).start().await,
        TestServer::builder().database_url(&trusting).start().await,
    ];
    let encrypted = "SELECT COUNT(*), COUNT(*) FILTER (WHERE ssl) FROM pg_stat_ssl \
         JOIN pg_stat_activity USING (pid) WHERE application_name = 'svc'";
    let of_this = format!("{encrypted} AND datname = '{}'", database.name);
    let counted = postgres.sql(&database.name, &of_this);
    let (all, ssl) = counted.split_once('|').unwrap();
    assert_eq!(all, ssl, "every connection is encrypted");
    assert!(all.parse::<usize>().unwrap() >= 4, "{counted}");
    // Notifications use TLS too.
    let ann = servers[0].user("ann").await;
    let there = ann.at(&servers[1]);
    there.get("/api/auth/me").await.expect(200);
}

//! Contexts and credentials of the command line, administration with the command line, and errors
//! in the configuration file.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use svc_testkit::{Cli, TempDir, TestServer};

#[tokio::test]
async fn login_saves_a_context_that_only_its_owner_can_read() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let home = TempDir::new().unwrap();
    let svc = || Cli::new(home.path());
    svc().run(&["method", "list"]).await.expect(4);
    let login = [
        "login",
        server.url(),
        "--username",
        "ann",
        "--password-stdin",
    ];
    svc().input("not the password").run(&login).await.expect(4);
    svc().input(&ann.password).run(&login).await.expect(0);
    svc().run(&["method", "list"]).await.expect(0);
    let me = svc().run(&["whoami", "-o", "json"]).await.expect(0);
    assert_eq!(me.json()["username"], "ann");

    let saved = home.path().join(".config/svc/contexts.toml");
    assert_eq!(
        std::fs::metadata(&saved).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let listed = svc().run(&["context", "list"]).await.expect(0);
    assert!(listed.stdout.contains(server.url()), "{}", listed.stdout);
    assert!(!listed.stdout.contains("svc_pat_"), "{}", listed.stdout);

    let admin = server.admin().await;
    svc()
        .input(&admin.token)
        .run(&["context", "add", "boss", server.url()])
        .await
        .expect(0);
    let me = svc()
        .run(&["--context", "boss", "whoami", "-o", "json"])
        .await
        .expect(0);
    assert_eq!(me.json()["username"], "admin");
    svc().run(&["context", "use", "boss"]).await.expect(0);
    assert_eq!(
        svc().run(&["whoami", "-o", "json"]).await.json()["username"],
        "admin"
    );
    svc().run(&["context", "use", "nobody"]).await.expect(5);
    svc().run(&["context", "rm", "boss"]).await.expect(0);

    // A logout also revokes the token on the server.
    let text = std::fs::read_to_string(&saved).unwrap();
    let start = text.find("svc_pat_").unwrap();
    let token = text[start..].split('"').next().unwrap().to_owned();
    let name = listed
        .stdout
        .split_whitespace()
        .find(|word| word.starts_with("127.0.0.1"))
        .unwrap();
    svc().run(&["context", "use", name]).await.expect(0);
    svc().run(&["logout"]).await.expect(0);
    ann.with_token(&token).get("/api/auth/me").await.expect(401);
    svc().run(&["whoami"]).await.expect(4);
}

#[tokio::test]
async fn administration_works_from_the_command_line_alone() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let svc = || server.cli(&admin);
    svc().run(&["group", "create", "ops"]).await.expect(0);
    svc().run(&["group", "create", "ops"]).await.expect(6);
    svc()
        .run(&["role", "create", "auditor", "--permission", "view_audit"])
        .await
        .expect(0);
    let create = [
        "user",
        "create",
        "ann",
        "--role",
        "user",
        "--group",
        "ops",
        "--password-stdin",
    ];
    svc().input("long enough").run(&create).await.expect(0);
    svc()
        .run(&["user", "update", "ann", "--role", "user,auditor"])
        .await
        .expect(0);
    let ann = svc()
        .run(&["user", "get", "ann", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(ann["groups"], json!(["ops"]));
    assert_eq!(ann["roles"].as_array().unwrap().len(), 2);
    svc()
        .run(&["user", "update", "ann", "--deactivate"])
        .await
        .expect(0);
    server.try_login("ann", "long enough").await.expect(401);
    svc()
        .run(&["user", "update", "ann", "--activate"])
        .await
        .expect(0);
    server.try_login("ann", "long enough").await.expect(200);
    svc().run(&["user", "rm", "ann"]).await.expect(0);
    svc().run(&["group", "rm", "ops"]).await.expect(0);

    let token = svc()
        .run(&["token", "create", "ci", "--scope", "methods", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(token["scopes"], json!(["methods"]));
    admin
        .with_token(token["token"].as_str().unwrap())
        .get("/api/methods")
        .await
        .expect(200);
    svc().run(&["token", "revoke", "ci"]).await.expect(0);
    svc()
        .run(&["token", "create", "x", "--scope", "everything"])
        .await
        .expect(6);

    let space = svc()
        .run(&["space", "create", "lab", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert!(
        space["agent_token"]
            .as_str()
            .unwrap()
            .starts_with("svc_agt_")
    );
    svc().run(&["space", "stop", "lab"]).await.expect(0);
    svc().run(&["space", "rm", "lab"]).await.expect(0);
    let raw = svc().run(&["api", "GET", "/api/auth/me"]).await.expect(0);
    assert_eq!(raw.json()["username"], "admin");
    let audit = svc().run(&["audit", "list", "-o", "json"]).await.expect(0);
    assert!(audit.stdout.contains("token.revoked"), "{}", audit.stdout);
}

#[tokio::test]
async fn errors_in_the_configuration_name_their_position() {
    let home = TempDir::new().unwrap();
    for (text, place) in [
        ("[server]\nlisten_on = \"x\"\n", "svc.toml:2:1"),
        ("[server]\ngrace_seconds = \"long\"\n", "svc.toml:2:17"),
        ("[serve]\n", "svc.toml:1:2"),
        ("[server\n", "svc.toml:1:8"),
    ] {
        std::fs::write(home.path().join("svc.toml"), text).unwrap();
        let data = home.path().join("data");
        let args = [
            "server",
            "start",
            "--listen",
            "127.0.0.1:0",
            "--data-dir",
            data.to_str().unwrap(),
        ];
        let said = Cli::new(home.path()).run(&args).await;
        assert_ne!(said.code, 0);
        assert!(said.stderr.contains(place), "{place} in {}", said.stderr);
    }
}

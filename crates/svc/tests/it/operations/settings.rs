//! Settings and checks of operators: a private CA, the rate limit, damaged backups, and the log of
//! an agent that cannot work.

use std::process::Command;

use serde_json::json;
use svc_testkit::{
    ADMIN_PASSWORD, Cli, Process, TempDir, TestServer, eventually, fixture, fixture_file, method,
    result, svc_program,
};

use crate::SOON;

#[tokio::test]
async fn an_agent_trusts_the_configured_ca_file() {
    let [cert, key, ca] =
        ["cert.pem", "key.pem", "ca.pem"].map(|name| fixture_file(name).display().to_string());
    let server = TestServer::builder()
        .args(&["--tls-cert", &cert, "--tls-key", &key])
        .start()
        .await;
    let url = server.url().replace("127.0.0.1", "localhost");
    let svc = || Cli::new(server.home());
    let login = ["login", &url, "--ca-file", &ca, "--username", "admin"];
    svc()
        .input(ADMIN_PASSWORD)
        .run(&[&login[..], &["--password-stdin"]].concat())
        .await
        .expect(0);
    let space = svc()
        .run(&["space", "create", "lab", "-o", "json"])
        .await
        .expect(0)
        .json();
    let folder = TempDir::new().unwrap();
    let registration = fixture().plain("echo").to_string();
    std::fs::write(folder.path().join("methods.toml"), registration).unwrap();
    std::fs::copy(&ca, folder.path().join("ca.pem")).unwrap();
    let config = "[agent]\nca_file = \"ca.pem\"\n";
    std::fs::write(folder.path().join("ca.toml"), config).unwrap();
    let agent = |args: &[&str], ca_file: Option<&str>| {
        let mut command = Command::new(svc_program());
        command
            .args(["agent", "start", "--listen", "127.0.0.1:0"])
            .args(["--methods-file", "methods.toml"])
            .args(args)
            .env("HOME", server.home())
            .env("SVC_URL", &url)
            .env("SVC_AGENT_TOKEN", space["agent_token"].as_str().unwrap())
            .envs(ca_file.map(|file| ("SVC_CA_FILE", file)))
            .current_dir(folder.path());
        Process::spawn("agent", command)
    };
    // Without the file the certificate is not trusted.
    let mut stranger = agent(&[], None);
    stranger.wait_for_log("cannot be reached", SOON).await;
    assert_eq!(stranger.terminate().await.code(), Some(0));
    for (args, variable) in [
        (&["--ca-file", "ca.pem"][..], None),
        (&[], Some("ca.pem")),
        (&["--config", "ca.toml"], None),
    ] {
        let mut agent = agent(args, variable);
        eventually("a call over TLS answers", 2 * SOON, || async {
            let call = ["method", "call", "echo", "[1]", "--result"];
            svc().run(&call).await.stdout == "[1]\n"
        })
        .await;
        assert_eq!(agent.terminate().await.code(), Some(0));
    }
    let said = svc()
        .env("SVC_URL", &url)
        .env("SVC_AGENT_TOKEN", "svc_agt_x")
        .run(&["agent", "start", "--ca-file", "missing.pem"])
        .await
        .expect(2);
    assert!(said.stderr.contains("missing.pem"), "{}", said.stderr);
}

#[tokio::test]
async fn a_self_signed_certificate_works_as_ca_file_or_gets_advice() {
    let file = |name: &str| fixture_file(name).display().to_string();
    let key = file("self-signed-key.pem");
    for (certificate, advice) in [
        ("self-signed.pem", None),
        (
            "self-signed-no-name.pem",
            Some("-addext subjectAltName=DNS:localhost"),
        ),
    ] {
        let certificate = file(certificate);
        let server = TestServer::builder()
            .args(&["--tls-cert", &certificate, "--tls-key", &key])
            .start()
            .await;
        let url = server.url().replace("127.0.0.1", "localhost");
        let login = async |more: &[&str], exit| {
            let login = ["login", &url, "--username", "admin", "--password-stdin"];
            Cli::new(server.home())
                .input(ADMIN_PASSWORD)
                .run(&[&login[..], more].concat())
                .await
                .expect(exit)
                .stderr
        };
        let said = login(&[], 7).await;
        assert!(
            said.contains("self-signed") && said.contains("--ca-file"),
            "{said}"
        );
        assert!(!said.contains("OtherError"), "{said}");
        match advice {
            None => drop(login(&["--ca-file", &certificate], 0).await),
            Some(advice) => {
                let said = login(&["--ca-file", &certificate], 7).await;
                assert!(said.contains(advice), "{said}");
            }
        }
    }
}

#[tokio::test]
async fn calls_over_the_rate_limit_are_refused_with_retry_after() {
    let server = TestServer::builder()
        .config("calls_per_second = 5")
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let one = json!({"jsonrpc": "2.0", "method": "echo", "id": 1});
    let batch = json!([one, one, one, one, one]);
    // Each call of a batch counts. This batch uses up the limit of one second.
    ann.post("/api/methods/call", batch.clone())
        .await
        .expect(200);
    let refused = ann.post("/api/methods/call", one.clone()).await.expect(429);
    assert_eq!(refused.json()["code"], "rate_limited");
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&seconds), "{seconds}");
    // Other users have their own limit, and reads do not count.
    let admin = server.admin().await;
    admin
        .post("/api/methods/call", one.clone())
        .await
        .expect(200);
    ann.get("/api/methods").await.expect(200);

    eventually("the command is refused too", SOON, || async {
        ann.post("/api/methods/call", batch.clone()).await;
        let said = server
            .cli(&ann)
            .run(&["method", "call", "echo", "[1]"])
            .await;
        let clear = said.stderr.contains("calls per second") && said.stderr.contains("hint: wait");
        said.code == 1 && said.stdout.is_empty() && clear
    })
    .await;
    eventually("calls are accepted again", SOON, || async {
        ann.post("/api/methods/call", one.clone()).await.status == 200
    })
    .await;
}

#[tokio::test]
async fn a_backup_with_damaged_contents_is_refused_with_the_name_of_the_table() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    ann.space("a-space-worth-keeping").await;
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (whole, damaged, fresh) = (path("whole"), path("damaged"), path("fresh"));
    let data = server.data_dir().display().to_string();
    let svc = |args: Vec<String>| {
        let cli = Cli::new(folder.path());
        async move { cli.run(&[&["backup".to_owned()], &args[..]].concat()).await }
    };
    let words = |args: &[&str]| args.iter().map(ToString::to_string).collect::<Vec<_>>();
    svc(words(&["create", &whole, "--data-dir", &data]))
        .await
        .expect(0);
    let bytes = std::fs::read(&whole).unwrap();
    let text = b"a-space-worth-keeping";
    let place = bytes
        .windows(text.len())
        .position(|window| window == text)
        .unwrap();
    let mut changed = bytes.clone();
    changed[place] = b'A';
    std::fs::write(&damaged, changed).unwrap();
    let said = svc(words(&["verify", &damaged])).await.expect(6);
    assert!(said.stderr.contains("damaged: "), "{}", said.stderr);
    assert!(said.stderr.contains("table `"), "{}", said.stderr);
    svc(words(&["restore", &damaged, "--data-dir", &fresh]))
        .await
        .expect(6);
    assert!(!std::path::Path::new(&fresh).join("svc.db").exists());
    svc(words(&["verify", &whole])).await.expect(0);
}

#[tokio::test]
async fn s4_3_a_methods_file_that_fails_is_reported_once_in_readable_form() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    space.write("methods.toml", "[server]\ncommand = \"x\"\ntimeout = 0\n");
    let agent = space.agent_with(&["--methods-file", "methods.toml"]).await;
    eventually("the space's log says why", SOON, || async {
        let logs = ann.get(&format!("{}/logs", space.path())).await.json();
        let lines: Vec<_> = logs["logs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line["line"].as_str().unwrap().to_owned())
            .collect();
        // The excerpt of the file keeps its line breaks.
        lines.iter().any(|line| line == "3 | timeout = 0")
    })
    .await;
    let told = agent.log().matches("was not registered").count();
    assert_eq!(told, 1, "{}", agent.log());
}

#[tokio::test]
async fn a_refused_agent_token_is_reported_once() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut command = space.agent_command(space.folder());
    command
        .args(["--listen", "127.0.0.1:0"])
        .env("SVC_AGENT_TOKEN", format!("svc_agt_{}", "x".repeat(43)));
    let mut agent = Process::spawn("agent", command);
    assert_eq!(agent.wait_for_exit(SOON).await.code(), Some(4));
    let said = agent.stderr();
    assert_eq!(said.matches("agent token").count(), 1, "{said}");
    assert!(said.contains("hint: svc space agent-token"), "{said}");
}

#[tokio::test]
async fn an_agents_trace_log_holds_no_token() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut command = space.agent_command(space.folder());
    command
        .args(["--listen", "127.0.0.1:0"])
        .env("SVC_LOG", "trace,tungstenite::handshake=trace");
    let agent = space.spawn_command(space.folder(), command);
    agent.wait_until_linked().await;
    agent
        .register(fixture().with(method("echo", "echo")))
        .await
        .expect(0);
    result(&ann.call("echo", json!({})).await);
    assert!(!agent.log().contains("svc_agt_"), "{}", agent.log());
}

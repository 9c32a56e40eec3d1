//! Running a server: health, metrics, shutdown, backup, TLS.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::{
    Cli, Process, TempDir, TestServer, error_code, eventually, fixture, fixture_file, result,
    wait_for_address,
};

use crate::SOON;

#[tokio::test]
async fn health_readiness_and_metrics_are_open_to_this_machine() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(
            fixture()
                .timeout(5)
                .plain("echo")
                .plain("fail")
                .plain("crash")
                .plain("never"),
        )
        .await;
    let get = |path: &'static str, headers: &'static [(&'static str, &'static str)]| {
        let http = server.http();
        async move { http.request("GET", path, headers, "").await }
    };
    get("/healthz", &[]).await.expect(200);
    get("/readyz", &[]).await.expect(200);
    result(&ann.call("echo", json!({})).await);
    assert_eq!(
        error_code(&ann.call("fail", json!({"code": 1, "message": "m"})).await),
        1
    );
    assert_eq!(error_code(&ann.call("missing", json!({})).await), -32601);
    assert_eq!(error_code(&ann.call("never", json!({})).await), -32001);
    assert_eq!(error_code(&ann.call("crash", json!({})).await), -32002);
    ann.notify("echo", json!({})).await.expect(204);
    result(&ann.call("echo", json!({})).await);
    eventually("the metrics are complete", SOON, || async {
        let metrics = get("/metrics", &[]).await.expect(200);
        assert!(
            metrics
                .header("content-type")
                .is_some_and(|kind| kind.contains("text"))
        );
        let text = metrics.text();
        [
            r#"svc_calls_total{outcome="ok"} 2"#,
            r#"svc_calls_total{outcome="method_error"} 1"#,
            r#"svc_calls_total{outcome="not_found"} 1"#,
            r#"svc_calls_total{outcome="timeout"} 1"#,
            r#"svc_calls_total{outcome="interrupted"} 1"#,
            r#"svc_calls_total{outcome="notification"} 1"#,
            r#"svc_method_calls_total{method="echo",outcome="ok"} 2"#,
            r#"svc_method_calls_total{method="echo",outcome="notification"} 1"#,
            r#"svc_method_calls_total{method="fail",outcome="method_error"} 1"#,
            r#"svc_method_calls_total{method="never",outcome="timeout"} 1"#,
            r#"svc_method_calls_total{method="crash",outcome="interrupted"} 1"#,
            r#"svc_method_call_seconds_count{method="echo"} 2"#,
            r#"svc_method_calls_in_flight{method="never"} 0"#,
            "svc_call_seconds_bucket",
            "svc_calls_in_flight 0",
            "svc_links 1",
            "svc_methods 4",
            "svc_method_server_restarts_total 1",
        ]
        .iter()
        .all(|line| text.contains(line))
    })
    .await;
    // A request through a local proxy counts as remote.
    get("/metrics", &[("x-forwarded-for", "203.0.113.9")])
        .await
        .expect(401);
}

#[tokio::test]
async fn sigterm_finishes_calls_in_flight_and_exits_with_0() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("sleep").plain("echo")).await;
    let slow = ann.start_call("sleep", json!({"ms": 2_000, "until": "go"}));
    ann.wait_for_in_flight("sleep", 1).await;
    server.process().signal(rustix::process::Signal::TERM);
    space.write("go", "");
    assert_eq!(result(&slow.await.unwrap())["slept"], 2_000);
    let status = server.process().wait_for_exit(SOON).await;
    assert_eq!(status.code(), Some(0), "{}", server.log());
    // The agent keeps running, and links again when the server is back.
    server.start_again().await;
    eventually("the agent is back", 2 * SOON, || async {
        ann.call("echo", json!({})).await.get("result").is_some()
    })
    .await;
    assert_eq!(agent.status().await["linked"], true);
}

#[tokio::test]
async fn during_the_shutdown_delay_the_server_is_not_ready_but_answers_calls() {
    let mut server = TestServer::builder()
        .config("shutdown_delay_seconds = 15")
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let http = server.http();
    let readiness = || http.request("GET", "/readyz", &[], "");
    readiness().await.expect(200);
    server.begin_to_terminate();
    eventually("the server is not ready", SOON, || async {
        readiness().await.status == 503
    })
    .await;
    for n in 0..20 {
        let params = json!({"n": n});
        assert_eq!(*result(&ann.call("echo", params.clone()).await), params);
    }
    let status = server.process().wait_for_exit(2 * SOON).await;
    assert_eq!(status.code(), Some(0), "{}", server.log());
}

#[tokio::test]
async fn sigterm_waits_for_a_limited_time() {
    let mut server = TestServer::builder()
        .config("drain_seconds = 1")
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("never")).await;
    let caller = ann.clone();
    let call = tokio::spawn(async move {
        let body = r#"{"jsonrpc":"2.0","method":"never","id":1}"#;
        let request = caller
            .request("POST", "/api/methods/call")
            .header("content-type", "application/json");
        caller
            .http()
            .try_send(request.body(body.into()).unwrap())
            .await
    });
    ann.wait_for_in_flight("never", 1).await;
    let begun = Instant::now();
    assert_eq!(server.terminate().await.code(), Some(0));
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    // Calls in flight got a response or lost their connection; no call hangs.
    if let Ok(answer) = call.await.unwrap() {
        assert_eq!(error_code(&answer.json()), -32002);
    }
}

#[tokio::test]
async fn a_second_server_on_the_same_folder_is_refused() {
    let server = TestServer::start().await;
    let mut second = Process::spawn("second server", server.second_server(&server.data_dir()));
    let status = second.wait_for_exit(SOON).await;
    assert!(!status.success());
    assert!(second.stderr().contains("data"), "{}", second.stderr());
    assert!(
        second.stderr().trim().lines().count() <= 3,
        "{}",
        second.stderr()
    );
    server.admin().await;
}

#[tokio::test]
async fn acknowledged_changes_survive_kill9() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    for n in 0..5 {
        let space = ann.space(&format!("s{n}")).await;
        server.kill9();
        server.start_again().await;
        assert_eq!(space.record().await["name"], format!("s{n}"));
    }
}

#[tokio::test]
async fn backups_are_made_online_verified_and_restored() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    ann.space("lab").await;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("svc.backup");
    let (file_name, data) = (file.to_str().unwrap(), server.data_dir());
    let svc = || Cli::new(folder.path());
    let data = data.to_str().unwrap();
    svc()
        .run(&["backup", "create", file_name, "--data-dir", data])
        .await
        .expect(0);
    svc().run(&["backup", "verify", file_name]).await.expect(0);
    ann.space("made-after-the-backup").await;
    // A restore is refused while a server uses the data folder.
    let refused = svc()
        .run(&["backup", "restore", file_name, "--data-dir", data])
        .await;
    assert_ne!(refused.code, 0);
    ann.get("/api/spaces").await.expect(200);

    let restored = folder.path().join("restored");
    svc()
        .run(&[
            "backup",
            "restore",
            file_name,
            "--data-dir",
            restored.to_str().unwrap(),
        ])
        .await
        .expect(0);
    let mut second = Process::spawn("restored server", server.second_server(&restored));
    let url = wait_for_address(&mut second).await;
    let listed = svc()
        .env("SVC_URL", &url)
        .env("SVC_TOKEN", &ann.token)
        .run(&["space", "list", "-o", "json"])
        .await
        .expect(0)
        .json();
    let names: Vec<_> = listed["spaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["name"].clone())
        .collect();
    assert_eq!(names, ["lab"]);
    assert_eq!(second.terminate().await.code(), Some(0));

    // A damaged file is refused before any change.
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    let cut = folder.path().join("cut.backup");
    std::fs::write(&cut, bytes).unwrap();
    let said = svc()
        .run(&["backup", "verify", cut.to_str().unwrap()])
        .await;
    assert_ne!(said.code, 0, "{said:?}");
    let fresh = folder.path().join("fresh");
    let said = svc()
        .run(&[
            "backup",
            "restore",
            cut.to_str().unwrap(),
            "--data-dir",
            fresh.to_str().unwrap(),
        ])
        .await;
    assert_ne!(said.code, 0);
    assert!(!fresh.join("svc.db").exists());
}

#[tokio::test]
async fn tls_works_for_clients_and_agents() {
    let (cert, key, ca) = (
        fixture_file("cert.pem"),
        fixture_file("key.pem"),
        fixture_file("ca.pem"),
    );
    let args = [
        "--tls-cert",
        cert.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ];
    let server = TestServer::builder().args(&args).start().await;
    let url = server.url().replace("127.0.0.1", "localhost");
    assert!(url.starts_with("https://"), "{url}");
    let svc = || Cli::new(server.home()).env("SSL_CERT_FILE", &ca);
    let login = ["login", &url, "--username", "admin", "--password-stdin"];
    svc()
        .input(svc_testkit::ADMIN_PASSWORD)
        .run(&login)
        .await
        .expect(0);
    let space = svc()
        .run(&["space", "create", "lab", "-o", "json"])
        .await
        .expect(0)
        .json();

    let folder = TempDir::new().unwrap();
    std::fs::write(
        folder.path().join("methods.toml"),
        fixture().plain("echo").to_string(),
    )
    .unwrap();
    let mut command = std::process::Command::new(svc_testkit::svc_program());
    command
        .args([
            "agent",
            "start",
            "--listen",
            "127.0.0.1:0",
            "--methods-file",
            "methods.toml",
        ])
        .env("HOME", server.home())
        .env("SSL_CERT_FILE", &ca)
        .env("SVC_URL", &url)
        .env("SVC_AGENT_TOKEN", space["agent_token"].as_str().unwrap())
        .current_dir(folder.path());
    let mut agent = Process::spawn("agent", command);
    eventually("a call over TLS answers", 2 * SOON, || async {
        svc()
            .run(&["method", "call", "echo", "[1]", "--result"])
            .await
            .stdout
            == "[1]\n"
    })
    .await;
    assert_eq!(agent.terminate().await.code(), Some(0));
    // An untrusted certificate is refused.
    let stranger = Cli::new(server.home()).env("SSL_CERT_FILE", server.home().join("none.pem"));
    let said = stranger.run(&["method", "list"]).await;
    assert_eq!(said.code, 7, "{said:?}");
}

#[tokio::test]
async fn logs_are_json_on_request_and_hold_no_secrets() {
    let server = TestServer::builder()
        .args(&["--log-format", "json"])
        .env("SVC_LOG", "debug")
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    result(&ann.call("echo", json!({"secret": "kettle"})).await);
    let log = server.log();
    for line in log.lines() {
        let parsed: Result<Value, _> = serde_json::from_str(line);
        assert!(parsed.is_ok_and(|line| line.is_object()), "{line}");
    }
    for secret in ["svc_pat_", "svc_agt_", "svc_ses_", "kettle", &ann.password] {
        assert!(!log.contains(secret), "the log holds `{secret}`");
    }
}

#[tokio::test]
async fn a_single_server_lists_itself() {
    let server = TestServer::start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let listed = server.cli(&admin).run(&["server", "list", "-o", "json"]);
    let listed = listed.await.expect(0).json();
    let servers = listed["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 1, "{listed}");
    let this = &servers[0];
    assert_eq!(this["url"], server.url());
    assert_eq!((&this["state"], &this["links"]), (&json!("up"), &json!(1)));
    assert_eq!(this["is_this"], true);
    let record = ann.get(&space.path()).await.expect(200).json();
    assert_eq!(record["node_id"], this["id"]);
    let table = server.cli(&admin).run(&["server", "list"]).await.expect(0);
    assert!(table.stdout.contains("up (this one)"), "{}", table.stdout);
    // The refusal names the missing permission.
    let denied = server.cli(&ann).run(&["server", "list"]).await.expect(4);
    assert!(denied.stderr.contains("view_audit"), "{}", denied.stderr);
}

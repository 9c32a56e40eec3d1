//! Details of the command line: short forms of health checks, filters, secrets in the output,
//! following a log.

use std::{path::Path, process::Command};

use serde_json::json;
use svc_testkit::{Cli, Process, TestServer, eventually, fixture, method, result, svc_program};

use crate::SOON;

#[tokio::test]
async fn health_checks_have_short_forms_and_errors_name_them() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let svc = || server.cli(&ann);
    let create = ["space", "create", "lab", "--health-check", "tcp:8080"];
    svc().run(&create).await.expect(0);
    let update = async |check: &str| {
        let args = ["space", "update", "lab", "--health-check", check];
        svc().run(&[&args[..], &["-o", "json"]].concat()).await
    };
    for (check, expected) in [
        ("none", json!({"type": "none"})),
        ("tcp:81", json!({"type": "tcp", "port": 81})),
        (
            "http://127.0.0.1:1/",
            json!({"type": "http", "url": "http://127.0.0.1:1/"}),
        ),
        (
            "command:true",
            json!({"type": "command", "command": "true"}),
        ),
        (
            r#"{"type":"tcp","port":82}"#,
            json!({"type": "tcp", "port": 82}),
        ),
    ] {
        let space = update(check).await.expect(0).json();
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(space["health_check"][key], *value, "{check}");
        }
    }
    let wrong = update("https://127.0.0.1").await.expect(2);
    for form in ["none", "tcp:<port>", "http://", "command:", "JSON"] {
        assert!(wrong.stderr.contains(form), "{form} in {}", wrong.stderr);
    }
}

#[tokio::test]
async fn a_replay_includes_both_of_its_times_as_its_help_says() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let svc = || server.cli(&ann);
    let sink = ["--pattern", "custom.n", "--url", "https://example.com/"];
    let create = ["sink", "create", "late", "--type", "webhook"];
    ann.emit("n", json!({})).await;
    svc().run(&[&create[..], &sink].concat()).await.expect(0);
    let events = ann
        .get("/api/events?type=custom.n")
        .await
        .expect(200)
        .json();
    let at = events["events"][0]["event_ts"].as_str().unwrap();
    let replay = ["sink", "replay", "late", "-o", "json"];
    let replay = [&replay[..], &["--since", at, "--until", at]].concat();
    let replayed = svc().run(&replay).await.expect(0).json();
    assert_eq!(replayed["queued"], 1, "{replayed}");
    let help = svc().run(&["sink", "replay", "--help"]).await.expect(0);
    assert!(
        help.stdout.contains("the time itself included"),
        "{}",
        help.stdout
    );
}

#[tokio::test]
async fn an_unknown_group_of_a_new_user_has_a_hint_and_delete_means_rm() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let svc = || server.cli(&admin);
    let create = ["user", "create", "ben", "--group", "x", "--password-stdin"];
    let said = svc().input("a long password").run(&create).await.expect(6);
    assert!(
        said.stderr.contains("group `x` does not exist"),
        "{}",
        said.stderr
    );
    assert!(
        said.stderr.contains("hint: svc group list"),
        "{}",
        said.stderr
    );
    svc().run(&["group", "create", "x"]).await.expect(0);
    svc().input("a long password").run(&create).await.expect(0);
    svc().run(&["user", "delete", "ben"]).await.expect(0);
    svc().run(&["group", "delete", "x"]).await.expect(0);
}

#[tokio::test]
async fn the_audit_log_is_filtered() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let list = async |filters: &[&str]| {
        let args = [&["audit", "list", "-o", "json"], filters].concat();
        let audit = server.cli(&admin).run(&args).await.expect(0).json();
        audit["audit"].as_array().unwrap().clone()
    };
    let by_ann = list(&["--actor", "ann"]).await;
    assert!(!by_ann.is_empty() && by_ann.iter().all(|entry| entry["actor"] == "ann"));
    let created = list(&["--action", "space.created"]).await;
    assert_eq!(created.len(), 1);
    assert_eq!(created[0]["target_id"], space.id);
    assert_eq!(list(&["--target-id", &space.id]).await, created);
    let kind = created[0]["target_type"].as_str().unwrap();
    assert_eq!(list(&["--target-type", kind]).await, created);
    assert!(
        list(&["--actor", "ann", "--action", "user.created"])
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn printed_output_contains_no_secret() {
    let server = TestServer::builder().allow_local_spaces().start().await;
    let admin = server.admin().await;
    let curl = ["method", "call", "echo", "{}", "--curl"];
    let said = server.cli(&admin).run(&curl).await.expect(0);
    assert!(
        said.stdout.contains("\"Authorization: Bearer $SVC_TOKEN\""),
        "{}",
        said.stdout
    );
    // With a saved context, the command contains no token either, and the output names the file of
    // the token.
    let svc = || Cli::new(server.home());
    svc()
        .input(&admin.token)
        .run(&["context", "add", "boss", server.url()])
        .await
        .expect(0);
    let said = svc().run(&curl).await.expect(0);
    assert!(said.stdout.contains("$SVC_TOKEN") && !said.stdout.contains("svc_pat_"));
    assert!(said.stderr.contains("`boss`") && said.stderr.contains("contexts.toml"));

    // The server starts the agent of a local space, so the agent token is not shown.
    let local = ["space", "create", "box", "--runtime", "local"];
    let said = server.cli(&admin).run(&local).await.expect(0);
    let all = format!("{}{}", said.stdout, said.stderr);
    assert!(
        !all.contains("svc_agt_") && !all.contains("agent token"),
        "{all}"
    );
    let said = server
        .cli(&admin)
        .run(&["space", "create", "lab"])
        .await
        .expect(0);
    assert!(said.stdout.contains("svc_agt_"), "{}", said.stdout);
}

#[tokio::test]
async fn creating_a_local_space_while_disabled_names_the_setting() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let local = ["space", "create", "box", "--runtime", "local"];
    let said = server.cli(&admin).run(&local).await.expect(4);
    assert!(
        said.stderr.contains("SVC_SPACES_ALLOW_LOCAL=true"),
        "{}",
        said.stderr
    );
    assert!(!said.stderr.contains("whoami"), "{}", said.stderr);
}

#[tokio::test]
async fn s4_3_a_registration_can_be_read_from_stdin_and_shows_its_event_sinks() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let registration =
        fixture().with(method("echo", "echo")).to_string() + "event_sinks = [\"pager\"]\n";
    let said = agent
        .cli()
        .input(&registration)
        .run(&["methods", "register", "-"])
        .await
        .expect(0);
    assert!(said.stdout.contains("echo"), "{}", said.stdout);
    let shown = server
        .cli(&ann)
        .run(&["method", "list", "echo"])
        .await
        .expect(0);
    let sinks = shown
        .stdout
        .lines()
        .find(|line| line.starts_with("event_sinks:"));
    assert!(
        sinks.is_some_and(|line| line.contains("pager")),
        "{}",
        shown.stdout
    );
    let wrong = agent
        .cli()
        .input("[server\n")
        .run(&["methods", "register", "-"])
        .await
        .expect(6);
    assert!(wrong.stderr.contains("<stdin>:1:"), "{}", wrong.stderr);
}

#[tokio::test]
async fn following_a_log_ends_when_the_reader_closes() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("stderr")).await;
    let say = async |text: &str| {
        result(&ann.call("stderr", json!({ "text": text })).await);
    };
    let follow = |program: &str, args: &[&str], folder: &Path| {
        let mut command = Command::new(program);
        command
            .args(args)
            .env("SVC", svc_program())
            .env("HOME", server.home())
            .env("SVC_URL", server.url())
            .env("SVC_TOKEN", &ann.token)
            .current_dir(folder);
        Process::spawn("svc logs", command)
    };
    let program = svc_program();
    let mut all = follow(
        program.to_str().unwrap(),
        &["space", "logs", "lab", "-f"],
        server.home(),
    );
    let mut inside = follow(
        program.to_str().unwrap(),
        &["methods", "logs", "--follow", "-o", "json"],
        space.folder(),
    );
    let mut first_only = follow(
        "sh",
        &["-c", "\"$SVC\" space logs lab -f | head -1"],
        server.home(),
    );
    for text in ["one", "two", "three"] {
        say(text).await;
        let ends = |process: &Process, end: &str| {
            let lines = process.stdout();
            lines.iter().filter(|line| line.contains(end)).count() == 1
        };
        eventually("both processes print the line once", SOON, || async {
            ends(&all, text) && ends(&inside, &format!("\"line\":\"{text}\""))
        })
        .await;
    }
    // `head` exits after one line. The next write of `svc` fails, and `svc` ends.
    assert_eq!(first_only.wait_for_exit(SOON).await.code(), Some(0));
    for process in [&mut all, &mut inside] {
        process.interrupt();
        assert_ne!(process.wait_for_exit(SOON).await.code(), Some(0));
    }
}

#[tokio::test]
async fn starting_a_space_can_wait_for_its_agent() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let svc = || server.cli(&ann);
    svc().run(&["space", "stop", "lab"]).await.expect(0);
    let wait = ["space", "start", "lab", "--wait", "--timeout", "0.3"];
    let late = svc().run(&wait).await.expect(8);
    assert!(late.stderr.contains("0.3 s"), "{}", late.stderr);
    svc().run(&["space", "stop", "lab"]).await.expect(0);
    let agent = space.spawn_agent(&[]);
    let started = svc()
        .run(&["space", "start", "lab", "--wait"])
        .await
        .expect(0);
    assert!(started.stderr.contains("deployed"), "{}", started.stderr);
    agent.wait_until_linked().await;
}

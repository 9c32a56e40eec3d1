//! Registering, replacing and removing methods (spec 2.1, 4.3).

use std::path::Path;

use serde_json::{Value, json};
use svc_link::Control;
use svc_testkit::{
    Cli, RawLink, RegistrationToml, TestAgent, TestServer, TestUser, fixture,
    fixture_method_server, method, result, simulated_registration,
};

use crate::SOON;

/// Checks that a registration is refused with all texts of `said`, and that the earlier
/// registration stays active.
async fn check_refused(
    user: &TestUser,
    agent: &TestAgent,
    registration: impl ToString,
    said: &[&str],
) {
    let pid = agent.method_server_pid().await;
    let text = registration.to_string();
    let refused = agent.register(&text).await;
    assert_eq!(refused.code, 6, "to {text}\n{}", refused.stderr);
    assert!(refused.stdout.is_empty(), "{}", refused.stdout);
    for said in said {
        assert!(
            refused.stderr.contains(said),
            "`{said}` in: {}",
            refused.stderr
        );
    }
    assert_eq!(
        result(&user.call("whoami", json!({})).await),
        pid,
        "after {text}"
    );
    assert_eq!(user.method_names().await, ["whoami"], "after {text}");
}

fn whoami() -> RegistrationToml {
    fixture().with(method("whoami", "pid"))
}

#[tokio::test]
async fn s2_1_s7_a_refused_registration_leaves_the_old_one_active() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (space, other) = (ann.space("lab").await, ann.space("other").await);
    let agent = space.publish(whoami()).await;
    let one = |method| fixture().with(method);
    let echo = || method("echo", "echo");

    let unknown_group = one(echo().shared().groups(&["ghosts"]));
    check_refused(
        &ann,
        &agent,
        unknown_group,
        &["`ghosts`", "does not exist", "svc group create"],
    )
    .await;
    let bad_schema = one(echo().line("params_schema", r#"{ type = "text" }"#));
    check_refused(
        &ann,
        &agent,
        bad_schema,
        &["methods.toml:9:", "params_schema", "text"],
    )
    .await;
    let remote = one(echo().line("params_schema", r#"{ "$ref" = "https://example.com/x" }"#));
    check_refused(&ann, &agent, remote, &["methods.toml:9:", "$ref"]).await;
    let bad_pattern = one(echo().line("events", r#"["a.*.b"]"#));
    check_refused(&ann, &agent, bad_pattern, &["methods.toml:9:", "a.*.b"]).await;
    let missing = RegistrationToml::of(Path::new("no-such-program"), &[]).plain("echo");
    check_refused(&ann, &agent, missing, &["no-such-program"]).await;
    let missing = RegistrationToml::of(Path::new("./no/such/file"), &[]).plain("echo");
    check_refused(&ann, &agent, missing, &["./no/such/file"]).await;
    // As a server of scripts, the process has 10 s to end. A busy machine may need longer than the
    // 300 ms of other programs.
    std::os::unix::fs::symlink("/bin/sh", space.folder().join("svc")).unwrap();
    let script = "echo the ink is out >&2; exit 3";
    let args = ["-c", script, "run-script", "--json-rpc"];
    let early = RegistrationToml::of(Path::new("./svc"), &args).plain("echo");
    check_refused(&ann, &agent, early, &["the ink is out", "3"]).await;
    let twice = fixture().plain("echo").plain("echo");
    check_refused(&ann, &agent, twice, &["`echo`"]).await;
    check_refused(&ann, &agent, fixture(), &["method"]).await;

    let _other = other.publish(one(echo().description("as it was"))).await;
    let refused = agent
        .register(one(echo().description("not the same")))
        .await
        .expect(6);
    assert!(refused.stderr.contains("`other`"), "{}", refused.stderr);
    result(&ann.call("whoami", json!({})).await);
    result(&ann.call("echo", json!({})).await);
}

#[tokio::test]
async fn s2_1_errors_in_the_file_are_shown_with_line_and_column() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(whoami()).await;
    let good = whoami().to_string();
    let faults = [
        ("[server".to_owned(), "methods.toml:1:8:"),
        (
            good.replace("args", "arg"),
            "methods.toml:3:1: unknown field `arg`",
        ),
        (
            good.replace("name = \"whoami\"", "name = \"who am i\""),
            "methods.toml:6:8:",
        ),
        (
            good.replace("name = \"whoami\"", "name = \"rpc.x\""),
            "methods.toml:6:8:",
        ),
        (
            good.replace("name = \"whoami\"", "name = \"user.ann.x\""),
            "methods.toml:6:8:",
        ),
        (
            good.replace("[server]", "[server]\ntimeout = 0"),
            "methods.toml:2:11: timeout 0",
        ),
        (
            good.replace("[server]", "[server]\ntimeout = 3601"),
            "methods.toml:2:11:",
        ),
        (
            good.replace("[server]", "[server]\nmode = \"parallel\""),
            "methods.toml:2:8:",
        ),
        (
            good.replace("[server]", "[server]\ntype = \"http\""),
            "methods.toml:2:8:",
        ),
        (
            good.replace("local_name = \"pid\"\n", ""),
            "methods.toml:5:1:",
        ),
        (
            good.replace("[server]", "version = 2\n[server]"),
            "methods.toml:1:11:",
        ),
    ];
    for (text, place) in faults {
        check_refused(&ann, &agent, &text, &[place]).await;
        // Without a server, the file is refused with the same position.
        space.write("methods.toml", &text);
        let checked = Cli::new(space.folder())
            .run(&["methods", "validate", "methods.toml"])
            .await
            .expect(6);
        assert!(
            (checked.stdout + &checked.stderr).contains(place),
            "{place}"
        );
    }
    space.write("methods.toml", &good);
    Cli::new(space.folder())
        .run(&["methods", "validate", "methods.toml"])
        .await
        .expect(0);
    let absent = agent
        .cli()
        .run(&["methods", "register", "absent.toml"])
        .await;
    assert_ne!(absent.code, 0);
    assert!(absent.stderr.contains("absent.toml"), "{}", absent.stderr);
}

#[tokio::test]
async fn s2_1_the_space_placeholder_becomes_the_name_of_the_space() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    let registration = fixture().with(method("{{space}}.notes.{{space}}", "env"));
    let _first = one.publish(&registration).await;
    let _second = two.publish(&registration).await;
    assert_eq!(ann.method_names().await, ["one.notes.one", "two.notes.two"]);
    let ask = json!({"name": "SVC_SPACE_NAME"});
    assert_eq!(result(&ann.call("two.notes.two", ask).await), "two");
}

#[tokio::test]
async fn s2_1_a_method_server_runs_in_the_folder_of_its_file_without_the_agent_token() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    // A command with a `/` is relative to the file. The working folder is the folder of the file.
    let folder = space.folder().join("deep");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(fixture_method_server(), folder.join("serve")).unwrap();
    let registration = RegistrationToml::of(Path::new("./serve"), &[])
        .env("INK", "blue")
        .plain("environment")
        .plain("cwd");
    std::fs::write(folder.join("own.toml"), registration.to_string()).unwrap();
    agent
        .cli()
        .run(&["methods", "register", "deep/own.toml"])
        .await
        .expect(0);

    let response = ann.call("cwd", json!({})).await;
    let cwd = result(&response).as_str().unwrap().to_owned();
    assert_eq!(
        Path::new(&cwd).canonicalize().unwrap(),
        folder.canonicalize().unwrap()
    );
    let response = ann.call("environment", json!({})).await;
    let environment = result(&response);
    let discovery = agent.discovery().await;
    assert_eq!(environment["INK"], "blue");
    assert_eq!(environment["SVC_SPACE_ID"], space.id);
    assert_eq!(environment["SVC_SPACE_NAME"], "lab");
    assert_eq!(environment["SVC_AGENT_URL"], discovery["agent_url"]);
    assert_eq!(environment["SVC_AGENT_SOCKET"], discovery["agent_socket"]);
    assert!(
        !environment.to_string().contains(&space.agent_token),
        "{environment}"
    );
}

#[tokio::test]
async fn s4_3_the_methods_file_is_registered_once_at_startup() {
    let registration = fixture().with(method("{{space}}.echo", "echo")).to_string();
    registers_by_flag_variable_and_setting("own.toml", &registration).await;
}

/// Registers a file in each of the three ways to name it. The file publishes `{{space}}.echo`.
pub async fn registers_by_flag_variable_and_setting(file: &str, text: &str) {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (by_flag, by_env, by_config) = (
        ann.space("flag").await,
        ann.space("env").await,
        ann.space("config").await,
    );
    for space in [&by_flag, &by_env, &by_config] {
        space.write(file, text);
    }
    let _flag = by_flag.agent_with(&["--methods-file", file]).await;
    let mut command = by_env.agent_command(by_env.folder());
    command
        .args(["--listen", "127.0.0.1:0"])
        .env("SVC_METHODS_FILE", file);
    let _env = by_env.spawn_command(by_env.folder(), command);
    by_config.write("svc.toml", &format!("[agent]\nmethods_file = \"{file}\"\n"));
    let _config = by_config.agent().await;
    for space in [&by_flag, &by_env, &by_config] {
        space.wait_for_registration("active", SOON).await;
        let name = format!("{}.echo", space.name);
        result(&ann.call(&name, json!({})).await);
    }
}

#[tokio::test]
async fn s4_3_s7_a_failing_methods_file_is_logged_and_the_agent_keeps_serving() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    space.write(
        "bad.toml",
        &fixture().with(method("a b", "echo")).to_string(),
    );
    for (file, said) in [("bad.toml", "bad.toml:6:8"), ("absent.toml", "absent.toml")] {
        let mut agent = space.agent_with(&["--methods-file", file]).await;
        agent.process().wait_for_log(said, SOON).await;
        let refused = space.wait_for_registration("refused", SOON).await;
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains(said), "{error}");
        let svc = server.cli(&ann);
        let shown = svc.run(&["space", "get", "lab"]).await.expect(0);
        assert!(shown.stdout.contains("refused: "), "{}", shown.stdout);
        agent.register(fixture().plain("echo")).await.expect(0);
        assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
        assert_eq!(agent.stop().await.code(), Some(0));
    }
}

#[tokio::test]
async fn s2_1_warnings_are_shown_and_the_registration_succeeds() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let registration = fixture()
        .with(
            method("echo", "echo")
                .groups(&[])
                .line("event_sinks", r#"["later"]"#)
                .line("events", r#"["custom.*"]"#),
        )
        .with(method(&format!("long.{}", "x".repeat(60)), "echo").mcp_tool());
    let said = agent.register(registration).await.expect(0);
    for warned in ["`later`", "long_"] {
        assert!(said.stderr.contains(warned), "{warned} in {}", said.stderr);
    }
    let document: Value = ann.find_method("echo").await.unwrap();
    assert_eq!(document["event_sinks"], json!(["later"]));
    assert_eq!(document["events"], json!(["custom.*"]));
}

#[tokio::test]
async fn registrations_of_one_owner_are_limited_and_come_back_after_a_restart() {
    let mut server = TestServer::builder()
        .config("registrations_per_minute = 3")
        .start()
        .await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    // The first registration on a link is not counted.
    for _ in 0..4 {
        agent.register(whoami()).await.expect(0);
    }
    let said = ["`registrations_per_minute`", "register again in"];
    check_refused(&ann, &agent, fixture().plain("pid"), &said).await;
    let _other = ben
        .space("lab")
        .await
        .publish(fixture().plain("echo"))
        .await;
    server.restart().await;
    space.wait_for_registration("active", 2 * SOON).await;
    result(&ann.call("whoami", json!({})).await);
}

/// A registration that changes nothing costs a check too.
#[tokio::test]
async fn a_registration_that_an_agent_repeats_is_counted_except_on_a_new_link() {
    let server = TestServer::builder()
        .config("registrations_per_minute = 1")
        .start()
        .await;
    let ann = server.user("ann").await;
    let spaces = [ann.space("one").await, ann.space("two").await];
    // As after restarts of a proxy: all agents link and register again.
    for _ in 0..3 {
        for space in &spaces {
            let _link = RawLink::publish(server.address(), &space.agent_token, 2).await;
        }
    }
    let mut link = RawLink::publish(server.address(), &spaces[0].agent_token, 2).await;
    let again = link.register(simulated_registration(2)).await;
    assert!(matches!(again, Control::Registered(_)), "{again:?}");
    for _ in 0..3 {
        match link.register(simulated_registration(2)).await {
            Control::RegisterRefused { problem } => {
                assert_eq!(problem.code, "too_many_registrations");
            }
            accepted => panic!("{accepted:?}"),
        }
    }
    let mut other = RawLink::publish(server.address(), &spaces[1].agent_token, 2).await;
    let refused = other.register(simulated_registration(2)).await;
    let is_refused = matches!(refused, Control::RegisterRefused { .. });
    assert!(is_refused, "{refused:?}");
    assert_eq!(ann.method_names().await.len(), 4, "no method is lost");
}

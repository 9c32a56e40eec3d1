//! The command line (spec 4.3): output, exit codes, params, help, and credentials inside a space.

use serde_json::{Value, json};
use svc_testkit::{
    Cli, TempDir, TestAgent, TestServer, TestSpace, TestUser, eventually, fixture, method,
};

use crate::SOON;

struct Desk {
    agent: TestAgent,
    space: TestSpace,
    ann: TestUser,
    server: TestServer,
}

impl Desk {
    async fn new() -> Self {
        let server = TestServer::start().await;
        let ann = server.user("ann").await;
        let space = ann.space("lab").await;
        let registration = fixture()
            .timeout(5)
            .with(method("echo", "echo").shared().keywords(&["parrot"]))
            .plain("fail")
            .plain("never")
            .plain("crash")
            .plain("push")
            .plain("pushed");
        let agent = space.publish(registration).await;
        Self {
            agent,
            space,
            ann,
            server,
        }
    }

    fn svc(&self) -> Cli {
        self.server.cli(&self.ann)
    }
}

/// An address without a server.
const NOWHERE: &str = "http://127.0.0.1:9";

#[tokio::test]
async fn s4_3_each_outcome_has_its_exit_code() {
    let mut desk = Desk::new().await;
    let call = |args: &'static [&'static str]| {
        let svc = desk.svc();
        async move { svc.run(&[&["method", "call"], args].concat()).await }
    };
    call(&["echo", "{}"]).await.expect(0);
    // A response is data, even an error, so it goes to stdout.
    let failed = call(&["fail", r#"{"code":-7,"message":"no ink"}"#])
        .await
        .expect(3);
    assert_eq!(failed.json()["error"]["message"], "no ink");
    call(&["missing", "{}"]).await.expect(5);
    let out_of_time = call(&["never", "{}"]).await.expect(8);
    assert_eq!(out_of_time.json()["error"]["code"], -32001);
    call(&["crash", "{}"]).await.expect(7);
    call(&["echo", "{"]).await.expect(2);
    call(&["echo", "7"]).await.expect(2);
    call(&["echo", "{}", "--batch"]).await.expect(2);
    call(&["--nonsense"]).await.expect(2);
    desk.svc()
        .run(&["method", "list", "missing"])
        .await
        .expect(5);
    desk.svc().run(&["space", "create", "lab"]).await.expect(6);
    desk.svc()
        .run(&["space", "create", "Not A Name"])
        .await
        .expect(6);
    desk.svc().run(&["space", "get", "nowhere"]).await.expect(5);
    desk.svc().run(&["user", "list"]).await.expect(4);
    desk.svc()
        .env("SVC_TOKEN", "svc_pat_wrong")
        .run(&["method", "list"])
        .await
        .expect(4);
    let nowhere = desk
        .svc()
        .env("SVC_URL", NOWHERE)
        .run(&["method", "list"])
        .await
        .expect(7);
    assert!(
        nowhere.stdout.is_empty() && nowhere.stderr.contains("127.0.0.1:9"),
        "{nowhere:?}"
    );
    assert!(
        nowhere.stderr.trim().lines().count() <= 3,
        "{}",
        nowhere.stderr
    );

    desk.agent.kill9();
    eventually("calls are unreachable", SOON, || async {
        desk.svc().run(&["method", "call", "echo", "{}"]).await.code == 7
    })
    .await;
    // A folder without an agent.
    let folder = TempDir::new().unwrap();
    let lost = Cli::new(folder.path())
        .run(&["methods", "unregister"])
        .await
        .expect(7);
    assert!(lost.stderr.contains("hint: "), "{}", lost.stderr);
}

#[tokio::test]
async fn a_method_that_its_method_server_does_not_know_is_an_error_of_the_method() {
    let desk = Desk::new().await;
    let unknown = r#"{"code":-32601,"message":"Method not found"}"#;
    let expected =
        "hint: the method server of `fail` does not know this method; is `local_name` right?\n";
    let call = async |args: &[&str]| desk.svc().run(&[&["method", "call"], args].concat()).await;
    let said = call(&["fail", unknown]).await.expect(3);
    assert_eq!(said.json()["error"]["code"], -32601);
    assert_eq!(said.stderr, expected);
    let said = call(&["fail", unknown, "--result"]).await.expect(3);
    assert!(
        said.stdout.is_empty() && said.stderr.ends_with(expected),
        "{said:?}"
    );
    let batch = format!("[{unknown},{unknown}]");
    let said = call(&["fail", &batch, "--batch"]).await.expect(3);
    assert_eq!(said.stderr, expected);
    // A method that the caller does not see.
    let said = call(&["missing", "{}"]).await.expect(5);
    assert!(!said.stderr.contains("local_name"), "{}", said.stderr);
}

#[tokio::test]
async fn a_call_without_an_answer_in_time_may_still_be_running() {
    let desk = Desk::new().await;
    let said = desk
        .svc()
        .run(&["method", "call", "never", "{}", "--timeout", "0.5"])
        .await
        .expect(8);
    let expected = "error: `never` did not answer within 0.5 s; it may still be running\n";
    assert!(said.stderr.starts_with(expected), "{}", said.stderr);
}

#[tokio::test]
async fn s4_3_params_come_from_the_argument_or_stdin_and_pass_unchanged() {
    let desk = Desk::new().await;
    let raw = r#"{"b":9007199254740993,"a":1.10,"é":null}"#;
    let response = format!("{{\"jsonrpc\":\"2.0\",\"result\":{raw},\"id\":1}}\n");
    let argument = desk
        .svc()
        .run(&["method", "call", "echo", raw])
        .await
        .expect(0);
    assert_eq!(argument.stdout, response);
    let piped = desk
        .svc()
        .input(raw)
        .run(&["method", "call", "echo"])
        .await
        .expect(0);
    assert_eq!(piped.stdout, response);
    let dash = desk
        .svc()
        .input(raw)
        .run(&["method", "call", "echo", "-", "--result"])
        .await
        .expect(0);
    assert_eq!(dash.stdout, format!("{raw}\n"));
    for empty in ["", " \n"] {
        let said = desk
            .svc()
            .input(empty)
            .run(&["method", "call", "echo", "--result"])
            .await
            .expect(0);
        assert_eq!(said.stdout, "{}\n");
    }
    // Invalid arguments are reported before any request.
    for wrong in ["{", "nonsense", "\"text\"", "{} {}"] {
        let svc = desk.svc().env("SVC_URL", NOWHERE);
        let said = svc.run(&["method", "call", "echo", wrong]).await.expect(2);
        assert!(said.stdout.is_empty(), "{said:?}");
    }
}

#[tokio::test]
async fn s4_3_a_batch_makes_one_call_per_element() {
    let desk = Desk::new().await;
    let svc = || desk.svc();
    let expected = json!([
        {"jsonrpc": "2.0", "result": {"n": 1}, "id": 1},
        {"jsonrpc": "2.0", "result": {"n": 2}, "id": 2},
    ]);
    let params = r#"[{"n":1},{"n":2}]"#;
    for args in [
        &["method", "call", "echo", "--batch", params][..],
        &["method", "call", "echo", params, "--batch"],
    ] {
        assert_eq!(svc().run(args).await.expect(0).json(), expected);
    }
    let piped = svc()
        .input(params)
        .run(&["method", "call", "echo", "--batch"])
        .await
        .expect(0);
    assert_eq!(piped.json(), expected);
    let errors = r#"[{"code":1,"message":"a"},{"code":2,"message":"b"}]"#;
    let failed = svc()
        .run(&["method", "call", "fail", "--batch", errors])
        .await
        .expect(3);
    assert_eq!(failed.json()[1]["error"]["message"], "b");
    // More than a thousand calls are split into several requests; the output is one array.
    let many: Vec<_> = (1..=1_500).map(|n| json!([n])).collect();
    let many = Value::from(many).to_string();
    let said = svc()
        .input(&many)
        .run(&["method", "call", "echo", "--batch"])
        .await
        .expect(0)
        .json();
    let answers = said.as_array().unwrap();
    assert_eq!(answers.len(), 1_500);
    for (index, answer) in answers.iter().enumerate() {
        assert_eq!(answer["id"], index + 1);
        assert_eq!(answer["result"], json!([index + 1]));
    }
}

#[tokio::test]
async fn s4_3_a_notification_prints_nothing() {
    let desk = Desk::new().await;
    let said = desk
        .svc()
        .run(&["method", "call", "push", "[1]", "--notify"])
        .await
        .expect(0);
    assert!(said.stdout.is_empty(), "{said:?}");
    eventually("the notification arrives", SOON, || async {
        desk.ann.call("pushed", json!({})).await["result"] == json!([[1]])
    })
    .await;
}

#[tokio::test]
async fn s4_3_lists_and_details_are_printed_as_table_json_or_yaml() {
    let desk = Desk::new().await;
    let api = desk.ann.get("/api/methods").await.expect(200).json();
    let listed = desk
        .svc()
        .run(&["method", "list", "-o", "json"])
        .await
        .expect(0);
    assert_eq!(listed.json(), api);
    let yaml = desk
        .svc()
        .run(&["method", "list", "-o", "yaml"])
        .await
        .expect(0);
    assert!(yaml.stdout.starts_with("count: 6\n"), "{}", yaml.stdout);
    let table = desk.svc().run(&["method", "list"]).await.expect(0);
    assert!(
        table.stdout.contains("echo") && !table.stdout.contains('\u{1b}'),
        "{}",
        table.stdout
    );
    let detail = desk.svc().run(&["method", "list", "echo"]).await.expect(0);
    for shown in ["echo", "ann", "shared", "parrot", "1"] {
        assert!(
            detail.stdout.contains(shown),
            "{shown} in {}",
            detail.stdout
        );
    }
    let admin = desk.server.admin().await;
    for resource in [
        "user", "group", "role", "token", "space", "template", "audit",
    ] {
        let listed = desk
            .server
            .cli(&admin)
            .run(&[resource, "list", "-o", "json"])
            .await
            .expect(0)
            .json();
        assert!(listed.is_object(), "{resource}: {listed}");
        desk.server
            .cli(&admin)
            .run(&[resource, "list"])
            .await
            .expect(0);
        desk.server
            .cli(&admin)
            .run(&[resource, "list", "-o", "yaml"])
            .await
            .expect(0);
    }
    let space = desk
        .svc()
        .run(&["space", "get", "lab", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(space["id"], desk.space.id);
    let by_id = desk
        .svc()
        .run(&["space", "get", &desk.space.id, "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(by_id["name"], "lab");
}

#[tokio::test]
async fn s4_3_commands_inside_a_space_use_the_credential_of_the_agent() {
    let desk = Desk::new().await;
    let listed = desk
        .agent
        .cli()
        .run(&["method", "list", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(listed["count"], 6);
    let said = desk
        .agent
        .cli()
        .run(&["method", "call", "echo", "[1]", "--result"])
        .await
        .expect(0);
    assert_eq!(said.stdout, "[1]\n");
    // An explicit address and token have priority.
    let ben = desk.server.user("ben").await;
    let svc = desk
        .agent
        .cli()
        .env("SVC_URL", desk.server.url())
        .env("SVC_TOKEN", &ben.token);
    let listed = svc
        .run(&["method", "list", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(listed["methods"][0]["name"], "user.ann.echo");
}

#[tokio::test]
async fn s4_3_help_begins_with_an_example() {
    let home = TempDir::new().unwrap();
    let svc = || Cli::new(home.path());
    for command in [
        &["--help"][..],
        &["method", "call", "--help"],
        &["up", "--help"],
        &["backup", "--help"],
    ] {
        let said = svc().run(command).await.expect(0);
        let first = said.stdout.trim_start().lines().next().unwrap().to_owned();
        assert!(first.starts_with("svc "), "{command:?}: {first}");
    }
    let bash = svc().run(&["completions", "bash"]).await.expect(0);
    assert!(bash.stdout.contains("svc"));
    svc().run(&["version"]).await.expect(0);
    svc().run::<&str>(&[]).await.expect(2);
}

#[tokio::test]
async fn the_licences_of_third_party_software_are_in_the_program() {
    let home = TempDir::new().unwrap();
    let licenses = Cli::new(home.path()).run(&["version", "--licenses"]).await;
    let text = licenses.expect(0).stdout;
    for part in [
        "Third-party software in svc",
        "rustls@",
        "sqlite@",
        "preact@",
        "rust-std",
    ] {
        assert!(text.contains(part), "`{part}` is missing");
    }
}

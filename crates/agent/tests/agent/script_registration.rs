//! Registrations that a script built. The agent gets them as objects, not as TOML text.

use serde_json::{Value, json};
use svc_link::FrameKind;
use svc_protocol::agent_api::RegisterFile;

use crate::{
    fake_server::{FakeLink, FakeServer},
    test_agent::{TestAgent, eventually},
};

/// A method server that answers every call with 5. It writes its working folder to the file
/// `where`.
const SERVE: &str = r#"pwd > where
while read -r line; do
  id=${line##*:}
  echo "{\"id\":${id%\}},\"result\":5}"
done"#;

fn registration(method: &str) -> Value {
    json!({
        "server": {"command": "sh", "args": ["-c", SERVE]},
        "methods": [{"name": method, "local_name": "a", "description": "A"}],
    })
}

fn asked(path: String, registration: Value) -> RegisterFile {
    RegisterFile {
        path,
        text: None,
        registration: Some(serde_json::from_value(registration).expect("a registration")),
        replace_conflicting: false,
    }
}

async fn linked(server: &FakeServer) -> (TestAgent, FakeLink) {
    let agent = TestAgent::start(&server.url(), None);
    let link = server.link().await;
    let client = agent.client();
    eventually("linked", async || {
        client.status().await.is_ok_and(|status| status.linked)
    })
    .await;
    (agent, link)
}

#[tokio::test]
async fn an_object_is_registered_and_runs_beside_its_script() {
    let server = FakeServer::start().await;
    let (agent, mut link) = linked(&server).await;
    let folder = agent.path().join("sub");
    std::fs::create_dir(&folder).expect("a folder");
    // A method server runs in the folder of its script. The exception is the startup script: it is
    // in `.svc`, and its method server runs in the space's folder.
    let cases = [
        ("sub/m.py", folder.as_path()),
        (".svc/startup.py", agent.path()),
    ];
    for (generation, (script, ran_in)) in (1..).zip(cases) {
        let client = agent.client();
        let path = agent.path().join(script).display().to_string();
        let file = asked(path, registration("{{space}}.a"));
        let registering = tokio::spawn(async move { client.register(&file).await });
        let register = link.accept_registration(1).await;
        assert_eq!(register.registration.methods[0].name, "{{space}}.a");
        let registered = registering.await.expect("runs").expect("is accepted");
        assert_eq!(registered.methods, ["lab.a"]);
        link.call(1, generation, "a").await;
        assert_eq!(link.answer().await, (1, FrameKind::Result, "5".into()));
        let found = std::fs::read_to_string(ran_in.join("where")).expect("written");
        assert_eq!(found.trim(), ran_in.display().to_string());
    }
    agent.stop().await;
}

#[tokio::test]
async fn errors_in_an_object_are_named_by_their_path() {
    let server = FakeServer::start().await;
    let (agent, _link) = linked(&server).await;
    let path = agent.path().join("m.py").display().to_string();
    let text = |text: Option<&str>, object: bool| RegisterFile {
        path: path.clone(),
        text: text.map(str::to_owned),
        registration: object.then(|| serde_json::from_value(registration("a")).expect("valid")),
        replace_conflicting: false,
    };
    let mut slow = registration("a");
    slow["server"]["timeout"] = json!(9_999);
    let cases = [
        (
            asked(path.clone(), registration("a b")),
            422,
            format!("{path}: methods[0].name: method name `a b`"),
        ),
        (
            asked(path.clone(), slow),
            422,
            format!("{path}: server.timeout: timeout 9999"),
        ),
        (
            text(Some("print()"), false),
            422,
            format!("`{path}` is a script"),
        ),
        (
            text(None, false),
            400,
            "either the `text` of a TOML file or a `registration`".into(),
        ),
        (
            text(Some(""), true),
            400,
            "either the `text` of a TOML file or a `registration`".into(),
        ),
    ];
    for (file, status, expected) in cases {
        let error = agent.client().register(&file).await.expect_err(&expected);
        assert_eq!(
            error.status().map(|it| it.as_u16()),
            Some(status),
            "{error}"
        );
        assert!(error.to_string().contains(&expected), "{error}");
    }
    agent.stop().await;
}

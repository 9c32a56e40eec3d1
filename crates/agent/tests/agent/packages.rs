//! The Python packages of the space: the agent serves them on its loopback listener, and the method
//! server can import them.

use std::{process::Command, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use rustix::process::{Pid, Signal, kill_process};
use svc_client::{Client, Target};
use svc_link::FrameKind;

use crate::{
    fake_server::FakeServer,
    test_agent::{TestAgent, eventually},
};

const LIBRARIES: &[(&str, &str, &str)] = &[
    ("global", "colours", "RED = 'global red'"),
    ("user", "notes", "TEXT = 'own notes'"),
    ("global", "notes", "TEXT = 'global notes'"),
    ("user", "colours", "RED = 'own red'"),
    ("global", "shapes", "SIDES = 3"),
    ("user", "../evil", "raise SystemExit"),
];

/// Waits until the agent is linked, and returns a client of its loopback listener.
async fn loopback(agent: &TestAgent) -> Client {
    let client = agent.client();
    let mut url = String::new();
    eventually("linked", async || match client.status().await {
        Ok(status) => {
            url = status.agent_url.unwrap_or_default();
            status.linked
        }
        Err(_) => false,
    })
    .await;
    Client::new(Target::parse(&url, None).expect("a URL"))
}

async fn get(client: &Client, name: &str, etag: Option<&str>) -> (u16, Option<String>, Bytes) {
    let mut headers = HeaderMap::new();
    if let Some(etag) = etag {
        headers.insert(header::IF_NONE_MATCH, etag.parse().expect("a header"));
    }
    let path = format!("/packages/{name}");
    let answer = client
        .send_raw(Method::GET, &path, headers, None, None)
        .await
        .expect("answers");
    if answer.status == 200 {
        assert_eq!(answer.headers[header::CONTENT_TYPE], "application/zip");
    }
    let etag = answer.headers.get(header::ETAG);
    let etag = etag.map(|etag| etag.to_str().expect("text").to_owned());
    (answer.status.as_u16(), etag, answer.body)
}

#[tokio::test]
async fn both_archives_are_served_and_sent_again_only_when_they_have_changed() {
    let server = FakeServer::start().await;
    server.api.set_libraries(LIBRARIES);
    let agent = TestAgent::start(&server.url(), None);
    let link = server.link().await;
    let client = loopback(&agent).await;
    let (status, etag, bytes) = get(&client, "svc-libraries.zip", None).await;
    assert_eq!(status, 200);
    assert_eq!(bytes, svc_script::package::svc_libraries());
    let (status, _, bytes) = get(&client, "svc-libraries.zip", etag.as_deref()).await;
    assert_eq!((status, bytes.len()), (304, 0));

    let (status, first, bytes) = get(&client, "user-libraries.zip", None).await;
    assert_eq!(status, 200);
    let expected = [
        ("colours.py", "RED = 'own red'"),
        ("notes.py", "TEXT = 'own notes'"),
        ("shapes.py", "SIDES = 3"),
    ];
    let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(bytes, svc_core::zip::archive(&expected));
    let first = first.expect("an entity tag");
    assert_eq!(
        get(&client, "user-libraries.zip", Some(&first)).await.0,
        304
    );
    server.api.set_libraries(&LIBRARIES[..1]);
    let (status, second, _) = get(&client, "user-libraries.zip", Some(&first)).await;
    assert_eq!(status, 200);
    assert_ne!(second.as_deref(), Some(first.as_str()));
    let (status, ..) = get(&client, "other.zip", None).await;
    assert_eq!(status, 404);

    // If the server fails or cannot be reached, the agent serves the last known libraries.
    server.api.fail_with(Some(500));
    let known = get(&client, "user-libraries.zip", None).await;
    assert_eq!((known.0, known.1), (200, second.clone()));
    drop((link, server));
    let status = agent.client();
    eventually("unlinked", async || {
        status.status().await.is_ok_and(|status| !status.linked)
    })
    .await;
    let known = get(&client, "user-libraries.zip", second.as_deref()).await;
    assert_eq!(known.0, 304);
    agent.stop().await;
}

#[tokio::test]
async fn libraries_that_were_never_read_are_unavailable() {
    let server = FakeServer::start().await;
    server.api.fail_with(Some(500));
    let agent = TestAgent::start(&server.url(), None);
    let _link = server.link().await;
    let client = loopback(&agent).await;
    let (status, _, body) = get(&client, "user-libraries.zip", None).await;
    assert_eq!(status, 503);
    let body = String::from_utf8_lossy(&body);
    assert!(body.contains("libraries_unavailable"), "{body}");
    assert_eq!(get(&client, "svc-libraries.zip", None).await.0, 200);
    agent.stop().await;
}

#[tokio::test]
async fn a_method_server_in_python_imports_libraries_without_installation() {
    let has_python = Command::new("python3").arg("--version").output();
    if !has_python.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no python3");
        return;
    }
    let server = FakeServer::start().await;
    server.api.set_libraries(LIBRARIES);
    let methods = r#"
[server]
command = "python3"
args = ["serve.py"]
env = { PYTHONPATH = "mine" }

[[methods]]
name = "a"
local_name = "a"
description = "A"
"#;
    let program = r#"
import json, os, sys, svc, notes, colours
first = os.environ["PYTHONPATH"].split(":")[0]
for line in sys.stdin:
    result = [svc.__name__, notes.TEXT, colours.RED, first]
    print(json.dumps({"id": json.loads(line)["id"], "result": result}), flush=True)
"#;
    let agent = TestAgent::start_with(&server.url(), |folder, options| {
        std::fs::write(folder.join("methods.toml"), methods).expect("written");
        std::fs::write(folder.join("serve.py"), program).expect("written");
        std::fs::create_dir(folder.join("mine")).expect("a folder");
        std::fs::write(folder.join("mine/colours.py"), "RED = 'mine'").expect("written");
        options.methods_file = Some("methods.toml".into());
        // On a busy machine, an update of the libraries may take long.
        options.policy.packages_wait = Duration::from_secs(60);
        options.policy.packages_restart_wait = Duration::from_secs(60);
    });
    let mut link = server.link().await;
    link.accept_registration(1).await;
    link.call(1, 1, "a").await;
    let (_, kind, result) = link.answer().await;
    assert_eq!(kind, FrameKind::Result, "{:?}", link.log);
    assert_eq!(result, r#"["svc", "own notes", "mine", "mine"]"#);

    // A restarted method server finds the current libraries.
    server
        .api
        .set_libraries(&[("user", "notes", "TEXT = 'new notes'")]);
    let client = agent.client();
    let pid = async || {
        let status = client.status().await.expect("a status");
        status.method_server.and_then(|server| server.pid)
    };
    let first = pid().await.expect("it runs");
    let group = Pid::from_raw(i32::try_from(first).expect("fits")).expect("positive");
    kill_process(group, Signal::KILL).expect("it runs");
    eventually("restarted", async || {
        pid().await.is_some_and(|pid| pid != first)
    })
    .await;
    link.call(2, 1, "a").await;
    let (_, _, result) = link.answer().await;
    assert_eq!(result, r#"["svc", "new notes", "mine", "mine"]"#);
    agent.stop().await;
}

//! The startup script and the methods file at an agent's first link. In these tests, the agent runs
//! `sh` in place of `svc`. So a command such as `svc methods …` runs a shell script with the name
//! of the command, `methods`.

use std::{fs, path::Path, time::Duration};

use svc_agent::{Exit, Options};
use svc_link::Control;
use svc_protocol::api::LogSource;

use crate::{
    fake_server::FakeServer,
    test_agent::{TestAgent, eventually},
};

const SPACE: &str = "/api/spaces/00000000-0000-0000-0000-000000000000";

/// An agent with a methods file in Python. `run` and `register` are shell scripts that replace the
/// commands `svc run-script` and `svc methods`.
fn scripted(server: &FakeServer, run: &str, register: &str) -> TestAgent {
    TestAgent::start_with(&server.url(), |folder: &Path, options: &mut Options| {
        let sub = folder.join("sub");
        fs::create_dir(&sub).expect("a folder");
        fs::write(folder.join("run-script"), run).expect("written");
        fs::write(sub.join("methods"), register).expect("written");
        options.methods_file = Some("sub/publish.py".into());
        // A test ends the failures of a server itself, also on a busy machine.
        options.policy.startup_script_tries = 1_000;
    })
}

#[tokio::test]
async fn the_startup_script_runs_first_then_the_methods_file_and_each_once() {
    let server = FakeServer::start().await;
    server.api.set_startup_script("startup", "print('hello')");
    let agent = scripted(
        &server,
        r#"echo "$1 holds $(cat $1) ($(stat -c %a $1))"; echo run >> order; pwd > where"#,
        r#"echo "$1 $2 in $SVC_SPACE_NAME"; echo register >> ../order; pwd > where; echo oops >&2; exit 6"#,
    );
    let mut link = server.link().await;
    let (source, line) = link.log_line("holds").await;
    assert_eq!(source, LogSource::Script);
    assert_eq!(line, ".svc/startup.py holds print('hello') (600)");
    let (source, _) = link.log_line("script `boot` is done").await;
    assert_eq!(source, LogSource::Agent);
    let file = agent.path().join("sub/publish.py").display().to_string();
    link.log_line(&format!("register {file} in lab")).await;
    assert_eq!(link.log_line("oops").await.0, LogSource::Script);
    link.log_line("publish.py` was not registered").await;
    let (source, _) = link.log_line("it failed (exit status: 6)").await;
    assert_eq!(source, LogSource::Agent);
    // The agent reports the refusal to the server, with the last output of the script.
    let refusal = link.refusal().await;
    assert!(
        refusal.contains("publish.py` was not registered"),
        "{refusal}"
    );
    assert!(refusal.ends_with("\noops"), "{refusal}");
    let read = |name: &str| fs::read_to_string(agent.path().join(name)).expect("written");
    assert_eq!(read("where").trim(), agent.path().display().to_string());
    assert_eq!(
        read("sub/where").trim(),
        agent.path().join("sub").display().to_string()
    );
    // On a second link, the agent does not run the scripts again. It repeats the refusal, because
    // another server may not know it.
    drop(link);
    let mut link = server.link().await;
    let (_, lost) = link.request().await;
    assert_eq!(lost, Control::RegistrationLost { error: refusal });
    let client = agent.client();
    eventually("linked again", async || {
        client.status().await.is_ok_and(|status| status.linked)
    })
    .await;
    eventually("the libraries were read again", async || {
        server.api.asked("/api/scripts?kind=library&limit=50") >= 4
    })
    .await;
    assert_eq!(read("order"), "run\nregister\n");
    assert_eq!(server.api.asked(SPACE), 1);
    agent.stop().await;
}

#[tokio::test]
async fn failures_of_the_startup_script_are_logged_and_the_agent_keeps_running() {
    let server = FakeServer::start().await;
    server.api.set_startup_script("startup", "");
    let agent = scripted(&server, "echo broken; exit 3", "echo registered");
    let mut link = server.link().await;
    link.log_line("script `boot`: it failed (exit status: 3)")
        .await;
    assert_eq!(link.log_line("registered").await.0, LogSource::Script);
    agent.stop().await;

    server.api.set_startup_script("library", "");
    let agent = scripted(&server, "echo never", "echo registered");
    let mut link = server.link().await;
    link.log_line("script `boot` is of kind `library`, not `startup`")
        .await;
    link.log_line("registered").await;
    assert!(!link.log.iter().any(|(_, line)| line == "never"));
    agent.stop().await;
}

#[tokio::test]
async fn a_failing_server_is_asked_again_and_a_refusing_server_is_not() {
    let server = FakeServer::start().await;
    server.api.set_startup_script("startup", "");
    server.api.fail_with(Some(503));
    let agent = scripted(&server, "echo ran", "echo registered");
    let mut link = server.link().await;
    eventually("asked twice", async || server.api.asked(SPACE) >= 2).await;
    server.api.fail_with(None);
    link.log_line("ran").await;
    agent.stop().await;

    server.api.fail_with(Some(403));
    let before = server.api.asked(SPACE);
    let agent = scripted(&server, "echo ran", "echo registered");
    let mut link = server.link().await;
    link.log_line("startup script could not be read from the server")
        .await;
    link.log_line("registered").await;
    assert_eq!(server.api.asked(SPACE), before + 1);
    agent.stop().await;
}

#[tokio::test]
async fn a_slow_startup_script_delays_the_methods_file_for_a_limited_time() {
    let server = FakeServer::start().await;
    server.api.set_startup_script("startup", "");
    let agent = TestAgent::start_with(&server.url(), |folder, options| {
        let run = "while [ ! -e end ]; do sleep 0.01; done";
        fs::write(folder.join("run-script"), run).expect("written");
        fs::write(folder.join("methods"), "echo registering").expect("written");
        options.methods_file = Some("publish.py".into());
        options.policy.startup_script_wait = Duration::from_millis(100);
    });
    let mut link = server.link().await;
    link.log_line("still running after 0.1 s").await;
    link.log_line("registering").await;
    link.log_line("publish.py` was run, and left no methods registered")
        .await;
    let is_done = |(_, line): &(_, String)| line.contains("`boot` is done");
    assert!(!link.log.iter().any(is_done));
    // The startup script continues to its end.
    fs::write(agent.path().join("end"), "").expect("written");
    link.log_line("script `boot` is done").await;
    agent.stop().await;
}

#[tokio::test]
async fn an_agent_that_stops_ends_its_startup_script() {
    let server = FakeServer::start().await;
    server.api.set_startup_script("startup", "");
    let agent = scripted(&server, "sleep 600 & echo started $!; wait", "exit 0");
    let mut link = server.link().await;
    let (_, line) = link.log_line("started").await;
    let pid = line.rsplit(' ').next().expect("a number").to_owned();
    let is_alive = move || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(is_alive());
    agent.stop().await;
    eventually("the script is gone", async || !is_alive()).await;
}

#[tokio::test]
async fn an_agent_that_requires_methods_ends_without_them() {
    let start = |server: &FakeServer, register: &str| {
        let methods = register.to_owned();
        TestAgent::start_with(&server.url(), move |folder, options| {
            fs::write(folder.join("methods"), methods).expect("written");
            options.methods_file = Some("publish.py".into());
            options.require_methods = true;
        })
    };
    for (register, expected) in [
        ("echo oops >&2; exit 6", "publish.py` was not registered"),
        ("echo nothing", "publish.py` left no methods registered"),
    ] {
        let server = FakeServer::start().await;
        let agent = start(&server, register);
        let _link = server.link().await;
        match agent.exit().await {
            Exit::NoMethods(why) => assert!(why.contains(expected), "{why}"),
            other => panic!("{other:?} after `{register}`"),
        }
    }
}

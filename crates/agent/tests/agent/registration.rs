//! Registering, replacing, registering again and unregistering, with calls in flight.

use std::time::Duration;

use svc_agent::Exit;
use svc_link::{Control, FrameKind};
use svc_protocol::{agent_api::RegisterFile, problem::Problem};

use crate::{
    fake_server::{FakeLink, FakeServer, control},
    test_agent::{TestAgent, eventually},
};

/// Writes the notification that ends the check for an early exit.
const READY: &str = r#"echo '{"jsonrpc":"2.0","method":"$/ready"}'"#;

/// A registration whose method server answers every call with `result`.
fn methods(result: &str, mode: &str) -> String {
    let script = format!(
        r#"echo $$ > pid; {READY}; while read -r line; do id=${{line##*\"id\":}}; echo "{{\"id\":${{id%\}}}},\"result\":{result}}}"; done"#
    );
    format!(
        r#"
[server]
command = "sh"
args = ["-c", '''{script}''']
mode = "{mode}"

[[methods]]
name = "{{{{space}}}}.a"
local_name = "a"
description = "A"

[[methods]]
name = "b"
local_name = "b"
description = "B"
"#
    )
}

fn file(agent: &TestAgent, text: &str) -> RegisterFile {
    RegisterFile {
        path: agent.path().join("methods.toml").display().to_string(),
        text: Some(text.to_owned()),
        registration: None,
        replace_conflicting: false,
    }
}

/// Starts an agent with a methods file, and with time limits for a busy machine.
fn start_with(server: &FakeServer, methods: &str) -> TestAgent {
    TestAgent::start_with(&server.url(), |folder, options| {
        std::fs::write(folder.join("methods.toml"), methods).expect("written");
        options.methods_file = Some("methods.toml".into());
        options.policy.start_check = Duration::from_secs(60);
        options.policy.shutdown_drain = Duration::from_secs(30);
    })
}

/// Starts an agent and accepts the registration of its methods file, with place 7.
async fn registered(server: &FakeServer) -> (TestAgent, FakeLink) {
    let agent = start_with(server, &methods("1", "concurrent"));
    let mut link = server.link().await;
    let register = link.accept_registration(7).await;
    assert_eq!((register.generation, register.place), (1, None));
    (agent, link)
}

#[tokio::test]
async fn the_methods_file_is_registered_once_linked_and_its_methods_answer() {
    let server = FakeServer::start().await;
    let (agent, mut link) = registered(&server).await;
    link.call(1, 1, "a").await;
    assert_eq!(link.answer().await, (1, FrameKind::Result, "1".into()));
    link.call(2, 99, "a").await;
    assert_eq!(link.answer().await.1, FrameKind::Unavailable);
    let status = agent.client().status().await.expect("a status");
    assert_eq!(status.methods, ["lab.a", "b"]);
    agent.stop().await;
}

#[tokio::test]
async fn after_a_lost_link_the_agent_registers_again_with_its_position_and_process() {
    let server = FakeServer::start().await;
    let (agent, link) = registered(&server).await;
    let pid = std::fs::read_to_string(agent.path().join("pid")).expect("it runs");
    drop(link);
    let mut link = server.link().await;
    let (id, register) = link.register().await;
    assert_eq!((register.generation, register.place), (1, Some(7)));
    let problem = Problem::new(409, "conflict", "Conflict", "`b` is taken");
    link.control(id, &Control::RegisterRefused { problem })
        .await;
    let (_, lost) = link.request().await;
    assert!(
        matches!(&lost, Control::RegistrationLost { error } if error == "`b` is taken"),
        "{lost:?}"
    );
    let client = agent.client();
    let error = client.status().await.expect("a status").registration_error;
    assert_eq!(error.as_deref(), Some("`b` is taken"));
    let register = link.accept_registration(7).await;
    assert_eq!(register.place, Some(7));
    link.call(1, 1, "a").await;
    assert_eq!(link.answer().await.1, FrameKind::Result);
    let error = client.status().await.expect("a status").registration_error;
    assert_eq!(error, None);
    let same = std::fs::read_to_string(agent.path().join("pid")).expect("it runs");
    assert_eq!(pid, same);
    agent.stop().await;
}

#[tokio::test]
async fn a_replacement_takes_over_without_a_lost_call() {
    for mode in ["concurrent", "serial"] {
        let server = FakeServer::start().await;
        let (agent, mut link) = registered(&server).await;
        for generation in 2..5u32 {
            let client = agent.client();
            let file = file(&agent, &methods(&generation.to_string(), mode));
            let registering = tokio::spawn(async move { client.register(&file).await });
            let old = generation - 1;
            link.call(1, old, "a").await;
            assert_eq!(link.answer().await.1, FrameKind::Result);
            let register = link.accept_registration(8).await;
            assert_eq!((register.generation, register.place), (generation, None));
            // One call to the old process and one call to the new process, at the same time.
            link.call(2, old, "a").await;
            link.call(3, generation, "a").await;
            let mut answers = [link.answer().await, link.answer().await];
            answers.sort_by_key(|(frame, ..)| *frame);
            assert_eq!(answers[0].1, FrameKind::Result);
            assert_eq!(answers[1], (3, FrameKind::Result, generation.to_string()));
            let registered = registering.await.expect("runs").expect("is accepted");
            assert_eq!(registered.methods, ["lab.a", "b"]);
        }
        agent.stop().await;
    }
}

#[tokio::test]
async fn a_refused_registration_leaves_the_old_one_active() {
    let server = FakeServer::start().await;
    let (agent, mut link) = registered(&server).await;
    let good = methods("2", "concurrent");
    let cases = [
        (good.replace("description = \"A\"", ""), "methods.toml:"),
        (good.replace("name = \"b\"", "name = \"b b\""), "`b b`"),
        (
            good.replace("\"sh\"", "\"no-such-thing\""),
            "`no-such-thing`",
        ),
        (good.replace("\"sh\"", "\"./none\""), "`./none`"),
        (
            good.replace("echo $$ > pid;", "echo oh no >&2; exit 9;"),
            "oh no",
        ),
    ];
    for (text, expected) in cases {
        let error = agent.client().register(&file(&agent, &text)).await;
        let error = error.expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let client = agent.client();
    let asked = file(&agent, &good);
    let registering = tokio::spawn(async move { client.register(&asked).await });
    let (id, register) = link.register().await;
    let problem = Problem::new(
        422,
        "unknown_group",
        "Refused",
        "group `ops` does not exist",
    );
    link.control(id, &Control::RegisterRefused { problem })
        .await;
    let error = registering.await.expect("runs").expect_err("is refused");
    assert!(error.to_string().contains("group `ops`"), "{error}");
    link.call(1, 1, "a").await;
    assert_eq!(link.answer().await, (1, FrameKind::Result, "1".into()));
    link.call(2, register.generation, "a").await;
    assert_eq!(link.answer().await.1, FrameKind::Unavailable);
    agent.stop().await;
}

#[tokio::test]
async fn one_method_can_be_unregistered_and_the_last_one_stops_the_process() {
    let server = FakeServer::start().await;
    let (agent, mut link) = registered(&server).await;
    let unregister = |name: &'static str| {
        let client = agent.client();
        tokio::spawn(async move { client.unregister(Some(name)).await })
    };
    let error = unregister("none")
        .await
        .expect("runs")
        .expect_err("unknown");
    assert!(error.to_string().contains("`none`"), "{error}");
    let taking = unregister("a");
    let register = link.accept_registration(7).await;
    assert_eq!((register.generation, register.place), (2, Some(7)));
    assert_eq!(register.registration.methods.len(), 1);
    let answer = taking.await.expect("runs").expect("is done");
    assert_eq!(
        (answer.removed, answer.remaining),
        (vec!["lab.a".into()], vec!["b".into()])
    );
    for generation in [1, 2] {
        link.call(1, generation, "b").await;
        assert_eq!(link.answer().await.1, FrameKind::Result);
    }
    let taking = unregister("b");
    let (id, asked) = link.request().await;
    assert_eq!(asked, Control::Unregister);
    link.control(id, &Control::Unregistered).await;
    let answer = taking.await.expect("runs").expect("is done");
    assert_eq!(answer.remaining, Vec::<String>::new());
    let status = agent.client().status().await.expect("a status");
    assert!(status.method_server.is_none() && status.methods.is_empty());
    link.call(3, 2, "b").await;
    assert_eq!(link.answer().await.1, FrameKind::Unavailable);
    agent.stop().await;
}

#[tokio::test]
async fn an_unexpected_answer_to_unregister_keeps_the_registration() {
    let server = FakeServer::start().await;
    let (agent, mut link) = registered(&server).await;
    let client = agent.client();
    let unregistering = tokio::spawn(async move { client.unregister(None).await });
    let (id, asked) = link.request().await;
    assert_eq!(asked, Control::Unregister);
    let problem = Problem::new(500, "failed", "Error", "the server failed");
    link.control(id, &Control::RegisterRefused { problem })
        .await;
    let outcome = unregistering.await.expect("runs");
    let error = outcome.expect_err("nothing was unregistered");
    assert_eq!(error.problem_code(), Some("link_lost"), "{error}");
    let mut link = server.link().await;
    let register = link.accept_registration(7).await;
    assert_eq!((register.generation, register.place), (1, Some(7)));
    link.call(1, 1, "a").await;
    assert_eq!(link.answer().await, (1, FrameKind::Result, "1".into()));
    agent.stop().await;
}

#[tokio::test]
async fn a_method_server_whose_methods_were_taken_over_finishes_its_calls() {
    let server = FakeServer::start().await;
    let text = methods("1", "concurrent").replace("do id=", "do sleep 0.3; id=");
    let agent = start_with(&server, &text);
    let mut link = server.link().await;
    link.accept_registration(1).await;
    link.call(1, 1, "a").await;
    let methods = vec!["lab.a".to_owned(), "b".to_owned()];
    link.control(0, &Control::Displaced { methods }).await;
    assert_eq!(link.answer().await, (1, FrameKind::Result, "1".into()));
    let client = agent.client();
    eventually("the method server is gone", async || {
        let status = client.status().await.expect("a status");
        status.method_server.is_none()
    })
    .await;
    agent.stop().await;
}

#[tokio::test]
async fn a_failed_startup_registration_never_stops_the_agent() {
    let server = FakeServer::start().await;
    let agent = TestAgent::start(&server.url(), Some("not toml"));
    let mut link = server.link().await;
    let client = agent.client();
    eventually("linked", async || {
        client.status().await.is_ok_and(|status| status.linked)
    })
    .await;
    let asked = file(&agent, &methods("1", "serial"));
    let registering = tokio::spawn(async move { client.register(&asked).await });
    link.accept_registration(1).await;
    registering.await.expect("runs").expect("is accepted");
    agent.stop().await;
}

#[tokio::test]
async fn stopping_lets_calls_in_flight_finish() {
    let server = FakeServer::start().await;
    let waits = "do while [ ! -e go ]; do sleep 0.01; done; sleep 0.3; id=";
    let text = methods("1", "concurrent").replace("do id=", waits);
    let agent = start_with(&server, &text);
    let mut link = server.link().await;
    link.accept_registration(1).await;
    link.call(1, 1, "a").await;
    let client = agent.client();
    eventually("in flight", async || {
        let status = client.status().await.expect("a status");
        status
            .method_server
            .is_some_and(|server| server.in_flight == 1)
    })
    .await;
    agent.shutdown.cancel();
    std::fs::write(agent.path().join("go"), "").expect("written");
    assert_eq!(link.answer().await, (1, FrameKind::Result, "1".into()));
    assert_eq!(agent.exit().await, Exit::Stopped);
}

#[tokio::test]
async fn stopping_ends_a_registration_whose_method_server_is_not_ready() {
    let server = FakeServer::start().await;
    let text = methods("1", "concurrent").replace(READY, ":");
    let agent = TestAgent::start_with(&server.url(), |folder, options| {
        std::fs::write(folder.join("methods.toml"), text).expect("written");
        options.methods_file = Some("methods.toml".into());
        // Longer than `TestAgent::stop` waits.
        options.policy.start_check = Duration::from_secs(3_600);
    });
    let link = server.link().await;
    let pid = agent.path().join("pid");
    eventually("started", async || pid.exists()).await;
    agent.stop().await;
    drop(link);
}

#[tokio::test]
async fn twenty_replacements_under_load_lose_no_call() {
    let server = FakeServer::start().await;
    let (agent, mut link) = registered(&server).await;
    let (mut generation, mut sent, mut answered) = (1, 0, 0);
    for round in 2..22 {
        let client = agent.client();
        let file = file(&agent, &methods(&round.to_string(), "concurrent"));
        let registering = tokio::spawn(async move { client.register(&file).await });
        // Sixteen calls are kept in flight. Each is sent to the newest accepted generation.
        while generation < round {
            while sent < answered + 16 {
                sent += 1;
                link.call(sent, generation, "a").await;
            }
            let frame = link.frame().await;
            match frame.kind {
                FrameKind::Result => answered += 1,
                FrameKind::Control => {
                    if let Control::Register(register) = control(&frame) {
                        generation = register.generation;
                        link.accept(frame.id, 8, &register).await;
                    }
                }
                kind => panic!("call {} failed: {kind:?}", frame.id),
            }
        }
        registering.await.expect("runs").expect("is accepted");
    }
    while answered < sent {
        assert_eq!(link.answer().await.1, FrameKind::Result);
        answered += 1;
    }
    agent.stop().await;
}

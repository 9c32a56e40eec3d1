use rustix::process::Pid;
use svc_link::OutboxReader;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

const HERE: &str = ".";

async fn looks_well(probe: Probe) -> bool {
    probe::probe(&probe, HERE.as_ref(), &Guard::absent()).await
}

#[tokio::test]
async fn the_tcp_probe_needs_a_listener() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let port = listener.local_addr().expect("bound").port();
    assert!(looks_well(Probe::Tcp { port }).await);
    drop(listener);
    assert!(!looks_well(Probe::Tcp { port }).await);
}

#[tokio::test]
async fn the_http_probe_needs_a_2xx_status() {
    for (answer, well) in [("204 No Content", true), ("503 Busy", false)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let address = listener.local_addr().expect("bound");
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("accepts");
            let mut request = vec![0; 1_000];
            let read = stream.read(&mut request).await.expect("reads");
            let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.expect("writes");
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        let url = format!("http://{address}/health?deep=1");
        assert_eq!(looks_well(Probe::Http { url }).await, well, "{answer}");
        let request = serving.await.expect("served");
        assert!(request.starts_with("GET /health?deep=1 HTTP/1.1\r\n"));
    }
}

#[tokio::test]
async fn the_command_probe_must_exit_with_0_and_is_killed_after_its_timeout() {
    let run = |command: &str| {
        let command = command.to_owned();
        looks_well(Probe::Command { command })
    };
    assert!(run("exit 0").await);
    assert!(!run("exit 1").await);
    let folder = tempfile::tempdir().expect("a folder");
    let pid_file = folder.path().join("pid");
    let command = format!("echo $$ > {}; sleep 60 & wait", pid_file.display());
    let written = async {
        loop {
            match std::fs::read_to_string(&pid_file) {
                Ok(pid) if pid.ends_with('\n') => return pid,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    // After its timeout, the probe is dropped in the same way.
    let pid = tokio::select! {
        looks_well = run(&command) => panic!("it ended: {looks_well}"),
        pid = written => pid,
    };
    let pid = Pid::from_raw(pid.trim().parse().expect("a number")).expect("positive");
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    while rustix::process::test_kill_process_group(pid).is_ok() {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the process group still runs"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn next_health(frames: &mut OutboxReader) -> (Health, u32) {
    let frame = timeout(Duration::from_secs(10), frames.next())
        .await
        .expect("in time");
    match serde_json::from_slice(&frame.payload).expect("control") {
        Control::Health {
            current,
            consecutive_failures,
            ..
        } => (current, consecutive_failures),
        other => panic!("not health: {other:?}"),
    }
}

#[tokio::test]
async fn health_is_reported_after_each_transition_and_on_each_new_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let outbox = Arc::new(Outbox::new(1_000_000));
    let mut frames = outbox.open_home(1);
    let linked = |number| LinkStatus {
        link: Some(number),
        ..LinkStatus::default()
    };
    let (link_sender, link) = watch::channel(linked(1));
    let (check_sender, check) = watch::channel(HealthCheck::default());
    let checker = HealthChecker {
        outbox: Arc::clone(&outbox),
        link,
        check,
        folder: folder.path().to_owned(),
        guard: Guard::absent(),
    };
    let running = tokio::spawn(checker.run());
    check_sender.send_replace(HealthCheck {
        probe: Probe::Command {
            command: "test ! -e ill".to_owned(),
        },
        interval_seconds: 1,
        timeout_seconds: 1,
        failures: 2,
    });
    assert_eq!(next_health(&mut frames).await, (Health::Healthy, 0));
    std::fs::write(folder.path().join("ill"), "").expect("written");
    assert_eq!(next_health(&mut frames).await, (Health::Unhealthy, 2));
    outbox.close(1);
    let mut frames = outbox.open_home(2);
    link_sender.send_replace(linked(2));
    assert_eq!(next_health(&mut frames).await.0, Health::Unhealthy);
    assert!(frames.close().is_empty(), "no other message is sent");
    running.abort();
}

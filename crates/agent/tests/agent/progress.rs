//! Progress reports of a method server between a request and its response.

use std::time::{Duration, Instant};

use svc_core::space::HealthCheck;
use svc_link::FrameKind;
use svc_protocol::api::LogSource;

use crate::{
    fake_server::{FakeLink, FakeServer},
    test_agent::TestAgent,
};

/// `steps` reports three times. `flood` reports 3,000 times without a pause. `noise` sends a report
/// of an unknown call, a report whose id has the wrong type, and a report whose progress is text.
const METHODS: &str = r#"
[server]
command = "sh"
args = ["-c", '''
report() {
  echo "{\"jsonrpc\":\"2.0\",\"method\":\"\$/progress\",\"params\":{\"id\":$1,\"progress\":$2,\"total\":100}}"
}
while read -r line; do
  id=${line##*\"id\":}; id=${id%\}}
  case "$line" in
    *\"flood\"*) n=0; while [ $n -lt 3000 ]; do n=$((n + 1)); report $id $n; done;;
    *\"noise\"*) report 999999 1; report "\"$id\"" 2; report $id "\"much\"";;
    *) report $id 0; report $id 50; report $id 100;;
  esac
  echo "{\"id\":$id,\"result\":1}"
done
''']

[[methods]]
name = "steps"
local_name = "steps"
description = "Reports"
"#;

async fn registered(server: &FakeServer) -> (TestAgent, FakeLink) {
    let agent = TestAgent::start(&server.url(), Some(METHODS));
    let (mut link, _) = server.accept().await;
    link.welcome(HealthCheck::default()).await;
    link.accept_registration(7).await;
    (agent, link)
}

#[tokio::test]
async fn reports_come_before_their_response() {
    let server = FakeServer::start().await;
    let (agent, mut link) = registered(&server).await;
    link.call(5, 1, "steps").await;
    for progress in [0, 50, 100] {
        let report = format!(r#"{{"progress":{progress},"total":100}}"#);
        assert_eq!(link.answer().await, (5, FrameKind::Progress, report));
    }
    assert_eq!(link.answer().await, (5, FrameKind::Result, "1".into()));
    agent.stop().await;
}

#[tokio::test]
async fn a_flood_of_reports_is_reduced() {
    let server = FakeServer::start().await;
    let (agent, mut link) = registered(&server).await;
    let begun = Instant::now();
    link.call(5, 1, "flood").await;
    let mut reports = Vec::new();
    loop {
        match link.answer().await {
            (5, FrameKind::Progress, report) => reports.push(report),
            (5, FrameKind::Result, _) => break,
            other => panic!("{other:?}"),
        }
    }
    let seconds = begun.elapsed().div_duration_f64(Duration::from_secs(1));
    let most = 20.0 * seconds.ceil();
    assert!((reports.len() as f64) <= most, "{}", reports.len());
    assert_eq!(reports[0], r#"{"progress":1,"total":100}"#);
    let last = reports.last().expect("some pass");
    assert_eq!(last, r#"{"progress":3000,"total":100}"#);
    agent.stop().await;
}

#[tokio::test]
async fn malformed_reports_and_reports_of_unknown_calls_are_logged() {
    let server = FakeServer::start().await;
    let (agent, mut link) = registered(&server).await;
    link.call(5, 1, "noise").await;
    assert_eq!(link.answer().await, (5, FrameKind::Result, "1".into()));
    for said in ["999999", r#""progress":2"#, "much"] {
        assert_eq!(link.log_line(said).await.0, LogSource::Stdout, "{said}");
    }
    link.call(6, 1, "steps").await;
    assert_eq!(
        link.answer().await.1,
        FrameKind::Progress,
        "later calls work"
    );
    agent.stop().await;
}

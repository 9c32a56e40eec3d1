//! Deliveries of one user do not delay those of another.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::{RegistrationToml, TestReceiver, TestServer, fixture, get_eventually, method};

use crate::SOON;

/// Much shorter than the timeout of a method that never responds, and much longer than a first
/// attempt takes.
const PROMPT: Duration = Duration::from_secs(25);

/// Subscribed methods whose method server reads and never responds.
fn never_answering(methods: usize) -> RegistrationToml {
    let silent = RegistrationToml::shell("cat >>lines").timeout(3_600);
    (0..methods).fold(silent, |registration, n| {
        let name = format!("silent{n}");
        registration.with(method(&name, &name).line("events", r#"["custom.flood"]"#))
    })
}

#[tokio::test]
async fn s6_5_three_hundred_methods_that_never_respond_delay_no_other_user() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let (mallory, ann) = (server.user("mallory").await, server.user("ann").await);
    let silent = mallory.space("silent").await;
    let _silent = silent.publish(never_answering(300)).await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(method("on.build", "push").line("events", r#"["custom.build"]"#))
        .with(method("pushed", "pushed"));
    let _agent = space.publish(registration).await;
    ann.webhook("hook", "custom.build", &receiver.url("/ann"))
        .await;
    let script = ann
        .script_sink("script", "custom.build", "print('ran')\n")
        .await;
    mallory.emit("flood", json!({})).await;
    // Mallory's methods occupy all slots that she may have.
    let lines = silent.folder().join("lines");
    get_eventually("her methods are called", 3 * SOON, || async {
        let text = std::fs::read_to_string(&lines).ok()?;
        (text.lines().count() >= 256).then_some(())
    })
    .await;
    let began = Instant::now();
    ann.emit("build", json!({})).await;
    receiver.wait_for("/ann", 1, SOON).await;
    get_eventually("ann's method is called", SOON, || async {
        let answer = ann.call("pushed", json!({})).await;
        let list = answer.get("result").and_then(Value::as_array)?;
        (!list.is_empty()).then_some(())
    })
    .await;
    script.wait_for("delivered", 1, SOON).await;
    let took = began.elapsed();
    assert!(took < PROMPT, "the first attempts took {took:?}");
}

//! `svc methods register` names the callers that a change breaks.

use serde_json::json;
use svc_testkit::{RegistrationToml, TestServer, fixture, method};

use super::wait_for;

fn registration(required: &str) -> RegistrationToml {
    let schema = format!(
        r#"{{type = "object", properties = {{a = {{type = "string"}}}}, required = {required}}}"#
    );
    fixture().with(
        method("find", "echo")
            .shared()
            .line("params_schema", schema),
    )
}

#[tokio::test]
async fn a_registration_that_breaks_callers_names_them_and_strict_refuses_it() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let space = ann.space("lab").await;
    let agent = space.publish(registration("[]").plain("old")).await;
    bob.call("user.ann.find", json!({})).await;
    wait_for(&ann, "?method=find", 1).await;

    let same = agent
        .register_with(registration("[]").plain("old"), &["--strict"])
        .await;
    let same = same.expect(0);
    assert!(!same.stderr.contains("warning"), "{}", same.stderr);

    let refused = agent
        .register_with(registration(r#"["a"]"#), &["--strict"])
        .await
        .expect(6);
    for text in [
        "`find`: `params.a` is required now",
        "called in the last 7 days by bob (1)",
        "`old`: the method is removed",
        "no recorded calls in the last 7 days",
        "nothing was registered: 2 methods would break callers",
    ] {
        assert!(
            refused.stderr.contains(text),
            "{text} in {}",
            refused.stderr
        );
    }
    let narrower = r#"{type = "object", properties = {a = {type = "string", maxLength = 3}}}"#;
    let narrower = method("find", "echo")
        .shared()
        .line("params_schema", narrower);
    let refused = agent
        .register_with(fixture().with(narrower).plain("old"), &["--strict"])
        .await
        .expect(6);
    let text = "`find`: `params.a` may accept fewer values (`maxLength`)";
    assert!(refused.stderr.contains(text), "{}", refused.stderr);
    // Nothing has changed.
    ann.call("old", json!({})).await;
    let names = ann.get("/api/methods").await.expect(200).json();
    assert_eq!(names["count"], 2);

    let accepted = agent.register(registration(r#"["a"]"#)).await.expect(0);
    assert!(accepted.stderr.contains("bob (1)"), "{}", accepted.stderr);
    let names = ann.get("/api/methods").await.expect(200).json();
    assert_eq!(names["count"], 1);
}

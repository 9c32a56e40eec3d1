//! Creating, changing, rotating and testing sources.

use serde_json::{Value, json};
use svc_core::source::settings::VerifyType;
use svc_testkit::TestServer;

use super::Sender;

#[tokio::test]
async fn the_url_and_the_secret_are_shown_once() {
    let server = TestServer::start().await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let github = Sender::of_type(&ann, VerifyType::Github).await;
    let token = github.path.trim_start_matches("/in/").to_owned();
    assert_eq!(token.len(), "svc_src_".len() + 64 + 8);
    assert_eq!(github.secret.len(), 72);
    let shown = [
        github.record().await.to_string(),
        ann.get("/api/sources").await.expect(200).text(),
        admin.get("/api/audit").await.expect(200).text(),
        server.log(),
    ];
    for text in shown {
        assert!(
            !text.contains(&token) && !text.contains(&github.secret),
            "{text}"
        );
    }
    let actions: Vec<String> = admin
        .audit_actions()
        .await
        .into_iter()
        .map(|one| one.1)
        .collect();
    assert!(
        actions.iter().any(|action| action == "source.created"),
        "{actions:?}"
    );
    // A secret that the sender chose is accepted and not shown again.
    let body =
        json!({"name": "given", "verify": {"type": "stripe", "secret": "whsec_given_by_stripe"}});
    let created = ann.post("/api/sources", body).await.expect(201).json();
    assert_eq!(created["verify"]["secret"], "whsec_given_by_stripe");
    let path = format!("/api/sources/{}", created["id"].as_str().unwrap());
    assert!(
        ann.get(&path).await.expect(200).json()["verify"]
            .get("secret")
            .is_none()
    );
}

#[tokio::test]
async fn the_data_folder_holds_neither_the_url_nor_the_secret() {
    let server = TestServer::builder().embedded().start().await;
    let ann = server.user("ann").await;
    let github = Sender::of_type(&ann, VerifyType::Github).await;
    github.send("", &[], "{}").await.expect(202);
    let token = github.path.trim_start_matches("/in/").as_bytes().to_vec();
    for file in std::fs::read_dir(server.data_dir()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let holds = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
            assert!(
                !holds(&token) && !holds(github.secret.as_bytes()),
                "{}",
                path.display()
            );
        }
    }
}

#[tokio::test]
async fn a_secret_is_rotated_with_an_overlap_and_a_url_at_once() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let mut github = Sender::of_type(&ann, VerifyType::Github).await;
    let old = github.secret.clone();
    let path = format!("/api/sources/{}/rotate", github.id);
    let rotated = ann.post(&path, json!({})).await.expect(200).json();
    let new = rotated["secret"].as_str().unwrap().to_owned();
    assert_ne!(new, old);
    assert!(github.record().await["previous_secret_until"].is_string());
    for (n, secret) in [&old, &new].into_iter().enumerate() {
        github.secret = secret.clone();
        github
            .send("", &[], &json!({ "n": n }).to_string())
            .await
            .expect(202);
    }
    // Without an overlap, the earlier secret is invalid at once.
    let request = json!({"secret": "chosen by the sender", "overlap_hours": 0});
    let rotated = ann.post(&path, request).await.expect(200).json();
    assert!(
        rotated.get("secret").is_none(),
        "a given secret is not shown: {rotated}"
    );
    github.send("", &[], r#"{"n":2}"#).await.expect(401);
    github.secret = "chosen by the sender".to_owned();
    github.send("", &[], r#"{"n":2}"#).await.expect(202);
    assert_eq!(github.events().await.len(), 3);

    let rotated = ann
        .post(&path, json!({"url": true}))
        .await
        .expect(200)
        .json();
    github.send("", &[], r#"{"n":3}"#).await.expect(404);
    let url = rotated["url"].as_str().unwrap();
    github.path = url[url.find("/in/").unwrap()..].to_owned();
    github.send("", &[], r#"{"n":3}"#).await.expect(202);
    for (body, code) in [
        (json!({"overlap_hours": 100_000}), "invalid"),
        (json!({"url": true, "secret": "long enough"}), "invalid"),
        (json!({"secret": "short"}), "invalid_settings"),
    ] {
        assert_eq!(
            ann.post(&path, &body).await.expect(400).code(),
            code,
            "{body}"
        );
    }
}

#[tokio::test]
async fn sources_belong_to_their_user() {
    let server = TestServer::start().await;
    let (admin, ann, ben) = (
        server.admin().await,
        server.user("ann").await,
        server.user("ben").await,
    );
    let source = Sender::of_type(&ann, VerifyType::Github).await;
    let path = format!("/api/sources/{}", source.id);
    for other in [&ben, &admin] {
        other.get(&path).await.expect(404);
        other.get(&format!("{path}/requests")).await.expect(404);
        other
            .patch(&path, json!({"active": false}))
            .await
            .expect(404);
        other
            .post(&format!("{path}/rotate"), json!({}))
            .await
            .expect(404);
        other
            .post(&format!("{path}/test"), json!({}))
            .await
            .expect(404);
        other.delete(&path).await.expect(404);
        let listed = other.get("/api/sources").await.expect(200).json();
        assert_eq!(listed["sources"], json!([]));
    }
    let taken = json!({"name": "github", "verify": {"type": "none"}});
    assert_eq!(
        ann.post("/api/sources", &taken).await.expect(409).code(),
        "name_taken"
    );
    ben.post("/api/sources", &taken).await.expect(201);
    ann.delete(&path).await.expect(204);
    source.send("", &[], "{}").await.expect(404);
}

#[tokio::test]
async fn wrong_settings_are_refused_with_the_value() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let check = async |body: Value, code: &str, part: &str| {
        let refused = ann.post("/api/sources", &body).await.expect(400);
        assert_eq!(refused.code(), code, "{}", refused.text());
        assert!(refused.text().contains(part), "{}", refused.text());
    };
    check(
        json!({"name": "a.b", "verify": {"type": "none"}}),
        "invalid_name",
        "a.b",
    )
    .await;
    check(
        json!({"name": "a", "verify": {"type": "carrier-pigeon"}}),
        "invalid_body",
        "pigeon",
    )
    .await;
    check(
        json!({"name": "a", "verify": {"type": "hmac"}}),
        "invalid_settings",
        "verify.header",
    )
    .await;
    let prefix = json!({"type": "github", "prefix": "x"});
    check(
        json!({"name": "a", "verify": prefix}),
        "invalid_settings",
        "prefix",
    )
    .await;
    let cookies = json!({"name": "a", "verify": {"type": "none"}, "headers": ["Cookie"]});
    check(cookies, "invalid_settings", "Cookie").await;
    let hmac = json!({"type": "hmac", "header": "X-Signature"});
    let copied = json!({"name": "a", "verify": hmac, "headers": ["x-signature"]});
    check(copied, "invalid_settings", "x-signature").await;
    let typed = json!({"name": "a", "verify": hmac, "event_type": {"header": "X-SIGNATURE"}});
    check(typed, "invalid_settings", "X-SIGNATURE").await;
    let secret = json!({"name": "a", "verify": {"type": "none", "secret": "long enough"}});
    check(secret, "invalid_settings", "no secret").await;
    let source = Sender::of_type(&ann, VerifyType::Github).await;
    let path = format!("/api/sources/{}", source.id);
    let changed = ann
        .patch(&path, json!({"verify": {"type": "gitlab"}}))
        .await
        .expect(409);
    assert!(
        changed.text().contains("another source"),
        "{}",
        changed.text()
    );
    let copied = json!({"headers": ["X-Hub-Signature-256"]});
    let refused = ann.patch(&path, copied).await.expect(400);
    assert_eq!(refused.code(), "invalid_settings", "{}", refused.text());
    let refused = ann
        .patch(&path, json!({"verify": {"secret": "a new secret"}}))
        .await
        .expect(400);
    assert!(refused.text().contains("rotate"), "{}", refused.text());
}

#[tokio::test]
async fn a_patch_changes_the_next_events() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let open = Sender::of_type(&ann, VerifyType::None).await;
    let path = format!("/api/sources/{}", open.id);
    let patch = json!({"name": "renamed", "event_type": {"body": "kind"}, "headers": ["X-Team"]});
    ann.patch(&path, patch).await.expect(200);
    let body = r#"{"kind":"Deploy Done"}"#;
    let answer = open
        .send("", &[("x-team", "ops")], body)
        .await
        .expect(202)
        .json();
    assert_eq!(answer["event_type"], "source.renamed.deploy_done");
    assert_eq!(
        open.events().await[0]["data"]["_source"]["headers"]["x-team"],
        "ops"
    );
    let patch = json!({"event_type": {"body": null, "fixed": "any"}});
    let changed = ann.patch(&path, patch).await.expect(200).json();
    assert_eq!(changed["event_type"], json!({"fixed": "any"}));
}

#[tokio::test]
async fn a_test_signs_a_request_as_the_sender_would() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for &kind in VerifyType::ALL {
        let verify = match kind {
            VerifyType::Hmac => json!({"type": "hmac", "header": "X-Signature"}),
            kind => json!({"type": kind}),
        };
        let source = Sender::new(&ann, kind.as_str(), verify).await;
        let path = format!("/api/sources/{}/test", source.id);
        let body = json!({"body": {"type": "x"}, "headers": {"X-GitHub-Event": "x", "X-Gitlab-Event": "x", "X-Shopify-Topic": "x"}, "dry_run": true});
        let dry = ann.post(&path, &body).await.expect(200).json();
        assert_eq!(dry["accepted"], true, "{kind}: {dry}");
        assert_eq!(dry["event_type"], format!("source.{kind}.x"));
        assert_eq!(dry["event_id"], Value::Null);
        assert_eq!(source.events().await.len(), 0, "{kind}");
        let real = ann.post(&path, json!({})).await.expect(200).json();
        assert!(real["event_id"].is_string(), "{kind}: {real}");
        assert_eq!(source.events().await.len(), 1, "{kind}");
    }
}

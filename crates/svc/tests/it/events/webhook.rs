//! The webhook sink: its requests, signatures, secrets and targets.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use svc_testkit::{Received, TestReceiver, TestServer, TestServerBuilder, get_eventually};
use tokio::sync::OnceCell;

use crate::SOON;

fn open() -> TestServerBuilder {
    TestServer::builder().allow_loopback_webhooks()
}

/// Checks signatures with a public package. Reads the secret, the headers and the body as JSON from
/// stdin, and exits with 0 if the signatures are valid. With `own`, also checks the header
/// `X-Service-Signature`.
const VERIFIER: &str = r#"
import base64, hashlib, hmac, json, sys
from standardwebhooks import Webhook
given = json.load(sys.stdin)
Webhook(given["secret"]).verify(given["body"], given["headers"])
if given["own"]:
    key = base64.b64decode(given["secret"].removeprefix("whsec_"))
    own = "sha256=" + hmac.new(key, given["body"].encode(), hashlib.sha256).hexdigest()
    assert own == given["headers"]["x-service-signature"], own
"#;

static PYTHON: OnceCell<Option<PathBuf>> = OnceCell::const_new();

/// A Python with `standardwebhooks` from PyPI; `None` if it cannot be installed.
async fn python() -> Option<&'static Path> {
    let made = PYTHON.get_or_init(|| async {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("standardwebhooks");
        let python = folder.join("bin/python");
        let works = |python: &Path| {
            let mut command = Command::new(python);
            command
                .args(["-c", "import standardwebhooks"])
                .stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        if !works(&python) {
            let _ = Command::new("python3")
                .args(["-m", "venv"])
                .arg(&folder)
                .status();
            let _ = Command::new(&python)
                .args(["-m", "pip", "install", "--quiet", "standardwebhooks"])
                .status();
        }
        works(&python).then_some(python)
    });
    let python = made.await.as_deref();
    if python.is_none() {
        let required = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!required, "`standardwebhooks` cannot be installed");
        eprintln!("SKIPPED: `standardwebhooks` cannot be installed with pip");
    }
    python
}

fn verifies(python: &Path, secret: &str, one: &Received, own: bool) -> bool {
    let headers: serde_json::Map<String, Value> = one
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap())))
        .collect();
    let body = String::from_utf8(one.body.to_vec()).unwrap();
    let given = json!({"secret": secret, "headers": headers, "body": body, "own": own});
    let mut child = Command::new(python)
        .args(["-c", VERIFIER])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    serde_json::to_writer(child.stdin.take().unwrap(), &given).unwrap();
    child.wait().unwrap().success()
}

#[tokio::test]
async fn s6_3_an_independent_verifier_accepts_signatures_before_and_during_rotation() {
    let Some(python) = python().await else { return };
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    let first = sink.secret().to_owned();
    assert!(first.starts_with("whsec_"), "{first}");
    let text = json!({"text": "Grüße, \"you\"\n\u{1F980}"});
    ann.emit("a", text.clone()).await;
    let before = receiver.wait_for("/hook", 1, SOON).await.pop().unwrap();
    assert_eq!(before.json()["data"], text);
    assert!(verifies(python, &first, &before, true));
    let wrong = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    assert!(!verifies(python, wrong, &before, false));
    // After a rotation, requests are signed with both secrets.
    let path = format!("{}/rotate-secret", sink.path());
    let rotated = ann.post(&path, "{}").await.expect(200).json();
    let second = rotated["secret"].as_str().unwrap();
    assert_ne!(second, first);
    ann.emit("b", text).await;
    let during = receiver.wait_for("/hook", 2, SOON).await.pop().unwrap();
    assert!(verifies(python, &first, &during, false));
    assert!(
        verifies(python, second, &during, true),
        "the new secret signs first"
    );
    assert_eq!(during.header("webhook-signature").split(' ').count(), 2);
    // After a rotation without overlap, the old secret is no longer used.
    let rotated = ann
        .post(&path, r#"{"overlap_hours":0}"#)
        .await
        .expect(200)
        .json();
    let third = rotated["secret"].as_str().unwrap();
    ann.emit("c", json!({})).await;
    let after = receiver.wait_for("/hook", 3, SOON).await.pop().unwrap();
    assert!(verifies(python, third, &after, true));
    assert!(!verifies(python, &first, &after, false));
    assert!(!verifies(python, second, &after, false));
}

#[tokio::test]
async fn s6_3_s6_5_a_request_carries_the_headers_and_the_default_body() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let url = receiver.url("/hook?key=1");
    ann.sink(json!({
        "name": "hook", "patterns": ["custom.a"], "type": "webhook",
        "webhook": {"url": url, "headers": {"X-Team": "tea", "Authorization": "Bearer abc"}},
    }))
    .await;
    let id = ann.emit("a", json!({"b": 1})).await;
    let one = receiver.wait_for("/hook?key=1", 1, SOON).await.remove(0);
    let body = one.json();
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["event_id", "event_type", "event_ts", "data"]);
    assert_eq!(body["event_id"], id);
    assert_eq!(body["event_type"], "custom.a");
    assert_eq!(body["data"], json!({"b": 1}));
    assert_eq!(one.header("content-type"), "application/json");
    assert_eq!(one.header("x-service-event-id"), id);
    assert_eq!(one.header("webhook-id"), id);
    assert_eq!(one.header("x-service-event-type"), "custom.a");
    assert_eq!(one.header("x-service-event-ts"), body["event_ts"]);
    assert!(one.header("webhook-timestamp").parse::<u64>().is_ok());
    assert!(one.header("webhook-signature").starts_with("v1,"));
    assert!(one.header("x-service-signature").starts_with("sha256="));
    assert_eq!(one.header("x-team"), "tea");
    assert_eq!(one.header("authorization"), "Bearer abc");
}

#[tokio::test]
async fn s6_3_the_secret_is_shown_once_and_stored_encrypted() {
    let mut server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    let secret = sink.secret().to_owned();
    let bare = secret.trim_start_matches("whsec_").to_owned();
    assert!(!sink.record().await.to_string().contains(&bare));
    let list = ann.get("/api/event-sinks").await.text();
    assert!(!list.contains(&bare));
    // A user may choose the secret. An invalid secret is refused, and the error does not repeat it.
    let own = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let body = |name: &str, secret: &str| {
        json!({"name": name, "patterns": "*", "type": "webhook",
            "webhook": {"url": "https://example.com", "secret": secret}})
    };
    let made = ann.sink(body("own", own)).await;
    assert_eq!(made.secret(), own);
    for bad in ["", "secret", "whsec_", "whsec_###", "whsec_AAAA"] {
        let answer = ann
            .post("/api/event-sinks", body("bad", bad))
            .await
            .expect(400);
        let given = bad.trim_start_matches("whsec_");
        let repeated = given.len() > 2 && given != "secret" && answer.text().contains(given);
        assert!(!repeated, "{}", answer.text());
    }
    assert_eq!(server.terminate().await.code(), Some(0));
    for entry in std::fs::read_dir(server.data_dir()).unwrap() {
        let path = entry.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&bare), "{} holds the secret", path.display());
        assert!(
            !text.contains(&own[6..]),
            "{} holds the secret",
            path.display()
        );
    }
    assert!(!server.log().contains(&bare));
    // Only the system user that runs the server can read the key file. The sink has the same secret
    // after a restart.
    let key = server.data_dir().join("secret.key");
    let mode = std::os::unix::fs::PermissionsExt::mode(&key.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    server.start_again().await;
    ann.emit("a", json!({})).await;
    let one = receiver.wait_for("/hook", 1, SOON).await.remove(0);
    if let Some(python) = python().await {
        assert!(verifies(python, &secret, &one, true));
    }
}

#[tokio::test]
async fn s6_3_non_global_target_addresses_are_refused_as_a_failed_attempt() {
    let server = TestServer::builder().retries(60.0, 60.0).start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let port = receiver.address().port();
    let hosts = [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "2130706433",
        "127.1",
        "10.0.0.1",
        "169.254.169.254",
        "[fe80::1]",
        "[fd00::1]",
        "100.64.0.1",
    ];
    let mut sinks = Vec::new();
    for (n, host) in hosts.iter().enumerate() {
        let url = format!("http://{host}:{port}/hook");
        sinks.push((host, ann.webhook(&format!("s{n}"), "*", &url).await));
    }
    ann.emit("a", json!({})).await;
    for (host, sink) in sinks {
        let first = get_eventually("an attempt fails", SOON, || async {
            let first = sink.deliveries().await.remove(0);
            (!first["attempts"].as_array().unwrap().is_empty()).then_some(first)
        })
        .await;
        assert_eq!(first["state"], "pending");
        let error = first["attempts"][0]["error"].as_str().unwrap();
        assert!(
            error.contains("allow"),
            "{host}: `{error}` names the remedy"
        );
    }
    assert_eq!(receiver.connections(), 0, "the server never connected");
}

#[tokio::test]
async fn s6_3_allowed_targets_are_named_by_network_host_or_environment() {
    for builder in [
        TestServer::builder().config_table("webhooks", "allow = [\"127.0.0.1\"]"),
        TestServer::builder().config_table("webhooks", "allow = [\"localhost\"]"),
        TestServer::builder().env("SVC_WEBHOOK_ALLOW", "10.0.0.0/8, 127.0.0.0/8"),
    ] {
        let server = builder.start().await;
        let receiver = TestReceiver::start().await;
        let ann = server.user("ann").await;
        let port = receiver.address().port();
        for (n, host) in ["127.0.0.1", "localhost"].iter().enumerate() {
            let url = format!("http://{host}:{port}/hook");
            ann.webhook(&format!("s{n}"), "*", &url).await;
        }
        ann.emit("a", json!({})).await;
        receiver.wait_for("/hook", 1, SOON).await;
    }
}

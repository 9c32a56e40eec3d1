//! Back-channel logout.

use serde_json::{Value, json};

use super::{Browser, Site, merge};

const PATH: &str = "/api/auth/oidc/corp/backchannel-logout";
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

#[tokio::test]
async fn the_provider_ends_the_sessions_that_it_opened() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let (mut ann, _) = site.sign_in("ann").await;
    let (mut ben, _) = site.sign_in("ben").await;
    let sid = provider_session(&site, &ann).await;
    let ended = site
        .tell("/test/logout", json!({"sub": "ann", "sid": sid}))
        .await;
    assert_eq!(ended["status"], 200);
    ann.get("/api/auth/me").await.expect(401);
    ben.get("/api/auth/me").await.expect(200);
    let actions = site.admin.audit_actions().await;
    assert!(actions.iter().any(|(_, action)| action == "logout.oidc"));
}

/// The id of Ann's session at the provider. No route shows it, so it is read from the database.
pub(super) async fn provider_session(site: &Site, browser: &Browser) -> String {
    assert!(browser.session().is_some());
    let file = site.server.data_dir().join("svc.db");
    let output = std::process::Command::new("python3")
        .args([
            "-c",
            "import sqlite3, sys\nprint(sqlite3.connect(sys.argv[1]).execute(\"SELECT s.sid FROM oidc_sessions s JOIN oidc_identities i ON i.id = s.identity_id WHERE i.sub = 'ann'\").fetchone()[0])",
        ])
        .arg(file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A logout token of the broken provider, with these claims changed. `null` removes a claim.
async fn token(site: &Site, changes: Value) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap().as_secs();
    let mut claims = json!({"iss": site.issuer, "aud": "svc", "iat": now, "exp": now + 120,
        "sub": "johndoe", "jti": format!("{:?}", std::time::Instant::now()), "events": {EVENT: {}}});
    merge(&mut claims, changes);
    let claims = claims
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null());
    let claims: serde_json::Map<_, _> = claims.map(|(n, v)| (n.clone(), v.clone())).collect();
    let answer = site.tell("/logout-token", Value::Object(claims)).await;
    answer["token"].as_str().unwrap().to_owned()
}

async fn send(site: &Site, token: &str) -> (u16, String) {
    let body = form_urlencoded::Serializer::new(String::new())
        .append_pair("logout_token", token)
        .finish();
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", "https://elsewhere.example"),
    ];
    let answer = site
        .server
        .http()
        .request("POST", PATH, &headers, body)
        .await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    (answer.status, answer.text())
}

#[tokio::test]
async fn an_invalid_logout_token_ends_no_session() {
    let Some(site) = Site::start_broken(json!({"open": true})).await else {
        return;
    };
    site.plan(json!({"claims": {"sid": "s1"}})).await;
    let (mut john, answer) = site.sign_in_broken().await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    for (changes, why) in [
        (json!({"nonce": "n"}), "nonce"),
        (json!({"events": null}), "events"),
        (json!({"events": null, "nonce": "n"}), "nonce"),
        (json!({"aud": "another"}), "not for"),
        (json!({"iss": "https://evil.example"}), "issuer"),
        (json!({"jti": null}), "jti"),
        (json!({"sub": null}), "sid"),
        (json!({"iat": 1_000_000}), "expired"),
    ] {
        let (status, text) = send(&site, &token(&site, changes.clone()).await).await;
        assert_eq!(status, 400, "{changes}: {text}");
        assert!(
            text.contains("invalid_request") && text.contains(why),
            "{changes}: {text}"
        );
        john.get("/api/auth/me").await.expect(200);
    }
    assert_eq!(send(&site, "not.a.token").await.0, 400);
    // A token with an unknown subject or session ends no session and is not an error.
    for unknown in [
        json!({"sub": "nobody"}),
        json!({"sub": null, "sid": "s2"}),
        json!({"sid": "s2"}),
    ] {
        let (status, text) = send(&site, &token(&site, unknown.clone()).await).await;
        assert_eq!(status, 200, "{unknown}: {text}");
        john.get("/api/auth/me").await.expect(200);
    }
    let by_session = token(&site, json!({"sub": null, "sid": "s1"})).await;
    assert_eq!(send(&site, &by_session).await.0, 200);
    john.get("/api/auth/me").await.expect(401);
    // The same token does not end the next session.
    let (mut john, _) = site.sign_in_broken().await;
    let (status, text) = send(&site, &by_session).await;
    assert_eq!(status, 400, "{text}");
    assert!(text.contains("used already"), "{text}");
    john.get("/api/auth/me").await.expect(200);
    let by_subject = token(&site, json!({})).await;
    assert_eq!(send(&site, &by_subject).await.0, 200);
    john.get("/api/auth/me").await.expect(401);
}

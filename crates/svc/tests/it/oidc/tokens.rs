//! Tokens, keys and addresses of a provider.

use serde_json::{Value, json};

use super::{Site, expect_refused};

#[tokio::test]
async fn an_invalid_token_signs_no_user_in() {
    let Some(site) = Site::start_broken(json!({"open": true})).await else {
        return;
    };
    let now = now_in_seconds();
    let claims = |claims: Value| json!({"claims": claims});
    let cases = [
        (json!({"sign": "none"}), "the algorithm `none`"),
        (json!({"sign": "hs256"}), "the algorithm `HS256`"),
        (json!({"sign": "other"}), "the signature"),
        (claims(json!({"aud": "another"})), "not for `svc`"),
        (claims(json!({"aud": ["another", "svc"]})), "`azp`"),
        (
            claims(json!({"aud": ["another", "svc"], "azp": "another"})),
            "not for `svc`",
        ),
        (claims(json!({"nonce": "another"})), "`nonce`"),
        (claims(json!({"nonce": null})), "`nonce`"),
        (claims(json!({"exp": now - 120})), "expired"),
        (claims(json!({"exp": null})), "`exp`"),
        (claims(json!({"iat": now + 600})), "future"),
        (claims(json!({"iss": "https://evil.example"})), "issuer"),
        (claims(json!({"sub": null})), "`sub`"),
        (claims(json!({"sub": "x".repeat(300)})), "`sub`"),
        (json!({"header": {"kid": "unknown"}}), "no key `unknown`"),
    ];
    for (plan, why) in cases {
        site.plan(plan.clone()).await;
        let (browser, answer) = site.sign_in_broken().await;
        let text = answer.text();
        assert!(text.contains(why), "{plan}: no `{why}` in {text}");
        expect_refused(&browser, &answer, why);
    }
    assert!(site.user("johndoe").await.is_none());
    site.plan(json!({})).await;
    let (mut browser, answer) = site.sign_in_broken().await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    assert_eq!(site.me(&mut browser).await["username"], "johndoe");
}

#[tokio::test]
async fn a_token_of_the_provider_opens_nothing_here() {
    let Some(site) = Site::start_broken(json!({"open": true})).await else {
        return;
    };
    site.sign_in_broken().await;
    // Two tokens that the provider signed for a user of this server: an id_token, and an access
    // token for `/mcp`.
    let (now, url) = (now_in_seconds(), site.server.url());
    for audience in ["svc".to_owned(), format!("{url}/mcp")] {
        let claims = json!({"iss": site.issuer, "sub": "johndoe", "aud": audience, "iat": now,
            "exp": now + 300, "scope": "mcp"});
        let token = site.tell("/logout-token", claims).await["token"].clone();
        let bearer = format!("Bearer {}", token.as_str().unwrap());
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        let http = site.server.http();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
        let refused = http.request("POST", "/mcp", &headers, body).await;
        let challenge = refused.expect(401);
        let challenge = challenge.header("www-authenticate").unwrap();
        assert!(challenge.contains("invalid_token"), "{challenge}");
        let me = http.request("GET", "/api/auth/me", &headers, "").await;
        me.expect(401);
    }
}

fn now_in_seconds() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

#[tokio::test]
async fn new_keys_are_read_once_a_minute() {
    let Some(site) = Site::start_broken(json!({"open": true})).await else {
        return;
    };
    let (_, answer) = site.sign_in_broken().await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    // The next token is signed with a key that the server has not read.
    site.plan(json!({"rotate": true})).await;
    let mut seen = Vec::new();
    for _ in 0..6 {
        let (_, answer) = site.sign_in_broken().await;
        seen.push(answer.status);
    }
    assert!(seen.iter().all(|status| *status == 303), "{seen:?}");
    // Another unknown key within the minute is refused without a request to the provider.
    let plan = json!({"header": {"kid": "unknown"}});
    let used = site.tell("/plan", plan).await;
    assert_eq!(used["kids"].as_array().unwrap().len(), 2, "{used}");
    let (browser, answer) = site.sign_in_broken().await;
    expect_refused(&browser, &answer, "no key `unknown`");
}

#[tokio::test]
async fn the_same_subject_of_another_issuer_is_another_user() {
    let Some(site) = Site::start_broken(json!({"open": true})).await else {
        return;
    };
    site.plan(json!({"claims": {"sub": "shared"}})).await;
    let (mut browser, _) = site.sign_in_broken().await;
    let first = site.me(&mut browser).await;
    let Some(other) = Site::start_broken(json!({"open": true})).await else {
        return;
    };
    // The other provider is added to the first server, under another name.
    let body = json!({"name": "other", "issuer": other.issuer, "client_id": "svc",
        "create_users": true, "required_claims": {"iss": [other.issuer]}});
    site.admin
        .post("/api/oidc/providers", &body)
        .await
        .expect(201);
    let claims = json!({"sub": "shared", "preferred_username": "johndoe"});
    other.plan(json!({ "claims": claims })).await;
    let mut browser = site.browser();
    let started = browser.get("/api/auth/oidc/other/start").await.expect(303);
    let path = started.header("location").unwrap().to_owned();
    let path = path.strip_prefix(&other.issuer).unwrap();
    let provider = svc_testkit::Http::to_url(&other.issuer);
    let asked = provider.request("GET", path, &[], "").await.expect(302);
    let callback = super::local(asked.header("location").unwrap());
    let answer = browser.get(&callback).await;
    expect_refused(&browser, &answer, "`johndoe` is taken");
    assert_eq!(first["username"], "johndoe");
    // An answer of one provider is sent to the callback of the other.
    let mut browser = site.browser();
    let callback = site.callback_broken(&mut browser).await;
    let crossed = callback.replace("/corp/", "/other/");
    let answer = browser.get(&crossed).await;
    expect_refused(&browser, &answer, "did not begin");
}

#[tokio::test]
async fn a_discovery_document_of_another_issuer_is_refused() {
    let Some(site) = Site::start_broken(json!({})).await else {
        return;
    };
    // The provider is reached under another host name, but its document names the first one.
    let issuer = site.issuer.replace("127.0.0.1", "localhost");
    let body = json!({"name": "other", "issuer": issuer, "client_id": "svc"});
    let created = site
        .admin
        .post("/api/oidc/providers", &body)
        .await
        .expect(201);
    let mut browser = site.browser();
    let answer = browser.get("/api/auth/oidc/other/start").await.expect(502);
    let text = answer.text();
    assert!(text.contains("its issuer is"), "{text}");
    let id = created.json()["id"].as_str().unwrap().to_owned();
    let check = site
        .admin
        .get(&format!("/api/oidc/providers/{id}/check"))
        .await;
    let check = check.expect(200).json();
    assert_eq!(check["ok"], false);
    let steps = check["steps"].as_array().unwrap();
    let failed: Vec<_> = steps.iter().filter(|step| step["ok"] == false).collect();
    assert_eq!(failed[0]["step"], "discovery", "{check}");
}

#[tokio::test]
async fn a_provider_in_a_private_network_needs_permission() {
    let Some(site) = Site::start_broken(json!({})).await else {
        return;
    };
    let closed = svc_testkit::TestServer::start().await;
    let admin = closed.admin().await;
    let body = json!({"name": "corp", "issuer": site.issuer, "client_id": "svc"});
    admin.post("/api/oidc/providers", &body).await.expect(201);
    let mut browser = super::Browser::of(&closed);
    let answer = browser.get("/api/auth/oidc/corp/start").await.expect(502);
    let text = answer.text();
    assert!(text.contains("cannot be read"), "{text}");
    for issuer in [
        "http://id.example.com",
        "https://u:p@id.example.com",
        "id",
        "https://id.example.com/?x",
    ] {
        let body = json!({"name": "x", "issuer": issuer, "client_id": "svc"});
        let refused = admin.post("/api/oidc/providers", &body).await;
        assert_eq!(refused.expect(400).code(), "invalid", "{issuer}");
    }
}

//! The sign-in of a user through a provider.

use serde_json::json;

use super::{SECRET, Site, at_provider, expect_refused};

#[tokio::test]
async fn a_user_is_created_at_the_first_sign_in_and_found_at_the_second() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    site.account(
        "Ann.Smith",
        json!({"email": "ann@corp.example", "name": "Ann Smith"}),
    )
    .await;
    let (mut browser, answer) = site.sign_in("Ann.Smith").await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    assert_eq!(answer.header("location"), Some("/"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let me = site.me(&mut browser).await;
    assert_eq!(me["username"], "ann-smith");
    assert_eq!(me["roles"], json!(["user"]));
    let first = browser.session().cloned();

    // The second time, the provider sends another name and e-mail address. The user is the same.
    let changed = json!({"email": "other@corp.example", "preferred_username": "somebody"});
    site.account("Ann.Smith", changed).await;
    let answer = browser.sign_in(&site, "Ann.Smith").await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    assert_eq!(site.me(&mut browser).await["id"], me["id"]);
    assert_ne!(browser.session().cloned(), first, "a new session");
    assert!(site.user("somebody").await.is_none());

    let linked = browser.get("/api/auth/identities").await.expect(200).json();
    assert_eq!(linked["has_password"], false);
    assert_eq!(linked["identities"][0]["email"], "other@corp.example");
    // A user without a password cannot sign in with an empty password.
    let refused = site.server.try_login("ann-smith", "").await;
    assert_eq!(refused.expect(401).code(), "invalid_credentials");
    let actions = site.admin.audit_actions().await;
    let logins = actions.iter().filter(|(_, action)| action == "login.oidc");
    assert_eq!(logins.count(), 2);
}

#[tokio::test]
async fn unknown_accounts_are_refused_by_default_and_without_the_required_claims() {
    let Some(site) = Site::start(json!({})).await else {
        return;
    };
    let (browser, answer) = site.sign_in("ann").await;
    expect_refused(&browser, &answer, "not linked to a user");
    let settings = json!({"create_users": true, "required_claims": {"groups": ["staff"]}});
    site.patch(settings).await.expect(200);
    let (browser, answer) = site.sign_in("ann").await;
    expect_refused(&browser, &answer, "the claim `groups`");
    site.account("ann", json!({"groups": ["guests"]})).await;
    let (browser, answer) = site.sign_in("ann").await;
    expect_refused(&browser, &answer, "the claim `groups`");
    assert!(site.user("ann").await.is_none(), "no user was created");
    site.account("ann", json!({"groups": ["guests", "staff"]}))
        .await;
    let (mut browser, _) = site.sign_in("ann").await;
    assert_eq!(site.me(&mut browser).await["username"], "ann");
}

#[tokio::test]
async fn a_deactivated_user_and_a_provider_that_is_switched_off_are_refused() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    site.sign_in("ann").await;
    let ann = site.user("ann").await.unwrap();
    let path = format!("/api/users/{}", ann["id"].as_str().unwrap());
    site.admin
        .patch(&path, json!({"active": false}))
        .await
        .expect(200);
    let (browser, answer) = site.sign_in("ann").await;
    expect_refused(&browser, &answer, "is deactivated");
    site.admin
        .patch(&path, json!({"active": true}))
        .await
        .expect(200);
    let mut browser = site.browser();
    let callback = browser.callback(&site, "ann").await;
    site.patch(json!({"enabled": false})).await.expect(200);
    let answer = browser.get(&callback).await;
    expect_refused(&browser, &answer, "switched off");
    let options = browser.get("/api/auth/oidc").await.expect(200).json();
    assert_eq!(options, json!({"providers": []}));
}

#[tokio::test]
async fn a_sign_in_for_an_app_returns_to_the_question_and_does_not_answer_it() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let mut browser = site.browser();
    let registered = browser
        .send(
            "POST",
            "/register",
            json!({"client_name": "Probe", "redirect_uris": ["http://127.0.0.1:9/callback"]}),
        )
        .await;
    let app = registered.expect(201).json()["client_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let asked = browser
        .get(&format!(
            "/authorize?response_type=code&client_id={app}&code_challenge_method=S256&code_challenge={}",
            "x".repeat(43)
        ))
        .await
        .expect(303);
    let question = asked.header("location").unwrap().to_owned();
    let url = browser
        .start(&format!("?return_to={}", question.replace('?', "%3F")))
        .await;
    let callback = at_provider(&site, &url, "ann").await;
    let answer = browser.get(&callback).await.expect(303);
    assert_eq!(answer.header("location"), Some(question.as_str()));
    let grants = browser.get("/api/oauth/grants").await.expect(200).json();
    assert_eq!(grants["grants"], json!([]), "the user has not agreed");
    let id = question.split('=').nth(1).unwrap();
    let path = format!("/api/oauth/requests/{id}");
    browser.get(&path).await.expect(200);
    let decided = browser.send("POST", &path, json!({"approve": true})).await;
    let decided = decided.expect(200).json();
    let target = decided["redirect_to"].as_str().unwrap();
    assert!(target.contains("code=svc_oac_"), "{target}");
}

#[tokio::test]
async fn no_secret_of_a_sign_in_is_logged_or_audited_or_shown() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let mut browser = site.browser();
    let url = browser.start("").await;
    let callback = at_provider(&site, &url, "ann").await;
    browser.get(&callback).await.expect(303);
    // A sign-in that fails is logged.
    let again = browser.get(&callback).await;
    assert_eq!(again.status, 400);
    let field = |address: &str, name: &str| {
        let (_, query) = address.split_once('?').unwrap();
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find(|(key, _)| key == name).unwrap().1.into_owned()
    };
    let audit = site.admin.get("/api/audit").await.expect(200).text();
    let providers = site
        .admin
        .get("/api/oidc/providers")
        .await
        .expect(200)
        .text();
    let log = site.server.log();
    for secret in [
        SECRET.to_owned(),
        field(&callback, "code"),
        field(&callback, "state"),
        field(&url, "nonce"),
        browser.session().unwrap().clone(),
        browser.cookies["svc_pre"].clone(),
    ] {
        for (what, text) in [("audit", &audit), ("providers", &providers), ("log", &log)] {
            assert!(!text.contains(&secret), "{what} contains {secret}");
        }
    }
    let file = std::fs::read(site.server.data_dir().join("svc.db")).unwrap();
    let secret = SECRET.as_bytes();
    assert!(!file.windows(secret.len()).any(|bytes| bytes == secret));
}

#[tokio::test]
async fn a_provider_that_is_down_is_reported_and_passwords_still_work() {
    let Some(mut site) = Site::start(json!({})).await else {
        return;
    };
    site.provider.kill9();
    let mut browser = site.browser();
    let answer = browser.get("/api/auth/oidc/corp/start").await.expect(502);
    assert!(
        answer.text().contains("cannot be used"),
        "{}",
        answer.text()
    );
    site.admin.login().await;
    let options = browser.get("/api/auth/oidc").await.expect(200).json();
    assert_eq!(options["providers"][0]["name"], "corp");
}

#[tokio::test]
async fn a_provider_that_goes_down_during_a_sign_in_signs_no_user_in() {
    let Some(mut site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let mut browser = site.browser();
    let callback = browser.callback(&site, "ann").await;
    site.provider.kill9();
    let answer = browser.get(&callback).await;
    expect_refused(&browser, &answer, "cannot be used");
    assert!(site.user("ann").await.is_none(), "no user was created");
}

#[tokio::test]
async fn a_sign_in_survives_a_crash_of_the_server_after_each_step() {
    let Some(mut site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let mut browser = site.browser();
    let url = browser.start("").await;
    crash(&mut site).await;
    let callback = at_provider(&site, &url, "ann").await;
    crash(&mut site).await;
    browser.get(&callback).await.expect(303);
    crash(&mut site).await;
    assert_eq!(site.me(&mut browser).await["username"], "ann");
    // The crash did not make the answer of the provider valid again.
    let again = browser.get(&callback).await;
    assert_eq!(again.status, 400, "{}", again.text());
}

async fn crash(site: &mut Site) {
    site.server.kill9();
    site.server.start_again().await;
}

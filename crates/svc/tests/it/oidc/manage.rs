//! Providers as administrators manage them, and who may sign in with a password.

use serde_json::json;
use svc_testkit::TestServer;

use super::{SECRET, Site, builder};

#[tokio::test]
async fn a_provider_is_managed_on_the_command_line_and_its_secret_is_never_shown() {
    let Some(site) = Site::start(json!({})).await else {
        return;
    };
    let cli = || site.server.cli(&site.admin);
    let shown = cli().run(&["oidc", "get", "corp"]).await.expect(0);
    assert!(!shown.stdout.contains(SECRET), "{}", shown.stdout);
    let listed = cli()
        .run(&["oidc", "list", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(listed["providers"][0]["has_secret"], true);
    let checked = cli().run(&["oidc", "check", "corp"]).await.expect(0);
    assert!(
        checked.stdout.contains("accepts the client id"),
        "{}",
        checked.stdout
    );
    let wrong = json!({"client_secret": "another"});
    site.patch(wrong).await.expect(200);
    let checked = cli().run(&["oidc", "check", "corp"]).await.expect(6);
    assert!(
        checked.stdout.contains("invalid_client"),
        "{}",
        checked.stdout
    );
    let (browser, answer) = site.sign_in("ann").await;
    super::expect_refused(
        &browser,
        &answer,
        "compare the client id and the client secret",
    );
    cli()
        .run(&[
            "oidc",
            "update",
            "corp",
            "--groups-claim",
            "groups",
            "--map",
            "admins=role:admin",
            "--create-users",
            "true",
            "--require",
            "groups=staff",
        ])
        .await
        .expect(0);
    let provider = cli()
        .run(&["oidc", "get", "corp", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(
        provider["mappings"],
        json!([{"value": "admins", "role": "admin"}])
    );
    assert_eq!(provider["required_claims"], json!({"groups": ["staff"]}));
    cli().run(&["oidc", "rm", "corp"]).await.expect(0);
    cli().run(&["oidc", "get", "corp"]).await.expect(5);
}

#[tokio::test]
async fn a_client_secret_is_replaced_and_removed_on_the_command_line() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let cli = || server.cli(&admin);
    let issuer = ["--issuer", "https://id.example.com", "--client-id", "svc"];
    let create = [&["oidc", "create", "corp"][..], &issuer].concat();
    cli().run(&create).await.expect(0);
    let has_secret = async || {
        let get = ["oidc", "get", "corp", "-o", "json"];
        cli().run(&get).await.expect(0).json()["has_secret"] == true
    };
    assert!(!has_secret().await);
    let replace = ["oidc", "update", "corp", "--secret-stdin"];
    cli().input("a secret\n").run(&replace).await.expect(0);
    assert!(has_secret().await);
    // Empty input is an error, and removes nothing.
    let refused = cli().input("\n").run(&replace).await.expect(2);
    assert!(refused.stderr.contains("is empty"), "{}", refused.stderr);
    let both = [&replace[..], &["--no-secret"]].concat();
    cli().input("a secret\n").run(&both).await.expect(2);
    assert!(has_secret().await);
    let remove = ["oidc", "update", "corp", "--no-secret"];
    cli().run(&remove).await.expect(0);
    assert!(!has_secret().await);
}

#[tokio::test]
async fn invalid_settings_are_refused() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let good = json!({"name": "corp", "issuer": "https://id.example.com", "client_id": "svc"});
    for (change, why) in [
        (json!({"name": "Corp"}), "provider name `Corp`"),
        (json!({"name": "a/b"}), "provider name"),
        (json!({"client_id": ""}), "client id is empty"),
        (json!({"scopes": ["profile"]}), "`openid`"),
        (json!({"scopes": ["openid", "a b"]}), "`scopes`"),
        (json!({"create_users": true}), "`required_claims`"),
        (
            json!({"required_claims": {"groups": []}}),
            "accepted values",
        ),
        (
            json!({"mappings": [{"value": "x", "role": "admin"}]}),
            "`groups_claim`",
        ),
        (
            json!({"groups_claim": "g", "mappings": [{"value": "x"}]}),
            "either `group` or `role`",
        ),
        (
            json!({"groups_claim": "g", "mappings": [{"value": "x", "role": "nope"}]}),
            "`nope`",
        ),
        (
            json!({"groups_claim": "g", "mappings": [{"value": "x", "group": "nope"}]}),
            "`nope`",
        ),
        (json!({"client_secret": "x".repeat(2000)}), "client secret"),
    ] {
        let mut body = good.clone();
        super::merge(&mut body, change.clone());
        let refused = admin.post("/api/oidc/providers", &body).await;
        assert_eq!(refused.status, 400, "{change}: {}", refused.text());
        assert!(refused.text().contains(why), "{change}: {}", refused.text());
    }
    admin.post("/api/oidc/providers", &good).await.expect(201);
    let mut again = good.clone();
    let refused = admin.post("/api/oidc/providers", &good).await;
    assert_eq!(refused.expect(409).code(), "name_taken");
    again["name"] = json!("other");
    let refused = admin.post("/api/oidc/providers", &again).await;
    assert_eq!(refused.expect(409).code(), "name_taken");
    for n in 0..19 {
        let body = json!({"name": format!("p{n}"), "issuer": format!("https://p{n}.example.com"),
            "client_id": "svc"});
        admin.post("/api/oidc/providers", &body).await.expect(201);
    }
    let body = json!({"name": "more", "issuer": "https://more.example.com", "client_id": "svc"});
    let refused = admin.post("/api/oidc/providers", &body).await;
    assert_eq!(refused.expect(409).code(), "too_many_providers");
}

#[tokio::test]
async fn no_user_grants_more_through_a_provider_than_they_hold() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    server.groups(&["secret-group"]).await;
    server.role("keeper", &["manage_users"]).await;
    let keeper = server.user_with("keeper", &["keeper"], &[]).await;
    let with = |name: &str, more: serde_json::Value| {
        let mut body = json!({"name": name, "issuer": format!("https://{name}.example.com"),
            "client_id": "svc", "groups_claim": "groups"});
        super::merge(&mut body, more);
        body
    };
    for more in [
        json!({"mappings": [{"value": "x", "role": "admin"}]}),
        json!({"mappings": [{"value": "x", "group": "secret-group"}]}),
        json!({"create_users": true, "required_claims": {"a": ["b"]}}),
    ] {
        let refused = keeper.post("/api/oidc/providers", with("mine", more)).await;
        assert_eq!(refused.expect(403).code(), "exceeds_own_power");
    }
    keeper
        .post("/api/oidc/providers", with("mine", json!({})))
        .await
        .expect(201);
    // The claim of this provider decides who becomes an administrator.
    let mapped = with(
        "corp",
        json!({"mappings": [{"value": "x", "role": "admin"}]}),
    );
    let made = admin
        .post("/api/oidc/providers", mapped)
        .await
        .expect(201)
        .json();
    let path = format!("/api/oidc/providers/{}", made["id"].as_str().unwrap());
    for patch in [
        json!({"groups_claim": "nickname"}),
        json!({"client_id": "other"}),
        json!({"mappings": []}),
    ] {
        let refused = keeper.patch(&path, &patch).await;
        assert_eq!(refused.expect(403).code(), "exceeds_own_power", "{patch}");
    }
    assert_eq!(
        keeper.delete(&path).await.expect(403).code(),
        "exceeds_own_power"
    );
    let ben = server.user("ben").await;
    ben.get("/api/oidc/providers").await.expect(403);
}

#[tokio::test]
async fn passwords_of_administrators_work_until_one_has_signed_in_with_a_provider() {
    let on = builder().env("SVC_PASSWORD_LOGIN", "off");
    let settings = json!({"open": true, "groups_claim": "groups",
        "mappings": [{"value": "admins", "role": "admin"}]});
    let Some(site) = Site::start_on(on, settings).await else {
        return;
    };
    let password = "a long enough password";
    let ben = json!({"username": "ben", "password": password});
    site.admin.post("/api/users", ben).await.expect(201);
    // The right password, a wrong one and an unknown user get the same answer, which names the way
    // out.
    let mut refusals = Vec::new();
    for (user, given) in [
        ("ben", password),
        ("ben", "not the password"),
        ("nobody", password),
    ] {
        let refused = site.server.try_login(user, given).await.expect(401);
        assert_eq!(refused.code(), "invalid_credentials", "{user} {given}");
        refusals.push(refused.text());
    }
    assert!(
        refusals.iter().all(|one| *one == refusals[0]),
        "{refusals:?}"
    );
    assert!(
        refusals[0].contains("sign in with a provider"),
        "{refusals:?}"
    );
    // No administrator has signed in with the provider yet, so passwords of administrators are
    // accepted.
    site.server
        .try_login("admin", &site.admin.password)
        .await
        .expect(200);
    site.sign_in("ann").await;
    site.server
        .try_login("admin", &site.admin.password)
        .await
        .expect(200);
    site.account("ann", json!({"groups": ["admins"]})).await;
    site.sign_in("ann").await;
    let refused = site.server.try_login("admin", &site.admin.password).await;
    assert_eq!(refused.expect(401).code(), "invalid_credentials");
    // Without an enabled provider, passwords of administrators are accepted again.
    let (mut ann, _) = site.sign_in("ann").await;
    let list = ann.get("/api/oidc/providers").await.expect(200).json();
    let path = format!(
        "/api/oidc/providers/{}",
        list["providers"][0]["id"].as_str().unwrap()
    );
    ann.send("PATCH", &path, json!({"enabled": false}))
        .await
        .expect(200);
    site.server
        .try_login("admin", &site.admin.password)
        .await
        .expect(200);
}

#[tokio::test]
async fn an_administrator_signs_in_once_with_a_link_that_the_server_prints() {
    let on = builder()
        .env("SVC_PASSWORD_LOGIN", "off")
        .args(&["--sign-in-link", "admin"]);
    let mut server = on.start().await;
    let line = server
        .process()
        .wait_for_log("/sign-in#", crate::SOON)
        .await;
    let token = line.split('#').nth(1).unwrap().trim().to_owned();
    let mut browser = super::Browser::of(&server);
    let link = json!({ "token": token });
    browser
        .send("POST", "/api/auth/sign-in", link.clone())
        .await
        .expect(200);
    let me = browser.get("/api/auth/me").await.expect(200).json();
    assert_eq!(me["roles"], json!(["admin"]));
    let again = browser.send("POST", "/api/auth/sign-in", link).await;
    assert_eq!(again.expect(401).code(), "invalid_sign_in_link");
}

//! Which user an account of a provider belongs to. Only a stored link decides, never an e-mail
//! address or a name.

use serde_json::json;

use super::{Browser, Site, at_provider, expect_refused};

/// A browser in which a local user is signed in, and the user's password.
async fn signed_in(site: &Site, name: &str) -> (Browser, String) {
    let user = site.server.user(name).await;
    let cookie = user.login().await;
    let (key, value) = cookie.split_once('=').unwrap();
    let mut browser = site.browser();
    browser.cookies.insert(key.to_owned(), value.to_owned());
    (browser, user.password.clone())
}

const LINK: &str = "/api/auth/oidc/corp/link";

#[tokio::test]
async fn an_account_with_the_name_or_the_address_of_a_user_is_not_that_user() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let claims = json!({"preferred_username": "admin", "email": "admin@corp.example",
        "email_verified": true, "groups": ["admins"]});
    site.account("mallory", claims).await;
    let (browser, answer) = site.sign_in("mallory").await;
    expect_refused(&browser, &answer, "`admin` is taken");
    for (preferred, why) in [
        // A Cyrillic letter in place of the first letter.
        ("\u{430}dmin", "no user name can be made"),
        ("Admin@corp.example", "`admin` is taken"),
        ("...", "no user name can be made"),
    ] {
        site.account("mallory", json!({ "preferred_username": preferred }))
            .await;
        let (browser, answer) = site.sign_in("mallory").await;
        expect_refused(&browser, &answer, why);
    }
}

#[tokio::test]
async fn a_user_links_an_account_with_the_password_and_unlinks_it() {
    let Some(site) = Site::start(json!({})).await else {
        return;
    };
    let (mut ann, ann_password) = signed_in(&site, "ann").await;
    let wrong = ann
        .send("POST", LINK, json!({"password": "not this one"}))
        .await;
    assert_eq!(wrong.expect(403).code(), "wrong_password");
    let missing = ann.send("POST", LINK, json!({})).await;
    assert_eq!(missing.expect(403).code(), "proof_required");
    let started = ann
        .send("POST", LINK, json!({ "password": ann_password }))
        .await;
    let url = started.expect(200).json()["redirect_to"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(url.contains("prompt=login"), "{url}");
    let callback = at_provider(&site, &url, "ann-at-corp").await;
    // Another browser cannot complete the link.
    let mut other = site.browser();
    let answer = other.get(&callback).await;
    expect_refused(&other, &answer, "did not begin in this browser");
    let done = ann.get(&callback).await.expect(303);
    assert_eq!(done.header("location"), Some("/account#identities"));
    let (mut browser, _) = site.sign_in("ann-at-corp").await;
    assert_eq!(site.me(&mut browser).await["username"], "ann");

    // The same account cannot be linked to a second user.
    let (mut ben, password) = signed_in(&site, "ben").await;
    let started = ben
        .send("POST", LINK, json!({ "password": password }))
        .await;
    let url = started.expect(200).json()["redirect_to"]
        .as_str()
        .unwrap()
        .to_owned();
    let callback = at_provider(&site, &url, "ann-at-corp").await;
    let answer = ben.get(&callback).await.expect(409);
    assert!(
        answer.text().contains("linked to another user"),
        "{}",
        answer.text()
    );

    let linked = ann.get("/api/auth/identities").await.expect(200).json();
    assert_eq!(linked["has_password"], true);
    let id = linked["identities"][0]["id"].as_str().unwrap();
    let path = format!("/api/auth/identities/{id}");
    let remove = format!("{path}/remove");
    ben.send("DELETE", &path, json!({})).await.expect(404);
    let of_ben = json!({ "password": password });
    ben.send("POST", &remove, of_ben.clone()).await.expect(404);
    // A thief of Ann's session cannot unlink the account without Ann's password.
    for (method, path, proof, code) in [
        ("DELETE", &path, json!({}), "proof_required"),
        ("POST", &remove, json!({}), "proof_required"),
        ("POST", &remove, of_ben, "wrong_password"),
    ] {
        let refused = ann.send(method, path, proof).await.expect(403);
        assert_eq!(refused.code(), code, "{method} {path}");
    }
    browser.get("/api/auth/me").await.expect(200);
    let proof = json!({ "password": ann_password });
    ann.send("POST", &remove, proof).await.expect(204);
    browser.get("/api/auth/me").await.expect(401);
    let (browser, answer) = site.sign_in("ann-at-corp").await;
    expect_refused(&browser, &answer, "not linked");
    let actions = site.admin.audit_actions().await;
    for action in ["identity.linked", "identity.unlinked"] {
        assert!(actions.iter().any(|(_, found)| found == action), "{action}");
    }
}

#[tokio::test]
async fn a_link_that_another_session_began_is_refused() {
    let Some(site) = Site::start(json!({})).await else {
        return;
    };
    let (mut ann, password) = signed_in(&site, "ann").await;
    let started = ann
        .send("POST", LINK, json!({ "password": password }))
        .await;
    let url = started.expect(200).json()["redirect_to"]
        .as_str()
        .unwrap()
        .to_owned();
    let callback = at_provider(&site, &url, "x").await;
    // Ben signs in in the same browser. If the server did not compare the sessions, Ann's account
    // at the provider would be linked to Ben.
    let ben = site.server.user("ben").await;
    let cookie = ben.login().await;
    let (_, value) = cookie.split_once('=').unwrap();
    ann.cookies
        .insert("svc_session".to_owned(), value.to_owned());
    let answer = ann.get(&callback).await.expect(403);
    assert!(
        answer.text().contains("another session"),
        "{}",
        answer.text()
    );
    let linked = ann.get("/api/auth/identities").await.expect(200).json();
    assert_eq!(linked["identities"], json!([]));
}

#[tokio::test]
async fn a_user_without_a_password_cannot_unlink_the_last_account() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let (mut ann, _) = site.sign_in("ann").await;
    let linked = ann.get("/api/auth/identities").await.expect(200).json();
    let id = linked["identities"][0]["id"].as_str().unwrap();
    let remove = format!("/api/auth/identities/{id}/remove");
    let refused = ann.send("POST", &remove, json!({})).await;
    assert_eq!(refused.expect(409).code(), "last_identity");
    for path in [LINK, &remove, "/api/auth/totp"] {
        let refused = ann.send("POST", path, json!({"password": ""})).await;
        assert_eq!(refused.expect(403).code(), "no_password", "{path}");
    }
    // A token cannot link an account.
    let refused = site.admin.post(LINK, json!({"password": "x"})).await;
    assert_eq!(refused.expect(403).code(), "session_required");
}

#[tokio::test]
async fn a_user_without_a_password_changes_accounts_only_after_a_recent_sign_in() {
    let Some(mut site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let (mut ann, _) = site.sign_in("ann").await;
    let started = ann.send("POST", LINK, json!({})).await.expect(200).json();
    let url = started["redirect_to"].as_str().unwrap();
    let callback = at_provider(&site, url, "ann-at-home").await;
    ann.get(&callback).await.expect(303);
    let linked = ann.get("/api/auth/identities").await.expect(200).json();
    let id = linked["identities"][1]["id"].as_str().unwrap();
    let remove = format!("/api/auth/identities/{id}/remove");

    let age = "UPDATE sessions SET created_at = created_at - 11 * 60000";
    site.server.edit_database(age).await;
    site.server.start_again().await;
    for path in [LINK, &remove] {
        let refused = ann.send("POST", path, json!({})).await.expect(403);
        assert_eq!(refused.code(), "proof_required", "{path}");
        let text = refused.text();
        assert!(text.contains("sign in again with your provider"), "{text}");
    }
    let (mut ann, _) = site.sign_in("ann").await;
    ann.send("POST", &remove, json!({})).await.expect(204);
}

#[tokio::test]
async fn a_manager_of_users_unlinks_only_accounts_of_users_without_more_permissions() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let (mut ann, _) = site.sign_in("ann").await;
    let user = site.user("ann").await.unwrap();
    let id = user["id"].as_str().unwrap();
    let list = format!("/api/auth/identities?user={id}");
    site.server.role("helpdesk", &["manage_users"]).await;
    let helper = site.server.user_with("helper", &["helpdesk"], &[]).await;
    let stranger = site.server.user("stranger").await;
    stranger.get(&list).await.expect(403);
    let linked = helper.get(&list).await.expect(200).json();
    assert_eq!(linked["has_password"], false);
    let account = linked["identities"][0]["id"].as_str().unwrap();
    let path = format!("/api/auth/identities/{account}");
    stranger.delete(&path).await.expect(404);

    // Ann gets more permissions than the helper.
    let user = format!("/api/users/{id}");
    let roles = json!({"roles": ["admin"]});
    site.admin.patch(&user, roles).await.expect(200);
    let refused = helper.delete(&path).await.expect(403);
    assert_eq!(refused.code(), "exceeds_own_power");
    ann.get("/api/auth/me").await.expect(200);
    site.admin.delete(&path).await.expect(204);
    ann.get("/api/auth/me").await.expect(401);
    let left = site.admin.get(&list).await.expect(200).json();
    assert_eq!(left["identities"], json!([]));
    let actions = site.admin.audit_actions().await;
    let entry = ("admin".to_owned(), "identity.unlinked".to_owned());
    assert!(actions.contains(&entry), "{actions:?}");
}

//! Sign-ins that an attacker begins, steals or redirects.

use serde_json::json;

use super::{Site, at_provider, expect_refused};

#[tokio::test]
async fn an_answer_is_accepted_once_and_only_in_the_browser_that_began() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let mut mallory = site.browser();
    let callback = mallory.callback(&site, "mallory").await;
    // The victim opens the attacker's callback address: first while the victim has no sign-in in
    // progress, then during a sign-in.
    let mut victim = site.browser();
    let answer = victim.get(&callback).await;
    expect_refused(&victim, &answer, "did not begin in this browser");
    let own = victim.start("").await;
    let answer = victim.get(&callback).await;
    expect_refused(&victim, &answer, "did not begin in this browser");
    // The browser that began the sign-in can still complete it.
    mallory.get(&callback).await.expect(303);
    assert_eq!(site.me(&mut mallory).await["username"], "mallory");
    let answer = mallory.get(&callback).await;
    assert_eq!(answer.status, 400, "twice");
    // The attacker's code with the victim's state: the code was issued for another sign-in.
    let stolen = at_provider(&site, &mallory.start("").await, "mallory").await;
    let code = parameter(&stolen, "code");
    let mine = at_provider(&site, &own, "victim").await;
    let mixed = mine.replace(&parameter(&mine, "code"), &code);
    let answer = victim.get(&mixed).await;
    expect_refused(&victim, &answer, "refused the code");
}

#[tokio::test]
async fn two_tabs_of_a_browser_do_not_disturb_each_other() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let mut browser = site.browser();
    let first = browser.start("?return_to=/methods").await;
    let second = browser.start("?return_to=/events").await;
    for (url, expected) in [(second, "/events"), (first, "/methods")] {
        let callback = at_provider(&site, &url, "ann").await;
        let answer = browser.get(&callback).await.expect(303);
        assert_eq!(answer.header("location"), Some(expected));
    }
}

#[tokio::test]
async fn a_sign_in_always_opens_a_new_session() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let mallory = site.server.user("mallory").await;
    let planted = mallory.login().await;
    let (name, value) = planted.split_once('=').unwrap();
    let mut victim = site.browser();
    victim.cookies.insert(name.to_owned(), value.to_owned());
    victim.sign_in(&site, "ann").await.expect(303);
    assert_ne!(victim.session().unwrap(), value);
    assert_eq!(site.me(&mut victim).await["username"], "ann");
    let headers = [("cookie", planted.as_str())];
    let still = site
        .server
        .http()
        .request("GET", "/api/auth/me", &headers, "")
        .await;
    assert_eq!(still.expect(200).json()["username"], "mallory");
}

#[tokio::test]
async fn a_browser_never_returns_to_another_site() {
    let Some(site) = Site::start(json!({})).await else {
        return;
    };
    let mut browser = site.browser();
    for target in [
        "//evil.example",
        "/%5Cevil.example",
        "https://evil.example",
        "%09//evil.example",
        "javascript:alert(1)",
        "account",
    ] {
        let path = format!("/api/auth/oidc/corp/start?return_to={target}");
        let answer = browser.get(&path).await;
        expect_refused(&browser, &answer, "must be a path of this server");
    }
    let twice = "/api/auth/oidc/corp/start?return_to=/a&return_to=//evil.example";
    let answer = browser.get(twice).await;
    expect_refused(&browser, &answer, "given twice");
    let unknown = browser.get("/api/auth/oidc/nowhere/start").await;
    expect_refused(&browser, &unknown, "`nowhere` does not exist");
}

#[tokio::test]
async fn an_answer_of_another_issuer_and_an_error_are_shown_as_text() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let mut browser = site.browser();
    for (change, why) in [
        (
            "&iss=http%3A%2F%2Fevil.example",
            "did not come from the provider",
        ),
        ("", "did not come from the provider"),
    ] {
        let callback = browser.callback(&site, "ann").await;
        let (start, _) = callback.split_once("&iss=").unwrap();
        let answer = browser.get(&format!("{start}{change}")).await;
        expect_refused(&browser, &answer, why);
    }
    let url = browser.start("").await;
    let state = parameter(&url, "state");
    let iss = form_urlencoded::byte_serialize(site.issuer.as_bytes()).collect::<String>();
    let answer = browser
        .get(&format!(
            "/api/auth/oidc/corp/callback?state={state}&iss={iss}&error=access_denied&error_description=%3Cscript%3E"
        ))
        .await;
    expect_refused(&browser, &answer, "access_denied &lt;script&gt;");
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src"), "{policy}");
}

#[tokio::test]
async fn sign_ins_from_one_address_are_limited() {
    let Some(site) = Site::start(json!({})).await else {
        return;
    };
    let mut refused = None;
    for _ in 0..100 {
        let answer = site.browser().get("/api/auth/oidc/corp/start").await;
        if answer.status != 303 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("a limit");
    assert_eq!(refused.status, 429, "{}", refused.text());
}

fn parameter(address: &str, name: &str) -> String {
    let (_, query) = address.split_once('?').unwrap();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, _)| key == name).unwrap().1.into_owned()
}

//! Apps and machines that a user connected after a sign-in with a provider.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use svc_testkit::{Answer, Http};

use super::{Browser, Site, logout::provider_session};

const CALLBACK: &str = "http://127.0.0.1:51234/callback";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// An app and a machine that the user of a browser connected.
struct Connected {
    client_id: String,
    access_token: String,
    refresh_token: String,
    login_token: String,
}

impl Connected {
    async fn new(site: &Site, browser: &mut Browser) -> Self {
        let http = site.server.http();
        let app = json!({"client_name": "Probe", "redirect_uris": [CALLBACK]});
        let headers = [("content-type", "application/json")];
        let app = http.request("POST", "/register", &headers, app.to_string());
        let client_id = text(&app.await.expect(201).json()["client_id"]);
        let code = code(browser, &client_id).await;
        let tokens = exchange(&http, &client_id, &code).await.expect(200).json();
        Self {
            client_id,
            access_token: text(&tokens["access_token"]),
            refresh_token: text(&tokens["refresh_token"]),
            login_token: login_on_device(&http, browser).await,
        }
    }

    async fn refresh(&self, http: &Http) -> Answer {
        let fields = [
            ("grant_type", "refresh_token"),
            ("client_id", self.client_id.as_str()),
            ("refresh_token", self.refresh_token.as_str()),
        ];
        form(http, "/token", &fields).await
    }

    /// The HTTP statuses of two requests: one with the app's access token, one with the machine's
    /// token.
    async fn statuses(&self, http: &Http) -> (u16, u16) {
        let get = async |path: &str, token: &str| {
            let bearer = format!("Bearer {token}");
            let headers = [("authorization", bearer.as_str())];
            http.request("GET", path, &headers, "").await.status
        };
        let of_app = get("/api/methods", &self.access_token).await;
        (of_app, get("/api/auth/me", &self.login_token).await)
    }
}

/// A code that the user of a browser gave to an app.
async fn code(browser: &mut Browser, client_id: &str) -> String {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("response_type", "code"),
            ("client_id", client_id),
            ("redirect_uri", CALLBACK),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ])
        .finish();
    let asked = browser
        .get(&format!("/authorize?{query}"))
        .await
        .expect(303);
    let target = asked.header("location").unwrap();
    let request = target.strip_prefix("/connect?request=").unwrap();
    let path = format!("/api/oauth/requests/{request}");
    browser.get(&path).await.expect(200);
    let approved = browser.send("POST", &path, json!({"approve": true})).await;
    let target = text(&approved.expect(200).json()["redirect_to"]);
    let (_, query) = target.split_once('?').unwrap();
    let fields = form_urlencoded::parse(query.as_bytes());
    let mut codes = fields.filter(|(name, _)| name == "code");
    codes.next().unwrap().1.into_owned()
}

async fn exchange(http: &Http, client_id: &str, code: &str) -> Answer {
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", client_id),
        ("code", code),
        ("code_verifier", VERIFIER),
        ("redirect_uri", CALLBACK),
    ];
    form(http, "/token", &fields).await
}

async fn login_on_device(http: &Http, browser: &mut Browser) -> String {
    let started = form(http, "/device_authorization", &[("client_id", "svc-cli")]).await;
    let started = started.expect(200).json();
    let path = format!("/api/oauth/devices/{}", text(&started["user_code"]));
    let approved = browser.send("POST", &path, json!({"approve": true})).await;
    assert!(approved.status < 300, "{}", approved.text());
    let device_code = text(&started["device_code"]);
    let fields = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("client_id", "svc-cli"),
        ("device_code", device_code.as_str()),
    ];
    let polled = form(http, "/token", &fields).await.expect(200).json();
    text(&polled["access_token"])
}

async fn form(http: &Http, path: &str, fields: &[(&str, &str)]) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    http.request("POST", path, &headers, body).await
}

fn text(value: &Value) -> String {
    let text = value.as_str();
    text.unwrap_or_else(|| panic!("not a text: {value}"))
        .to_owned()
}

#[tokio::test]
async fn a_logout_at_the_provider_ends_the_tokens_that_its_session_created() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let http = site.server.http();
    let (mut ann, _) = site.sign_in("ann").await;
    let (mut ben, _) = site.sign_in("ben").await;
    let of_ann = Connected::new(&site, &mut ann).await;
    let of_ben = Connected::new(&site, &mut ben).await;
    let before = of_ann.statuses(&http).await;
    assert_eq!(before.1, 200);
    let pending = code(&mut ann, &of_ann.client_id).await;
    let sid = provider_session(&site, &ann).await;
    let body = json!({"sub": "ann", "sid": sid});
    let ended = site.tell("/test/logout", body).await;
    assert_eq!(ended["status"], 200, "{ended}");

    assert_eq!(of_ann.statuses(&http).await, (401, 401));
    let refused = of_ann.refresh(&http).await.expect(400).json();
    assert_eq!(refused["error"], "invalid_grant");
    let late = exchange(&http, &of_ann.client_id, &pending)
        .await
        .expect(400);
    assert_eq!(late.json()["error"], "invalid_grant");
    assert_eq!(of_ben.statuses(&http).await, before);
    of_ben.refresh(&http).await.expect(200);
}

#[tokio::test]
async fn without_a_fresh_sign_in_at_the_provider_nothing_is_renewed() {
    let Some(mut site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let (mut ann, _) = site.sign_in("ann").await;
    let connected = Connected::new(&site, &mut ann).await;
    // By default, a sign-in with the provider counts as fresh for 30 days.
    let shift = |days: i64| {
        format!("UPDATE oidc_identities SET last_login_at = last_login_at - {days} * 86400000")
    };
    site.server.edit_database(&shift(29)).await;
    site.server.start_again().await;
    let renewed = connected.refresh(&site.server.http()).await.expect(200);
    let refresh_token = text(&renewed.json()["refresh_token"]);
    let connected = Connected {
        refresh_token,
        ..connected
    };
    site.server.edit_database(&shift(2)).await;
    site.server.start_again().await;
    let http = site.server.http();
    let refused = connected.refresh(&http).await.expect(400).json();
    assert_eq!(refused["error"], "invalid_grant");
    let why = text(&refused["error_description"]);
    assert!(why.contains("provider"), "{why}");
}

#[tokio::test]
async fn the_token_of_a_machine_expires_when_a_new_sign_in_is_due() {
    let days = super::builder().env("SVC_OIDC_FRESH_LOGIN_DAYS", "7");
    let Some(site) = Site::start_on(days, json!({"open": true})).await else {
        return;
    };
    let (mut ann, _) = site.sign_in("ann").await;
    let http = site.server.http();
    login_on_device(&http, &mut ann).await;
    let tokens = ann.get("/api/tokens").await.expect(200).json();
    let token = &tokens["tokens"][0];
    let (created, expires) = (text(&token["created_at"]), text(&token["expires_at"]));
    let days = days_between(&created, &expires);
    assert!((6..=7).contains(&days), "{token}");
    // A user with a password is not bound to any provider.
    let local = site.server.user("local").await;
    let mut browser = site.browser();
    let login = json!({"username": "local", "password": local.password});
    browser
        .send("POST", "/api/auth/login", login)
        .await
        .expect(200);
    login_on_device(&http, &mut browser).await;
    let tokens = browser.get("/api/tokens").await.expect(200).json();
    let tokens = tokens["tokens"].as_array().unwrap();
    let token = tokens
        .iter()
        .find(|token| text(&token["name"]).starts_with("cli"));
    let token = token.unwrap();
    let days = days_between(&text(&token["created_at"]), &text(&token["expires_at"]));
    assert!((89..=90).contains(&days), "{token}");
}

/// The number of whole days between two timestamps of the API.
fn days_between(from: &str, to: &str) -> u64 {
    let parse = |text: &str| svc_core::Timestamp::parse(text).unwrap();
    parse(to).since(parse(from)).as_secs() / 86_400
}

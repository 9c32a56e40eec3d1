//! Passkeys, with an authenticator in software. `web/tests/browser/flows/passkey.js` makes the same
//! steps with the authenticator of a browser.

mod attacks;
mod audit;
mod manage;

use serde_json::{Value, json};
use svc_core::totp::code_of;
use svc_testkit::{Answer, Http, TestServer, TestServerBuilder, TestUser};

use super::{
    Protected, authenticator::Authenticator, complete, cookie_of, current_step, get_with_cookie,
    log_in, post, text,
};

fn named_server() -> TestServerBuilder {
    TestServer::builder().config("public_url = \"https://svc.example\"")
}

/// A user with one passkey.
struct Keyed {
    user: TestUser,
    key: Authenticator,
    id: String,
    recovery_codes: Vec<Value>,
}

impl Keyed {
    async fn new(user: TestUser) -> Self {
        let key = Authenticator::new();
        let added = add(&user, &key, "Phone").await.expect(201).json();
        Self {
            user,
            key,
            id: text(&added["passkey"]["id"]).to_owned(),
            recovery_codes: added["recovery_codes"].as_array().unwrap().clone(),
        }
    }

    async fn sign_in(&mut self) -> Answer {
        let options = ask(&self.user.http(), json!({})).await.expect(200).json();
        let answer = self.key.get(&options);
        send(&self.user.http(), answer).await
    }
}

async fn begin(user: &TestUser) -> Answer {
    let body = json!({"password": user.password});
    user.post("/api/auth/passkeys/begin", body).await
}

async fn add(user: &TestUser, key: &Authenticator, name: &str) -> Answer {
    let options = begin(user).await.expect(200).json();
    user.post("/api/auth/passkeys", key.create(&options, name))
        .await
}

async fn ask(http: &Http, body: Value) -> Answer {
    post(http, "/api/auth/passkeys/challenge", &[], body).await
}

async fn send(http: &Http, answer: Value) -> Answer {
    post(http, "/api/auth/passkeys/login", &[], answer).await
}

/// An answer for the second step of a login.
fn with_token(mut answer: Value, token: &str) -> Value {
    answer["token"] = json!(token);
    answer
}

#[tokio::test]
async fn a_passkey_signs_in_without_a_password_and_after_one() {
    let mut server = named_server().start().await;
    let mut ann = Keyed::new(server.user("ann").await).await;
    assert_eq!(ann.recovery_codes.len(), 10);
    // A crash after the setup loses nothing.
    server.kill9();
    server.start_again().await;
    let cookie = cookie_of(&ann.sign_in().await.expect(200));
    let me = get_with_cookie(&server.http(), "/api/auth/me", &cookie).await;
    assert_eq!(me.expect(200).json()["username"], "ann");

    let login = log_in(&server.http(), &ann.user).await.expect(200).json();
    let pending = &login["second_factor"];
    assert_eq!(pending["methods"], json!(["passkey", "recovery_code"]));
    let token = text(&pending["token"]);
    let options = ask(&server.http(), json!({"token": token})).await;
    let options = options.expect(200).json();
    assert_eq!(options["allow"].as_array().unwrap().len(), 1);
    let answer = with_token(ann.key.get(&options), token);
    let session = send(&server.http(), answer.clone()).await.expect(200);
    cookie_of(&session);
    // The completed login cannot be completed again.
    send(&server.http(), answer).await.expect(401);
    let state = ann.user.get("/api/auth/second-factor").await.expect(200);
    let state = state.json();
    assert!(state["passkeys"][0]["last_used_at"].is_string(), "{state}");
    let audit = server.admin().await.get("/api/audit").await.expect(200);
    let audit = audit.text();
    for kind in ["\"passkey\"", "\"passkey_alone\""] {
        assert!(
            audit.contains(&format!("\"second_factor\":{kind}")),
            "{audit}"
        );
    }
}

#[tokio::test]
async fn recovery_codes_work_for_users_with_passkeys_only() {
    let server = named_server().start().await;
    let ann = Keyed::new(server.user("ann").await).await;
    let token = super::pending(&ann.user).await;
    let code = text(&ann.recovery_codes[0]);
    complete(&server.http(), &token, code).await.expect(200);
    let body = json!({"password": ann.user.password});
    let renewed = ann.user.post("/api/auth/recovery-codes", body).await;
    let renewed = renewed.expect(200).json();
    let token = super::pending(&ann.user).await;
    let old = complete(&server.http(), &token, text(&ann.recovery_codes[1])).await;
    assert_eq!(old.expect(403).code(), "wrong_code");
    let new = text(&renewed["recovery_codes"][0]);
    complete(&server.http(), &token, new).await.expect(200);
}

#[tokio::test]
async fn a_passkey_is_the_required_second_factor_and_ends_the_enrolment() {
    let server = named_server().start().await;
    let admin = server.admin().await;
    let body = json!({"name": "strict", "require_second_factor": true});
    admin.post("/api/roles", body).await.expect(201);
    let ann = server.user("ann").await;
    let patch = json!({"roles": ["user", "strict"]});
    admin
        .patch(&format!("/api/users/{}", ann.id), patch)
        .await
        .expect(200);
    let cookie = cookie_of(&log_in(&server.http(), &ann).await.expect(200));
    let headers = [("cookie", cookie.as_str())];
    let proof = json!({"password": ann.password});
    let options = post(&server.http(), "/api/auth/passkeys/begin", &headers, proof).await;
    let mut key = Authenticator::new();
    let new = key.create(&options.expect(200).json(), "Phone");
    let added = post(&server.http(), "/api/auth/passkeys", &headers, new).await;
    let id = added.expect(201).json()["passkey"]["id"].clone();
    get_with_cookie(&server.http(), "/api/methods", &cookie)
        .await
        .expect(200);

    // A login with only the passkey has no second step.
    let options = ask(&server.http(), json!({})).await.expect(200).json();
    let session = send(&server.http(), key.get(&options)).await.expect(200);
    let methods = get_with_cookie(&server.http(), "/api/methods", &cookie_of(&session)).await;
    methods.expect(200);
    let path = format!("/api/auth/passkeys/{}/remove", text(&id));
    let kept = ann.post(&path, json!({"password": ann.password})).await;
    assert_eq!(kept.expect(409).code(), "last_second_factor");
}

#[tokio::test]
async fn a_host_without_a_name_has_no_passkeys_and_the_error_names_the_setting() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let refused = begin(&ann).await.expect(409);
    assert_eq!(refused.code(), "passkeys_unavailable");
    let detail = refused.json()["detail"].to_string();
    assert!(
        detail.contains("localhost") && detail.contains("public_url"),
        "{detail}"
    );
    let host = format!("localhost:{}", server.address().port());
    let headers = [("host", host.as_str())];
    let asked = post(
        &server.http(),
        "/api/auth/passkeys/challenge",
        &headers,
        json!({}),
    )
    .await;
    assert_eq!(asked.expect(200).json()["rp_id"], "localhost");
}

#[tokio::test]
async fn an_app_and_passkeys_are_independent_of_each_other() {
    let server = named_server().start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let key = Authenticator::new();
    let added = add(&ann.user, &key, "Phone").await.expect(201).json();
    assert_eq!(
        added["recovery_codes"],
        json!([]),
        "the earlier codes stay valid"
    );
    let body = json!({"password": ann.user.password});
    ann.user
        .post("/api/auth/totp/remove", &body)
        .await
        .expect(204);
    let token = ann.pending().await;
    let used = ann
        .try_code(&token, &code_of(&ann.secret, current_step()))
        .await;
    assert_eq!(used.expect(403).code(), "wrong_code");
    ann.try_code(&token, &ann.recovery_codes[0])
        .await
        .expect(200);
    let id = text(&added["passkey"]["id"]);
    let path = format!("/api/auth/passkeys/{id}/remove");
    ann.user.post(&path, &body).await.expect(204);
    // Removing the last factor removes the recovery codes too.
    ann.user.login().await;
    let state = ann.user.get("/api/auth/second-factor").await.expect(200);
    assert_eq!(state.json()["recovery_codes_left"], 0);
}

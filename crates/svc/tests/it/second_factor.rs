//! Second factors of logins with a password.
//!
//! Each code of an authenticator app belongs to a step of 30 seconds. The server accepts the code
//! once, during its own step or during the step before or after. The tests enter codes of the
//! current and of the next step, which stay valid for at least 30 seconds, so the tests never wait
//! for a step. A further login uses a recovery code.

pub mod authenticator;
mod cli;
mod enrolment;
mod login;
mod passkeys;
mod policy;
mod secrets;
mod zone;

use data_encoding::BASE32_NOPAD;
use serde_json::{Value, json};
use svc_core::totp::{code_of, step_at};
use svc_testkit::{Answer, Http, TestUser};

/// A user with an authenticator app.
struct Protected {
    user: TestUser,
    secret: Vec<u8>,
    /// The step of the first code, which was already used.
    step: i64,
    recovery_codes: Vec<String>,
}

impl Protected {
    async fn new(user: TestUser) -> Self {
        let secret = begin(&user).await;
        let step = current_step();
        let codes = confirm(&user, &code_of(&secret, step)).await;
        let codes = codes.expect(200).json();
        let codes = codes["recovery_codes"].as_array().unwrap();
        Self {
            user,
            secret,
            step,
            recovery_codes: codes.iter().map(|code| text(code).to_owned()).collect(),
        }
    }

    /// A code that was not used yet.
    fn next_code(&self) -> String {
        code_of(&self.secret, self.step + 1)
    }

    /// A code of a past step. It has the right form and is never accepted.
    fn wrong_code(&self) -> String {
        let used = [self.next_code(), code_of(&self.secret, self.step)];
        let wrong = (2..).map(|ago| code_of(&self.secret, self.step - ago));
        let mut wrong = wrong.filter(|code| !used.contains(code));
        wrong.next().unwrap()
    }

    /// The token of a login whose password was right.
    async fn pending(&self) -> String {
        pending(&self.user).await
    }

    async fn try_code(&self, token: &str, code: &str) -> Answer {
        complete(&self.user.http(), token, code).await
    }
}

fn current_step() -> i64 {
    step_at(svc_clock::now())
}

/// Begins to set up an app; returns its secret.
async fn begin(user: &TestUser) -> Vec<u8> {
    let body = json!({"password": user.password});
    let shown = user.post("/api/auth/totp", body).await.expect(200).json();
    decode_base32(text(&shown["secret"]))
}

async fn confirm(user: &TestUser, code: &str) -> Answer {
    user.post("/api/auth/totp/confirm", json!({ "code": code }))
        .await
}

async fn pending(user: &TestUser) -> String {
    let answer = log_in(&user.http(), user).await.expect(200);
    assert_eq!(answer.header("set-cookie"), None, "no session yet");
    let answer = answer.json();
    assert_eq!(answer["username"], Value::Null, "the user is not shown");
    text(&answer["second_factor"]["token"]).to_owned()
}

async fn log_in(http: &Http, user: &TestUser) -> Answer {
    let body = json!({"username": user.name, "password": user.password});
    post(http, "/api/auth/login", &[], body).await
}

async fn complete(http: &Http, token: &str, code: &str) -> Answer {
    let body = json!({"token": token, "code": code});
    post(http, "/api/auth/second-factor", &[], body).await
}

async fn post(http: &Http, path: &str, headers: &[(&str, &str)], body: Value) -> Answer {
    let mut headers = headers.to_vec();
    headers.push(("content-type", "application/json"));
    http.request("POST", path, &headers, body.to_string()).await
}

/// The session cookie of an answer, as a browser sends it.
fn cookie_of(answer: &Answer) -> String {
    let cookie = answer.header("set-cookie").expect("a session");
    cookie.split(';').next().unwrap().to_owned()
}

async fn get_with_cookie(http: &Http, path: &str, cookie: &str) -> Answer {
    http.request("GET", path, &[("cookie", cookie)], "").await
}

fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("not a text: {value}"))
}

fn decode_base32(text: &str) -> Vec<u8> {
    BASE32_NOPAD.decode(text.as_bytes()).expect("base32")
}

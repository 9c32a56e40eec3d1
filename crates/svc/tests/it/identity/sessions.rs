//! Logging in and out, passwords, the first start (spec 5).

use std::time::Duration;

use serde_json::json;
use svc_testkit::{ADMIN_PASSWORD, TestServer, eventually};

use crate::SOON;

#[tokio::test]
async fn s5_a_password_change_needs_the_old_password_and_ends_other_sessions() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (here, elsewhere) = (ann.login().await, ann.login().await);
    let change = |cookie: String, current: &'static str, new: &'static str| {
        let (http, password) = (server.http(), ann.password.clone());
        async move {
            let current = if current.is_empty() {
                password
            } else {
                current.to_owned()
            };
            let body = json!({"current_password": current, "new_password": new}).to_string();
            let headers = [
                ("cookie", cookie.as_str()),
                ("content-type", "application/json"),
            ];
            http.request("POST", "/api/auth/password", &headers, body)
                .await
                .status
        }
    };
    assert!(
        [400, 401, 403].contains(&change(here.clone(), "wrong password", "another password").await)
    );
    assert_eq!(change(here.clone(), "", "short").await, 400);
    let changed = change(here.clone(), "", "another password").await;
    assert!([200, 204].contains(&changed), "{changed}");
    let me = |cookie: String| {
        let http = server.http();
        async move {
            http.request("GET", "/api/auth/me", &[("cookie", cookie.as_str())], "")
                .await
                .status
        }
    };
    assert_eq!(me(here).await, 200);
    assert_eq!(me(elsewhere).await, 401);
    server.try_login("ann", &ann.password).await.expect(401);
    server
        .try_login("ann", "another password")
        .await
        .expect(200);
    ann.get("/api/auth/me").await.expect(200);
}

#[tokio::test]
async fn s5_sessions_are_listed_and_ended() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let answer = server.try_login("ann", &ann.password).await.expect(200);
    let set = answer.header("set-cookie").unwrap();
    for attribute in ["svc_session=", "HttpOnly", "SameSite=Lax"] {
        assert!(set.contains(attribute), "{set}");
    }
    assert!(!set.contains("Secure"), "not over plain HTTP: {set}");
    let cookie = set.split(';').next().unwrap().to_owned();
    let as_session = |method: &'static str, path: String, cookie: String| {
        let http = server.http();
        async move {
            http.request(method, &path, &[("cookie", cookie.as_str())], "")
                .await
        }
    };
    let list = as_session("GET", "/api/auth/sessions".into(), cookie.clone())
        .await
        .expect(200)
        .json();
    let sessions = list["sessions"].as_array().unwrap();
    // One session comes from the login that created the token.
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        sessions
            .iter()
            .filter(|session| session["current"] == true)
            .count(),
        1
    );
    let other = sessions
        .iter()
        .find(|session| session["current"] == false)
        .unwrap();
    let path = format!("/api/auth/sessions/{}", other["id"].as_str().unwrap());
    ben.delete(&path).await.expect(404);
    let ended = as_session("DELETE", path, cookie.clone()).await;
    assert!([200, 204].contains(&ended.status), "{}", ended.text());
    let third = ann.login().await;
    // This request ends all sessions of the user except its own session.
    as_session("DELETE", "/api/auth/sessions".into(), cookie.clone()).await;
    as_session("GET", "/api/auth/me".into(), third)
        .await
        .expect(401);
    as_session("GET", "/api/auth/me".into(), cookie.clone())
        .await
        .expect(200);
    as_session("POST", "/api/auth/logout".into(), cookie.clone()).await;
    as_session("GET", "/api/auth/me".into(), cookie)
        .await
        .expect(401);
}

#[tokio::test]
async fn s5_failed_logins_are_delayed_and_lock_no_user_out() {
    let server = TestServer::builder()
        .config("login_limit = 3")
        .start()
        .await;
    let _ann = server.user("ann").await;
    let mut waits: Vec<u64> = Vec::new();
    let mut failed = 0;
    // Nearly all rapid attempts are refused without checking the password.
    for _ in 0..60 {
        let answer = server.try_login("ann", "not the password").await;
        match answer.status {
            401 => failed += 1,
            _ => {
                let wait = answer.expect(429).header("retry-after").unwrap().parse();
                waits.push(wait.unwrap());
            }
        }
    }
    assert!(failed >= 3 && !waits.is_empty(), "{failed} {waits:?}");
    assert!(
        waits.iter().all(|&wait| (1..=60).contains(&wait)),
        "{waits:?}"
    );
    // Other users at the same address are not affected.
    server.try_login("admin", ADMIN_PASSWORD).await.expect(200);
    // The right password is accepted after the delay that the response names.
    eventually("ann can log in", Duration::from_secs(60), || async {
        let answer = server.try_login("ann", "password of ann").await;
        assert!([200, 429].contains(&answer.status), "{}", answer.text());
        answer.status == 200
    })
    .await;
}

#[tokio::test]
async fn s5_an_unknown_user_and_a_wrong_password_look_the_same() {
    let server = TestServer::start().await;
    let unknown = server
        .try_login("ghost", "whatever it is")
        .await
        .expect(401);
    let wrong = server
        .try_login("admin", "whatever it is")
        .await
        .expect(401);
    assert_eq!(unknown.json(), wrong.json());
}

#[tokio::test]
async fn s5_a_first_start_without_a_password_prints_a_one_time_link() {
    let mut server = TestServer::builder().without_admin().start().await;
    let line = server.process().wait_for_log("/setup?token=", SOON).await;
    let link = line
        .split_whitespace()
        .find(|word| word.contains("/setup?token="))
        .unwrap();
    let link = link.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let token = link.split_once("token=").unwrap().1.to_owned();
    server.try_login("admin", ADMIN_PASSWORD).await.expect(401);
    let setup = |token: String| {
        let http = server.http();
        async move {
            let body = json!({"setup_token": token, "password": "chosen by me"}).to_string();
            let headers = [("content-type", "application/json")];
            http.request("POST", "/api/auth/setup", &headers, body)
                .await
        }
    };
    let wrong = setup(format!("{token}0")).await.status;
    assert!([400, 401, 403, 404].contains(&wrong), "{wrong}");
    let made = setup(token.clone()).await;
    assert!((200..300).contains(&made.status), "{}", made.text());
    server.try_login("admin", "chosen by me").await.expect(200);
    // The link works once.
    let again = setup(token).await.status;
    assert!((400..500).contains(&again), "{again}");
}

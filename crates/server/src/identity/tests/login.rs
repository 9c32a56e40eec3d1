use std::time::Duration;

use svc_core::credential::CredentialKind;
use svc_protocol::api;
use svc_store::PageRequest;

use super::{Fixture, PASSWORD, assert_code, client, credentials, fresh, log_in};
use crate::{
    identity::{AccessDenied, Caller, Secret},
    records::RecordError,
};

#[tokio::test]
async fn a_setup_token_makes_the_first_administrator_once() {
    let (_folder, _store, _now, identity) = fresh().await;
    let stale = identity.setup_token().await.expect("written");
    let token = identity.setup_token().await.expect("written");
    let token = token.expect("there is no user");
    let setup = |setup_token: String| api::Setup {
        setup_token,
        username: "root".into(),
        password: PASSWORD.into(),
    };
    let made_up = Secret::new(CredentialKind::Setup).expect("drawn").text;
    for wrong in [stale.expect("there is no user"), made_up, String::new()] {
        assert_code(identity.set_up(setup(wrong)).await, "invalid_setup_token");
    }
    let user = identity.set_up(setup(token.clone())).await;
    assert_eq!(user.expect("created").roles, ["admin"]);
    log_in(&identity, "root").await;
    assert_code(identity.set_up(setup(token)).await, "invalid_setup_token");
    assert_eq!(identity.setup_token().await, Ok(None));
    assert_eq!(identity.ensure_admin(PASSWORD.into()).await, Ok(false));
}

#[tokio::test]
async fn a_first_administrator_that_cannot_be_stored_is_an_error() {
    let (_folder, store, _now, identity) = fresh().await;
    let broken = store
        .write(|tx| svc_store::testing::execute_script(tx, "ALTER TABLE audit RENAME TO away"));
    broken.await.expect("committed");
    assert_code(identity.ensure_admin(PASSWORD.into()).await, "internal");
}

#[tokio::test]
async fn a_password_may_have_the_maximum_length() {
    let fixture = Fixture::new().await;
    let longest = "x".repeat(api::PASSWORD_MAX);
    let new = api::NewUser {
        password: longest.clone(),
        ..super::new_user("ann", &["user"])
    };
    let created = fixture.identity.create_user(&fixture.admin, new).await;
    created.expect("created");
    let login = credentials("ann", &longest);
    let session = fixture.identity.log_in(login, client(1)).await;
    assert!(session.is_ok());
}

#[tokio::test]
async fn unknown_users_wrong_passwords_and_inactive_users_get_the_same_answer() {
    let fixture = Fixture::new().await;
    let ann = fixture.user("ann", &["user"]).await;
    let patch = api::UserPatch {
        active: Some(false),
        ..api::UserPatch::default()
    };
    let patched = fixture
        .identity
        .update_user(&fixture.admin, ann.id, patch)
        .await;
    assert!(!patched.expect("deactivated").active);
    let mut answers = Vec::new();
    for (host, name, password) in [
        (2, "nobody", PASSWORD),
        (3, "admin", "wrong password"),
        (4, "ann", PASSWORD),
        (5, "No Name!", PASSWORD),
    ] {
        let login = fixture
            .identity
            .log_in(credentials(name, password), client(host));
        let Err(error) = login.await else {
            panic!("{name} got in");
        };
        assert!(matches!(
            error,
            RecordError::Refused {
                code: "invalid_credentials",
                ..
            }
        ));
        answers.push(error);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    let failed = fixture.actions().await;
    let failed = failed.iter().filter(|action| *action == "login.failed");
    assert_eq!(failed.count(), 4);
}

#[tokio::test]
async fn failed_logins_delay_the_next_attempt_and_the_right_password_succeeds_after_the_delay() {
    let fixture = Fixture::new().await;
    let attempt = async |password: &str| {
        let login = credentials("admin", password);
        fixture.identity.log_in(login, client(9)).await.map(drop)
    };
    for _ in 0..3 {
        assert_code(attempt("wrong password").await, "invalid_credentials");
    }
    let Err(RecordError::TooManyAttempts { retry_after }) = attempt(PASSWORD).await else {
        panic!("the login was not delayed");
    };
    assert_eq!(retry_after, Duration::from_secs(1));
    let audited = fixture.actions().await.len();
    for _ in 0..50 {
        assert_code(attempt("wrong password").await, "too_many_attempts");
    }
    assert_eq!(fixture.actions().await.len(), audited, "not audited");
    // The same user at another address does not have to wait.
    let elsewhere = credentials("admin", PASSWORD);
    let elsewhere = fixture.identity.log_in(elsewhere, client(8)).await;
    elsewhere.expect("another address");
    fixture.pass(retry_after);
    attempt(PASSWORD).await.expect("the delay is over");
}

#[tokio::test]
async fn a_session_ends_with_its_lifetime_and_is_pruned() {
    let fixture = Fixture::new().await;
    let directory = fixture.identity.directory();
    let login = credentials("admin", PASSWORD);
    let Ok(session) = fixture.identity.log_in(login, client(1)).await else {
        panic!("could not log in");
    };
    assert!(session.cookie.starts_with("svc_ses_"));
    fixture.pass(Duration::from_secs(30 * 24 * 60 * 60));
    assert_eq!(
        directory.authenticate(&session.cookie, fixture.now()).err(),
        Some(AccessDenied::Expired)
    );
    fixture.identity.prune().await.expect("pruned");
    assert_eq!(
        directory.authenticate(&session.cookie, fixture.now()).err(),
        Some(AccessDenied::Unknown)
    );
}

async fn sessions(fixture: &Fixture, caller: &Caller) -> Vec<api::Session> {
    let listed = fixture
        .identity
        .list_sessions(caller, None, PageRequest::default());
    listed.await.expect("read").sessions
}

fn is_in(fixture: &Fixture, caller: &Caller) -> bool {
    let directory = fixture.identity.directory();
    directory.recheck(caller, fixture.now()).is_ok()
}

#[tokio::test]
async fn sessions_are_listed_and_ended_by_their_user() {
    let fixture = Fixture::new().await;
    let ann = fixture.caller("ann", &[]).await;
    let second = log_in(&fixture.identity, "admin").await;
    let listed = sessions(&fixture, &fixture.admin).await;
    assert_eq!(listed.len(), 2);
    let current: Vec<bool> = listed.iter().map(|session| session.current).collect();
    assert_eq!(current, [true, false]);
    let foreign = fixture.identity.delete_session(&ann, listed[1].id).await;
    assert_code(foreign, "not_found");
    let ended = fixture
        .identity
        .delete_session(&fixture.admin, listed[1].id);
    ended.await.expect("ended");
    assert!(!is_in(&fixture, &second));

    let third = log_in(&fixture.identity, "admin").await;
    let others = fixture.identity.delete_other_sessions(&fixture.admin).await;
    assert_eq!(others, Ok(1));
    assert!(!is_in(&fixture, &third));
    fixture
        .identity
        .log_out(&fixture.admin)
        .await
        .expect("logged out");
    assert!(!is_in(&fixture, &fixture.admin));
    assert!(is_in(&fixture, &ann));
}

#[tokio::test]
async fn a_further_login_ends_the_oldest_session() {
    let fixture = Fixture::new().await;
    let mut callers = vec![fixture.admin.clone()];
    for _ in 0..3 {
        callers.push(log_in(&fixture.identity, "admin").await);
    }
    let alive: Vec<bool> = callers
        .iter()
        .map(|caller| is_in(&fixture, caller))
        .collect();
    assert_eq!(alive, [false, true, true, true]);
}

#[tokio::test]
async fn a_password_change_needs_the_current_password_and_ends_other_sessions() {
    let fixture = Fixture::new().await;
    let other = log_in(&fixture.identity, "admin").await;
    let change = async |current: &str, new: &str| {
        let change = api::ChangePassword {
            current_password: current.into(),
            new_password: new.into(),
        };
        fixture
            .identity
            .change_password(&fixture.admin, change, client(1).address)
            .await
    };
    assert_code(
        change("wrong password", "another horse").await,
        "wrong_password",
    );
    assert_code(change(PASSWORD, "short").await, "invalid_password");
    assert!(is_in(&fixture, &other));
    change(PASSWORD, "another horse").await.expect("changed");
    assert!(is_in(&fixture, &fixture.admin));
    assert!(!is_in(&fixture, &other));
    let old = fixture
        .identity
        .log_in(credentials("admin", PASSWORD), client(2));
    assert_code(old.await, "invalid_credentials");
    let new = fixture
        .identity
        .log_in(credentials("admin", "another horse"), client(2));
    assert!(new.await.is_ok());
}

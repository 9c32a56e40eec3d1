//! Adding, naming and removing passkeys.

use serde_json::json;
use svc_testkit::{TestPostgres, TestServerBuilder, TestZone};

use super::{Authenticator, Keyed, add, ask, begin, named_server, send};

#[tokio::test]
async fn passkeys_are_named_and_removed_by_their_user_only() {
    let server = named_server().start().await;
    let ann = Keyed::new(server.user("ann").await).await;
    let ben = server.user("ben").await;
    let path = format!("/api/auth/passkeys/{}", ann.id);
    let refused = ben.patch(&path, json!({"name": "mine"})).await;
    refused.expect(404);
    let remove = format!("{path}/remove");
    let foreign = ben.post(&remove, json!({"password": ben.password})).await;
    foreign.expect(404);
    for name in ["", "  ", &"x".repeat(61), "a\u{0}b"] {
        let refused = ann.user.patch(&path, json!({ "name": name })).await;
        assert_eq!(refused.expect(400).code(), "invalid_name", "{name:?}");
    }
    let renamed = ann.user.patch(&path, json!({"name": " Laptop "})).await;
    assert_eq!(renamed.expect(200).json()["name"], "Laptop");
    let wrong = ann
        .user
        .post(&remove, json!({"password": "wrong password"}))
        .await;
    assert_eq!(wrong.expect(403).code(), "wrong_password");
    let right = json!({"password": ann.user.password});
    ann.user.post(&remove, right).await.expect(204);
    ann.user.login().await;
    let actions = server.admin().await.audit_actions().await;
    for action in ["added", "renamed", "removed"] {
        let entry = ("ann".to_owned(), format!("second_factor.{action}"));
        assert!(actions.contains(&entry), "{action}: {actions:?}");
    }
}

#[tokio::test]
async fn a_user_has_at_most_ten_passkeys_and_each_once() {
    let server = named_server().start().await;
    let ann = Keyed::new(server.user("ann").await).await;
    let again = add(&ann.user, &ann.key, "Again").await;
    assert_eq!(again.expect(409).code(), "passkey_exists");
    let other = add(&server.user("ben").await, &ann.key, "Taken").await;
    assert_eq!(other.expect(409).code(), "passkey_exists");
    let last = begin(&ann.user).await.expect(200).json();
    for n in 2..=10 {
        let key = Authenticator::new();
        add(&ann.user, &key, &format!("Key {n}")).await.expect(201);
    }
    let refused = begin(&ann.user).await.expect(409);
    assert_eq!(refused.code(), "too_many_passkeys");
    // The limit also applies to a setup that began before the limit was reached.
    let late = Authenticator::new().create(&last, "Late");
    let late = ann.user.post("/api/auth/passkeys", late).await;
    assert_eq!(late.expect(409).code(), "too_many_passkeys");
}

#[tokio::test]
async fn an_administrators_reset_removes_passkeys() {
    let server = named_server().start().await;
    let mut ann = Keyed::new(server.user("ann").await).await;
    let path = format!("/api/users/{}/second-factor", ann.user.id);
    server.admin().await.delete(&path).await.expect(204);
    let refused = ann.sign_in().await.expect(403);
    assert_eq!(refused.code(), "unknown_passkey");
    ann.user.login().await;
}

#[tokio::test]
async fn a_challenge_is_answered_once_at_all_servers_of_a_zone() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let named = |builder: TestServerBuilder| builder.config("public_url = \"https://svc.example\"");
    let zone = TestZone::start_with(postgres, 2, named).await;
    let mut ann = Keyed::new(zone.server(0).user("ann").await).await;
    let sites = [zone.server(0).http(), zone.server(1).http()];
    let options = ask(&sites[0], json!({})).await.expect(200).json();
    let answers: Vec<_> = (0..8).map(|_| ann.key.get(&options)).collect();
    let tries = answers
        .into_iter()
        .enumerate()
        .map(|(n, answer)| send(&sites[n % 2], answer));
    let answers = futures_util::future::join_all(tries).await;
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    let accepted = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(accepted, 1, "{statuses:?}");
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(answer.code(), "challenge_ended");
    }
}

//! Second factors at several servers (group 25 of the attacks in docs/AUTH.md).

use futures_util::future::join_all;
use svc_testkit::{TestPostgres, TestZone, eventually};

use super::{Protected, complete, log_in};
use crate::SOON;

#[tokio::test]
async fn a_code_is_accepted_once_at_two_servers_at_the_same_time() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 2).await;
    let ann = Protected::new(zone.server(0).user("ann").await).await;
    let sites = [zone.server(0).http(), zone.server(1).http()];
    // A login that began at one server is completed at another one.
    let mut tokens = Vec::new();
    for _ in 0..4 {
        tokens.push(ann.pending().await);
    }
    let code = ann.next_code();
    let tries = tokens
        .iter()
        .enumerate()
        .map(|(n, token)| complete(&sites[n % 2], token, &code));
    let statuses: Vec<_> = join_all(tries).await.iter().map(|a| a.status).collect();
    let accepted = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(accepted, 1, "{statuses:?}");

    let recovery = &ann.recovery_codes[0];
    let login = log_in(&sites[1], &ann.user).await.expect(200);
    let token = login.json()["second_factor"]["token"].clone();
    let token = super::text(&token);
    let tries = (0..6).map(|n| complete(&sites[n % 2], token, recovery));
    let statuses: Vec<_> = join_all(tries).await.iter().map(|a| a.status).collect();
    let accepted = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(accepted, 1, "{statuses:?}");
}

#[tokio::test]
async fn tries_are_counted_at_all_servers_together() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 2).await;
    let ann = Protected::new(zone.server(0).user("ann").await).await;
    let sites = [zone.server(0).http(), zone.server(1).http()];
    let token = ann.pending().await;
    for n in 0..5 {
        let wrong = complete(&sites[n % 2], &token, &ann.wrong_code()).await;
        assert_eq!(wrong.expect(403).code(), "wrong_code");
    }
    for site in &sites {
        let right = complete(site, &token, &ann.next_code()).await.expect(401);
        assert_eq!(right.code(), "login_ended");
    }
}

#[tokio::test]
async fn wrong_codes_slow_logins_down_at_all_servers() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_with(postgres, 2, |builder| builder.config("login_limit = 1")).await;
    let ann = Protected::new(zone.server(0).user("ann").await).await;
    let sites = [zone.server(0).http(), zone.server(1).http()];
    let token = ann.pending().await;
    // Between the codes, this server demands waits of one, two and four seconds. After the fourth
    // code the wait is eight seconds.
    for _ in 0..4 {
        eventually("the wait is over", SOON, || async {
            let answer = complete(&sites[1], &token, &ann.wrong_code()).await;
            answer.status == 403
        })
        .await;
    }
    // The other server itself counted only the password, more than a second ago.
    let refused = log_in(&sites[0], &ann.user).await.expect(429);
    assert_eq!(refused.code(), "too_many_attempts");
}

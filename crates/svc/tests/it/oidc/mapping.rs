//! Groups and roles that a provider gives and takes away.

use serde_json::{Value, json};

use super::{Site, merge};

async fn site(settings: Value) -> Option<Site> {
    let mut all = json!({"open": true});
    merge(&mut all, settings);
    Site::start(all).await
}

/// The groups and roles of a user, sorted.
pub(super) async fn held(site: &Site, name: &str) -> (Vec<String>, Vec<String>) {
    let user = site.user(name).await.unwrap();
    let list = |field: &str| {
        let items = user[field].as_array().unwrap().iter();
        let mut items: Vec<_> = items
            .map(|item| item.as_str().unwrap().to_owned())
            .collect();
        items.sort();
        items
    };
    (list("groups"), list("roles"))
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn mappings() -> Value {
    json!({"groups_claim": "groups", "mappings": [
        {"value": "ops", "group": "operators"}, {"value": "qa", "group": "testers"},
        {"value": "admins", "role": "admin"},
    ]})
}

#[tokio::test]
async fn memberships_from_the_provider_change_and_local_ones_stay() {
    let Some(site) = site(json!({})).await else {
        return;
    };
    site.server.groups(&["operators", "testers", "local"]).await;
    site.patch(mappings()).await.expect(200);
    site.account("ann", json!({"groups": ["ops", "admins", "unknown"]}))
        .await;
    let (mut browser, _) = site.sign_in("ann").await;
    assert_eq!(
        held(&site, "ann").await,
        (names(&["operators"]), names(&["admin", "user"]))
    );
    browser.get("/api/users").await.expect(200);
    // An administrator adds the group `local`, and `testers`, which the provider gives later too.
    let id = site.user("ann").await.unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let groups = json!({"groups": ["operators", "testers", "local"]});
    site.admin
        .patch(&format!("/api/users/{id}"), groups)
        .await
        .expect(200);

    site.account("ann", json!({"groups": ["qa"]})).await;
    site.sign_in("ann").await;
    assert_eq!(
        held(&site, "ann").await,
        (names(&["local", "testers"]), names(&["user"]))
    );
    // The earlier session lost the role at once.
    browser.get("/api/users").await.expect(403);
    site.account("ann", json!({"groups": []})).await;
    site.sign_in("ann").await;
    // An administrator gave `testers`, so the provider does not remove it.
    assert_eq!(held(&site, "ann").await.0, names(&["local", "testers"]));
    let audit = site
        .admin
        .get("/api/audit?action=login.oidc")
        .await
        .expect(200)
        .text();
    assert!(
        audit.contains("group operators") && audit.contains("role admin"),
        "{audit}"
    );
}

#[tokio::test]
async fn an_absent_claim_means_no_groups_and_an_incomplete_claim_keeps_them() {
    let Some(site) = site(json!({})).await else {
        return;
    };
    site.server.groups(&["operators", "testers"]).await;
    site.patch(mappings()).await.expect(200);
    // Many providers omit the claim for a user without groups. If an absent claim kept the groups,
    // a user would never lose the last one.
    for (claims, groups) in [
        (json!({}), names(&[])),
        (json!({"groups": null}), names(&[])),
        (
            json!({"_claim_names": {"groups": "src1"}}),
            names(&["operators"]),
        ),
        (json!({"groups": {"not": "a list"}}), names(&["operators"])),
    ] {
        site.account("ann", json!({"groups": ["ops", "admins"]}))
            .await;
        site.sign_in("ann").await;
        assert_eq!(held(&site, "ann").await.1, names(&["admin", "user"]));
        site.account("ann", claims.clone()).await;
        let (_, answer) = site.sign_in("ann").await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        assert_eq!(
            held(&site, "ann").await,
            (groups, names(&["user"])),
            "{claims}"
        );
    }
}

#[tokio::test]
async fn the_last_administrator_keeps_the_role() {
    let Some(site) = site(json!({})).await else {
        return;
    };
    site.server.groups(&["operators", "testers"]).await;
    site.patch(mappings()).await.expect(200);
    site.account("ann", json!({"groups": ["admins"]})).await;
    let (mut ann, _) = site.sign_in("ann").await;
    // Ann removes the role from the other administrators.
    let users = ann.get("/api/users").await.expect(200).json();
    for user in users["users"].as_array().unwrap() {
        if user["username"] != "ann" {
            let path = format!("/api/users/{}", user["id"].as_str().unwrap());
            ann.send("PATCH", &path, json!({"roles": ["user"]}))
                .await
                .expect(200);
        }
    }
    site.account("ann", json!({"groups": []})).await;
    let (mut ann, _) = site.sign_in("ann").await;
    assert_eq!(site.me(&mut ann).await["roles"], json!(["admin", "user"]));
    ann.get("/api/users").await.expect(200);
}

#[tokio::test]
async fn deleting_a_provider_removes_the_groups_and_roles_that_it_gave() {
    let Some(site) = site(json!({})).await else {
        return;
    };
    site.server.groups(&["operators", "testers"]).await;
    site.patch(mappings()).await.expect(200);
    site.account("ann", json!({"groups": ["ops", "admins"]}))
        .await;
    let (mut ann, _) = site.sign_in("ann").await;
    let list = site
        .admin
        .get("/api/oidc/providers")
        .await
        .expect(200)
        .json();
    assert_eq!(list["providers"][0]["identities"], 1);
    let id = list["providers"][0]["id"].as_str().unwrap();
    site.admin
        .delete(&format!("/api/oidc/providers/{id}"))
        .await
        .expect(204);
    ann.get("/api/auth/me").await.expect(401);
    assert_eq!(held(&site, "ann").await, (names(&[]), names(&["user"])));
}

//! Names and quotas.

use serde_json::{Value, json};

use super::{
    kinds::{Kind, Manager, Names},
    world::{World, id_of, ids},
};

#[tokio::test]
async fn a_taken_name_is_refused_with_one_code() {
    let world = World::new().await;
    for (kind, body) in Kind::posted() {
        let manager = world.manager(kind);
        world.create(kind, "taken").await;
        if kind.names == Names::Any {
            manager.post(kind.path, body("taken")).await.expect(201);
            continue;
        }
        let before = ids(&world.list(manager, kind).await);
        let refused = manager.post(kind.path, body("taken")).await.expect(409);
        assert_eq!(refused.code(), "name_taken", "{}", kind.path);
        assert!(refused.text().contains("`taken`"), "{}", refused.text());
        assert_eq!(ids(&world.list(manager, kind).await), before);
        if kind.patch.as_ref().is_some_and(|patch| patch.renames) {
            let other = world.create(kind, "other").await;
            let path = kind.path_of(id_of(&other));
            let refused = manager.patch(&path, json!({"name": "taken"})).await;
            assert_eq!(refused.expect(409).code(), "name_taken", "{path}");
            let kept = world.find(kind, id_of(&other)).await.unwrap();
            assert_eq!(kept["name"], "other", "{path}");
            // A record may keep its own name.
            let same = manager.patch(&path, json!({"name": "other"})).await;
            same.expect(200);
        }
    }
}

#[tokio::test]
async fn two_users_may_use_the_same_name() {
    let world = World::new().await;
    for (kind, body) in Kind::posted() {
        if kind.manager == Manager::Owner {
            world.create(kind, "same").await;
            let of_bob = world.bob.post(kind.path, body("same")).await;
            assert_eq!(of_bob.status, 201, "{}: {}", kind.path, of_bob.text());
        }
    }
}

#[tokio::test]
async fn a_record_beyond_the_quota_of_the_user_is_refused() {
    let world = World::new().await;
    for (kind, body) in Kind::posted() {
        let Some(quota) = kind.quota else { continue };
        let manager = world.manager(kind);
        let created = world.create(kind, "one").await;
        let has = world.list(manager, kind).await.len();
        let user = format!("/api/users/{}", manager.id);
        let set = async |value: Value| {
            let body = json!({"quotas": {quota: value}});
            world.admin.patch(&user, body).await.expect(200);
        };
        set(json!(has)).await;
        let refused = manager.post(kind.path, body("two")).await.expect(409);
        assert_eq!(refused.code(), "quota_exceeded", "{}", kind.path);
        let problem = refused.json();
        assert_eq!(problem["limit"], has, "{problem}");
        assert_eq!(problem["setting"], format!("quotas.{quota}"), "{problem}");
        assert_eq!(world.list(manager, kind).await.len(), has);
        let detail = problem["detail"].as_str().unwrap();
        for part in [format!("{has} "), format!("quotas.{quota}")] {
            assert!(detail.contains(&part), "{detail}");
        }
        // Other users are not affected, and deleted records do not count.
        world.bob.post(kind.path, body("one")).await.expect(201);
        let path = kind.path_of(id_of(&created));
        manager.delete(&path).await.expect(204);
        manager.post(kind.path, body("two")).await.expect(201);
        manager.post(kind.path, body("three")).await.expect(409);
        set(json!(has + 1)).await;
        manager.post(kind.path, body("three")).await.expect(201);
        set(Value::Null).await;
    }
}

#[test]
fn a_record_of_the_server_has_no_quota_of_a_user() {
    for (kind, _) in Kind::posted() {
        let is_owned = kind.manager == Manager::Owner;
        assert_eq!(kind.quota.is_some(), is_owned, "{}", kind.path);
    }
}

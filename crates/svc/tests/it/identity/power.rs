//! No user may act on or for a user with more permissions: users, roles, groups, spaces.

mod credentials;

use serde_json::{Value, json};
use svc_testkit::{Answer, TestServer, TestSpace, TestUser, eventually, is_running};

use crate::SOON;

/// Checks that the answer is a refusal that names the missing permissions.
#[track_caller]
pub fn refused(answer: &Answer, missing: &str) {
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert_eq!(answer.code(), "exceeds_own_power", "{}", answer.text());
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains(&format!("`{missing}`")), "{detail}");
}

#[track_caller]
fn done(answer: &Answer) {
    assert!((200..300).contains(&answer.status), "{}", answer.text());
}

fn user_path(user: &TestUser) -> String {
    format!("/api/users/{}", user.id)
}

fn path_of(kind: &str, record: &Value) -> String {
    format!("/api/{kind}/{}", record["id"].as_str().unwrap())
}

/// Ann and Kim have more permissions than a plain user: Ann has `view_audit`, Kim has the given
/// permissions.
struct Cast {
    admin: TestUser,
    /// A plain user.
    ben: TestUser,
    ann: TestUser,
    kim: TestUser,
    server: TestServer,
}

impl Cast {
    async fn new(kim: &[&str]) -> Self {
        Self::on(TestServer::start().await, kim).await
    }

    async fn on(server: TestServer, kim: &[&str]) -> Self {
        server.role("auditor", &["view_audit"]).await;
        server.role("kims", kim).await;
        Self {
            admin: server.admin().await,
            ben: server.user("ben").await,
            ann: server.user_with("ann", &["user", "auditor"], &[]).await,
            kim: server.user_with("kim", &["user", "kims"], &[]).await,
            server,
        }
    }
}

/// Tries every action on a space, and returns the answers. The last action deletes the space.
async fn acts_on(actor: &TestUser, space: &TestSpace) -> Vec<Answer> {
    let path = space.path();
    let check = json!({"health_check": {"type": "command", "command": "true"}});
    vec![
        actor.post(&format!("{path}/agent-token"), "{}").await,
        actor.patch(&path, check).await,
        actor
            .patch(&path, json!({"health_check": {"type": "tcp", "port": 1}}))
            .await,
        actor.patch(&path, json!({"startup_script_id": null})).await,
        actor.get(&format!("{path}/logs")).await,
        actor.post(&format!("{path}/stop"), "{}").await,
        actor.post(&format!("{path}/start"), "{}").await,
        actor.delete(&path).await,
    ]
}

#[tokio::test]
async fn managing_a_space_needs_every_permission_of_its_owner() {
    let cast = Cast::new(&["manage_spaces"]).await;
    let (of_ann, of_ben) = (cast.ann.space("lab").await, cast.ben.space("lab").await);
    let of_admin = cast.admin.space("lab").await;
    cast.kim.get(&of_ann.path()).await.expect(200);
    for answer in acts_on(&cast.kim, &of_ann).await {
        refused(&answer, "view_audit");
    }
    for answer in acts_on(&cast.kim, &of_admin).await {
        refused(&answer, "manage_users");
    }
    for answer in acts_on(&cast.kim, &of_ben).await {
        done(&answer);
    }
    for answer in acts_on(&cast.admin, &of_ann).await {
        done(&answer);
    }
    // For their own spaces, users need only the permission for spaces.
    let own = cast.kim.space("own").await;
    for answer in acts_on(&cast.kim, &own).await {
        done(&answer);
    }
}

#[tokio::test]
async fn managing_inactive_users_needs_their_permissions_too() {
    let cast = Cast::new(&["manage_users", "manage_groups", "manage_roles"]).await;
    let (kim, admin, ann) = (&cast.kim, &cast.admin, &cast.ann);
    let path = user_path(ann);
    let patches = [
        json!({"password": "mine from now on"}),
        json!({"roles": ["user"]}),
        json!({"roles": []}),
        json!({"groups": []}),
        json!({"active": false}),
        json!({"active": true}),
    ];
    for active in [true, false] {
        let set = json!({ "active": active });
        admin.patch(&path, set).await.expect(200);
        for patch in &patches {
            refused(&kim.patch(&path, patch).await, "view_audit");
        }
        refused(&kim.delete(&path).await, "view_audit");
    }
    cast.server
        .try_login("ann", &ann.password)
        .await
        .expect(401);
    admin
        .patch(&path, json!({"active": true}))
        .await
        .expect(200);
    cast.server
        .try_login("ann", &ann.password)
        .await
        .expect(200);

    let new = |name: &str, role: &str| json!({"username": name, "password": "long enough", "roles": [role]});
    refused(
        &kim.post("/api/users", new("eve", "auditor")).await,
        "view_audit",
    );
    let own = json!({"roles": ["user", "kims", "auditor"]});
    refused(&kim.patch(&user_path(kim), own).await, "view_audit");
    done(&kim.post("/api/users", new("eve", "user")).await);
    for patch in [
        json!({"password": "a new password"}),
        json!({"active": false}),
        json!({"active": true, "roles": []}),
    ] {
        done(&kim.patch(&user_path(&cast.ben), patch).await);
    }
    done(&kim.delete(&user_path(&cast.ben)).await);
    done(
        &admin
            .patch(&path, json!({"password": "a new password"}))
            .await,
    );
}

/// Removing a permission first and then acting on its holder does not bypass the rule.
#[tokio::test]
async fn changing_a_role_needs_the_removed_permissions_and_those_of_its_members() {
    let cast = Cast::new(&["manage_users", "manage_roles"]).await;
    let (kim, admin) = (&cast.kim, &cast.admin);
    let roles = admin.get("/api/roles").await.expect(200).json();
    let roles = roles["roles"].as_array().unwrap().clone();
    let auditor = roles.iter().find(|role| role["name"] == "auditor");
    let auditor = path_of("roles", auditor.unwrap());
    for patch in [
        json!({"permissions": []}),
        json!({"permissions": ["use_spaces"]}),
        json!({"name": "other"}),
    ] {
        refused(&kim.patch(&auditor, patch).await, "view_audit");
    }
    refused(&kim.delete(&auditor).await, "view_audit");
    let new = json!({"name": "x", "permissions": ["view_audit"]});
    refused(&kim.post("/api/roles", new).await, "view_audit");

    // Kim holds every permission of this role, but not every permission of its member.
    let role = cast.server.role("spacer", &["use_spaces"]).await;
    let spacer = path_of("roles", &role);
    let with = |names: &[&str]| json!({ "roles": names });
    let ann = user_path(&cast.ann);
    admin
        .patch(&ann, with(&["user", "auditor", "spacer"]))
        .await
        .expect(200);
    refused(
        &kim.patch(&spacer, json!({"permissions": []})).await,
        "view_audit",
    );
    refused(&kim.delete(&spacer).await, "view_audit");
    admin
        .patch(&ann, with(&["user", "auditor"]))
        .await
        .expect(200);
    refused(
        &kim.patch(&spacer, json!({"permissions": ["view_audit"]}))
            .await,
        "view_audit",
    );
    done(&kim.patch(&user_path(&cast.ben), with(&["spacer"])).await);
    done(
        &kim.patch(&spacer, json!({"permissions": ["use_mcp"]}))
            .await,
    );
    done(&kim.delete(&spacer).await);
    done(&admin.patch(&auditor, json!({"permissions": []})).await);
    done(&admin.delete(&auditor).await);
}

#[tokio::test]
async fn using_a_group_needs_manage_groups_or_membership() {
    let cast = Cast::new(&["manage_users"]).await;
    let (kim, admin, ben) = (&cast.kim, &cast.admin, user_path(&cast.ben));
    let [ops, own] = cast
        .server
        .groups(&["ops", "own"])
        .await
        .try_into()
        .unwrap();
    let with = |names: &[&str]| json!({ "groups": names });
    let new =
        |groups: &[&str]| json!({"username": "eve", "password": "long enough", "groups": groups});
    admin
        .patch(&user_path(kim), with(&["own"]))
        .await
        .expect(200);
    refused(
        &kim.patch(&user_path(kim), with(&["own", "ops"])).await,
        "manage_groups",
    );
    refused(&kim.patch(&ben, with(&["ops"])).await, "manage_groups");
    let by_id = json!({"groups": [ops["id"]]});
    refused(&kim.patch(&ben, by_id).await, "manage_groups");
    refused(
        &kim.post("/api/users", new(&["ops"])).await,
        "manage_groups",
    );
    done(&kim.post("/api/users", new(&[])).await);
    // Kim may change the members of only those groups that Kim is in.
    admin.patch(&ben, with(&["ops"])).await.expect(200);
    done(&kim.patch(&ben, with(&["ops", "own"])).await);
    refused(&kim.patch(&ben, with(&["own"])).await, "manage_groups");
    done(&kim.patch(&ben, with(&["ops"])).await);
    let changes: Vec<_> = admin.audit_entries("user.updated").await;
    let has = |added: &[&str], removed: &[&str]| {
        changes.iter().any(|entry| {
            let detail = &entry["detail"];
            entry["actor"] == "kim"
                && detail["groups_added"] == json!(added)
                && detail["groups_removed"] == json!(removed)
        })
    };
    assert!(has(&["own"], &[]) && has(&[], &["own"]), "{changes:?}");

    // Renaming or deleting a group needs all permissions of its members.
    cast.server.role("grouper", &["manage_groups"]).await;
    let leo = cast
        .server
        .user_with("leo", &["user", "grouper"], &[])
        .await;
    let (ops, own) = (path_of("groups", &ops), path_of("groups", &own));
    admin
        .patch(&user_path(&cast.ann), with(&["ops"]))
        .await
        .expect(200);
    refused(&leo.patch(&ops, json!({"name": "x"})).await, "view_audit");
    refused(&leo.delete(&ops).await, "view_audit");
    admin.patch(&user_path(kim), with(&[])).await.expect(200);
    done(&leo.patch(&own, json!({"name": "x"})).await);
    done(&leo.delete(&own).await);
    done(&admin.patch(&ops, json!({"name": "x"})).await);
    done(&admin.delete(&ops).await);
}

/// A setting on a space of another user ends when its author may no longer set it.
#[tokio::test]
async fn settings_end_with_the_permission_that_allowed_them() {
    let cast = Cast::new(&["manage_spaces"]).await;
    let (kim, admin, ben) = (&cast.kim, &cast.admin, user_path(&cast.ben));
    let spaces = [cast.ben.space("one").await, cast.ben.space("two").await];
    let check = json!({"health_check": {"type": "command", "command": "true"}});
    let rotate = async |space: &TestSpace| -> TestUser {
        let rotated = kim
            .post(&format!("{}/agent-token", space.path()), "{}")
            .await;
        let token = rotated.expect(200).json()["agent_token"].clone();
        let agent = cast.ben.with_token(token.as_str().unwrap());
        agent.get("/api/auth/me").await.expect(200);
        agent
    };
    let ended = async |space: &TestSpace, agent: &TestUser| {
        let record = admin.get(&space.path()).await.expect(200).json();
        assert_eq!(record["health_check"]["type"], "none", "{record}");
        agent.get("/api/auth/me").await.expect(401);
    };
    // The owner gets more permissions.
    done(&kim.patch(&spaces[0].path(), &check).await);
    let agent = rotate(&spaces[0]).await;
    let more = json!({"roles": ["user", "auditor"]});
    admin.patch(&ben, more).await.expect(200);
    ended(&spaces[0], &agent).await;
    admin
        .patch(&ben, json!({"roles": ["user"]}))
        .await
        .expect(200);
    ended(&spaces[0], &agent).await;
    // The author of the setting loses the permission. Here the setting was made with an agent token
    // that the author created.
    let agent = rotate(&spaces[1]).await;
    done(&agent.patch(&spaces[1].path(), &check).await);
    let own = cast.ben.space("three").await;
    cast.ben.patch(&own.path(), &check).await.expect(200);
    admin
        .patch(&user_path(kim), json!({"roles": ["user"]}))
        .await
        .expect(200);
    ended(&spaces[1], &agent).await;
    assert_eq!(own.record().await["health_check"]["type"], "command");
    let audited = admin.audit_entries("space.health_check_ended").await;
    assert_eq!(audited.len(), 2, "{audited:?}");
    assert_eq!(admin.audit_entries("agent_token.revoked").await.len(), 2);
}

/// A local space and its `command` check run code on the server. Both end when the owner loses the
/// permission.
#[tokio::test]
async fn local_spaces_end_with_the_permission_of_their_owner() {
    let server = TestServer::builder().allow_local_spaces().start().await;
    let cast = Cast::on(server, &["manage_spaces"]).await;
    let (kim, admin) = (&cast.kim, &cast.admin);
    let marker = cast.server.home().join("checked");
    let command = format!("echo $PPID > {}", marker.display());
    let body = json!({"name": "demo", "runtime": "local", "health_check": {"type": "command",
        "command": command, "interval_seconds": 1}});
    let space = kim.space_with(body).await;
    let agent = async || -> u32 {
        let found = svc_testkit::get_eventually("the check runs", 2 * SOON, || async {
            let text = std::fs::read_to_string(&marker).ok()?;
            text.trim().parse().ok()
        });
        found.await
    };
    let start = format!("{}/start", space.path());
    for (lost, back) in [
        (
            json!({"roles": ["user"]}),
            json!({"roles": ["user", "kims"]}),
        ),
        (json!({"active": false}), json!({"active": true})),
    ] {
        space.wait_for_state("deployed", 2 * SOON).await;
        let running = agent().await;
        assert!(is_running(running));
        admin.patch(&user_path(kim), &lost).await.expect(200);
        eventually("the agent has ended", SOON, || async {
            !is_running(running)
        })
        .await;
        let record = admin.get(&space.path()).await.expect(200).json();
        assert_eq!(record["state"], "stopped", "{record}");
        // An administrator cannot start the space for an owner without the permission.
        admin.post(&start, "{}").await.expect(403);
        std::fs::remove_file(&marker).unwrap();
        admin.patch(&user_path(kim), &back).await.expect(200);
        kim.post(&start, "{}").await.expect(200);
    }
    let stopped = admin.audit_entries("space.stopped").await;
    let by_system = |entry: &&Value| entry["actor"] == "system";
    assert_eq!(stopped.iter().filter(by_system).count(), 2, "{stopped:?}");
}

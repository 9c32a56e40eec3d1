//! Fixed sequences of requests: escalations that random sequences found, or would rarely find.

use serde_json::{Value, json};

use crate::{
    model::{Cred, Kind},
    runtime,
    world::{Answer, Auth, World},
};

/// A user of the server under test, with a session.
struct TestUser {
    id: String,
    role: String,
    session: Cred,
}

async fn create_user(world: &World, permissions: &[&str]) -> TestUser {
    let role = world.name("role");
    let body = json!({"name": role, "permissions": permissions});
    let created = world.as_root("POST", "/api/roles", body).await;
    let (name, password) = (world.name("u"), "a long enough password");
    let body = json!({"username": name, "password": password, "roles": [role]});
    let user = world.as_root("POST", "/api/users", body).await;
    let login = json!({"username": name, "password": password});
    let answer = world
        .send("POST", "/api/auth/login", &Auth::Nothing, Some(login))
        .await;
    TestUser {
        id: user.str("id"),
        role: created.str("id"),
        session: Cred::new(
            answer.cookie.expect("a session"),
            0,
            Kind::Session { id: String::new() },
        ),
    }
}

async fn post(world: &World, path: &str, by: &Cred, body: Value) -> Answer {
    let auth = Auth::Cred(by);
    world.send("POST", path, &auth, Some(body)).await
}

#[test]
fn escalation_an_agent_token_that_rotated_itself_ends_when_its_creator_loses_the_permission() {
    runtime().block_on(async {
        let world = World::start().await;
        let owner = create_user(&world, &["use_spaces"]).await;
        let manager = create_user(&world, &["use_spaces", "manage_spaces"]).await;
        let space = post(
            &world,
            "/api/spaces",
            &owner.session,
            json!({"name": "lab"}),
        )
        .await;
        let path = format!("/api/spaces/{}/agent-token", space.str("id"));
        let agent =
            |answer: &Answer| Cred::new(answer.str("agent_token"), 0, Kind::Agent { space: 0 });

        let first = post(&world, &path, &manager.session, json!({})).await;
        let second = post(&world, &path, &agent(&first), json!({})).await;
        assert_eq!(second.status, 200, "{}", second.text);
        let second = agent(&second);
        let me = async || {
            let auth = Auth::Cred(&second);
            let answer = world.send("GET", "/api/auth/me", &auth, None).await;
            (answer.status, answer.str("id"))
        };
        assert_eq!(me().await, (200, owner.id.clone()));

        let role = format!("/api/roles/{}", manager.role);
        let body = json!({"permissions": ["use_spaces"]});
        world.as_root("PATCH", &role, body).await;
        assert_eq!(me().await.0, 401, "the manager still acts as the owner");
        world.stop().await;
    });
}

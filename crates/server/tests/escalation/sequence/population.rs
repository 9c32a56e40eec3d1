//! The users of a sequence and their first records.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Failure, OWNER, Sequence};
use crate::{
    model::{Cred, Factors, Group, Kind, Method, Perms, ROLE_ADMIN, ROLE_USER, Role, User, UserIx},
    rng::Rng,
    rules::needed,
    steps::CHANGES,
    world::Auth,
};

/// The permissions of the built-in role `user`.
const USER: [&str; 4] = [
    "use_spaces",
    "use_methods",
    "use_mcp",
    "manage_own_event_sinks",
];

impl Sequence<'_> {
    pub(super) async fn populate(&mut self, rng: &mut Rng) -> Result<(), Failure> {
        self.add_builtin_roles();
        for _ in 0..2 {
            let name = self.world.marker('g');
            let answer = self
                .world
                .as_root("POST", "/api/groups", json!({"name": name}))
                .await;
            self.model.groups.push(Group {
                id: answer.str("id"),
                name,
                deleted: false,
            });
        }
        self.add_app().await;
        let people = 4 + rng.below(3);
        for person in 0..people {
            let perms = if person == OWNER {
                Perms::ALL
            } else {
                random_perms(rng)
            };
            self.add_user(rng, perms).await;
        }
        for person in 0..people {
            self.create_records(rng, person).await?;
        }
        Ok(())
    }

    fn add_builtin_roles(&mut self) {
        let user = Perms::of(&USER);
        let roles = [(ROLE_USER, "user", user), (ROLE_ADMIN, "admin", Perms::ALL)];
        for (index, name, perms) in roles {
            let (id, name) = (self.world.builtin_roles[index].clone(), name.to_owned());
            self.model.roles.push(Role {
                id,
                name,
                perms,
                requires_factor: false,
                deleted: false,
            });
        }
    }

    /// Creates a user with their own role, and logs in.
    async fn add_user(&mut self, rng: &mut Rng, perms: Perms) {
        let world = self.world;
        let role = world.marker('r');
        let body = json!({"name": role, "permissions": perms.names()});
        let answer = world.as_root("POST", "/api/roles", body).await;
        let first = self.model.roles.len();
        self.model.roles.push(Role {
            id: answer.str("id"),
            name: role.clone(),
            perms,
            requires_factor: false,
            deleted: false,
        });
        // Some users also get the role of an earlier user. Roles 0 and 1 are built in, and role 2
        // belongs to `OWNER`.
        let mut roles = vec![first];
        if first > 3 && rng.percent(20) {
            roles.push(3 + rng.below(first - 3));
        }
        let groups: Vec<_> = rng.some_of(&[0, 1], 40);
        let (name, password) = (world.name("u"), world.name("a long password "));
        let role_names: Vec<_> = roles
            .iter()
            .map(|&role| &self.model.roles[role].name)
            .collect();
        let group_names: Vec<_> = groups
            .iter()
            .map(|&group| &self.model.groups[group].name)
            .collect();
        let body = json!({
            "username": name, "password": password, "roles": role_names, "groups": group_names,
        });
        let answer = world.as_root("POST", "/api/users", body).await;
        let user = self.model.users.len();
        self.log.push(format!(
            "user {user} `{name}` roles {roles:?} groups {groups:?} holds {perms}"
        ));
        self.model.users.push(User {
            id: answer.str("id"),
            name: name.clone(),
            active: true,
            deleted: false,
            roles,
            groups,
            password: password.clone(),
            known_by: BTreeSet::from([user]),
            factors: Factors::default(),
        });
        let login = json!({"username": name, "password": password});
        let answer = world
            .send("POST", "/api/auth/login", &Auth::Nothing, Some(login))
            .await;
        let value = answer.cookie.expect("a new user logs in");
        self.model.creds.push(Cred {
            expires_at: Some(world.now() + 30 * 24 * 60 * 60 * 1_000),
            ..Cred::new(value, user, Kind::Session { id: String::new() })
        });
        self.read_session_id(user);
    }

    /// Creates the first records of a user, with the session of the user.
    async fn create_records(&mut self, rng: &mut Rng, person: UserIx) -> Result<(), Failure> {
        let session = self
            .model
            .creds
            .iter()
            .position(|cred| cred.holder == person);
        let session = session.expect("every user has a session");
        let find_change = |name: &str| CHANGES.iter().find(|row| row.0 == "POST" && row.1 == name);
        let mut routes = Vec::new();
        routes.extend(vec!["/api/spaces"; 1 + rng.below(2)]);
        if rng.percent(50) {
            routes.push("/api/tokens");
        }
        if person == OWNER {
            routes.extend([
                "/api/scripts",
                "/api/scripts",
                "/api/templates",
                "/api/event-sinks",
            ]);
        } else if rng.percent(30) {
            routes.push("/api/event-sinks");
        }
        if rng.percent(30) {
            routes.push("/api/events/emit");
        }
        for route in routes {
            let (method, route, _, generate) = find_change(route).expect("a route of the table");
            let caller = self.caller(session);
            if !caller.perms.has_any(needed(method, route)) {
                continue;
            }
            let plan = generate(&mut self.draft(rng, &caller));
            if let Some(plan) = plan {
                self.request(caller, (method, route), plan).await?;
            }
        }
        self.publish(rng, person).await;
        if rng.percent(35) {
            self.send_as(rng, session, "/api/auth/totp").await?;
            self.send_as(rng, session, "/api/auth/totp/confirm").await?;
        }
        if rng.percent(35) {
            self.send_as(rng, session, "/api/auth/passkeys/begin")
                .await?;
            self.send_as(rng, session, "/api/auth/passkeys").await?;
        }
        if rng.percent(40) {
            self.link(rng, session).await?;
        }
        if rng.percent(40) {
            self.connect(rng, session).await?;
        }
        Ok(())
    }

    async fn publish(&mut self, rng: &mut Rng, person: UserIx) {
        let spaces = self.model.live_spaces().into_iter();
        let mut own = spaces.filter(|&space| self.model.spaces[space].owner == person);
        let Some(space) = own.next_back().filter(|_| rng.percent(60)) else {
            return;
        };
        let name = self.world.marker('m');
        let shared = rng.percent(80);
        let groups = (shared && rng.percent(70)).then(|| vec![rng.below(2)]);
        let group_names: Vec<_> = groups
            .iter()
            .flatten()
            .map(|&group| &self.model.groups[group].id)
            .collect();
        let scope = if shared { "shared" } else { "private" };
        let methods = json!([{
            "name": name, "local_name": "x", "description": "a method", "scope": scope,
            "groups": group_names, "mcp_tool": true,
        }]);
        let (record, owner) = (&self.model.spaces[space], &self.model.users[person]);
        self.world
            .publish(&record.id, &record.name, (&owner.id, &owner.name), methods)
            .await;
        self.model.methods.push(Method {
            name,
            owner: person,
            space,
            shared,
            groups,
        });
    }
}

fn random_perms(rng: &mut Rng) -> Perms {
    let drawn = rng.next() as u32 & Perms::ALL.0;
    match rng.below(6) {
        0 => Perms::of(&USER),
        1 => Perms(drawn & rng.next() as u32),
        2 => Perms(drawn | rng.next() as u32 & Perms::ALL.0),
        3 => Perms(Perms::ALL.0 & !(1 << rng.below(12))),
        _ => Perms(drawn),
    }
}

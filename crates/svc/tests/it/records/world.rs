//! The users of a test, and records of every kind that they create.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use svc_testkit::{Answer, TestServer, TestUser};

use super::kinds::{Creation, Kind, Manager};
use crate::second_factor::authenticator::Authenticator;

/// An id that no record has.
pub const UNKNOWN_ID: &str = "01890000-0000-7000-8000-000000000000";

pub struct World {
    pub server: TestServer,
    pub admin: TestUser,
    /// Owns the records of all kinds that belong to a user, except passkeys.
    ann: TestUser,
    /// Owns nothing.
    pub bob: TestUser,
    /// Has passkeys, so a password alone does not log this user in.
    keyed: TestUser,
}

impl World {
    pub async fn new() -> Self {
        let server = TestServer::start().await;
        Self {
            admin: server.admin().await,
            ann: server.user("ann").await,
            bob: server.user("bob").await,
            keyed: server.user("keyed").await,
            server,
        }
    }

    /// The user who manages the records of a kind.
    pub fn manager(&self, kind: &Kind) -> &TestUser {
        match (kind.manager, kind.creation) {
            (Manager::Administrator, _) => &self.admin,
            (Manager::Owner, Creation::Passkey) => &self.keyed,
            (Manager::Owner, _) => &self.ann,
        }
    }

    /// Creates a record. Returns the answer to the creation, or else the record in the list.
    pub async fn create(&self, kind: &Kind, name: &str) -> Value {
        let manager = self.manager(kind);
        match kind.creation {
            Creation::Post(body) => manager.post(kind.path, body(name)).await.expect(201).json(),
            Creation::Passkey => add_passkey(manager, name).await,
            Creation::Login | Creation::Connection => {
                let before = ids(&self.list(manager, kind).await);
                match kind.creation {
                    Creation::Login => drop(manager.login().await),
                    _ => drop(manager.connect_app().await),
                }
                let after = self.list(manager, kind).await.into_iter();
                let mut new = after.filter(|record| !before.contains(id_of(record)));
                new.next_back().expect("a new record")
            }
        }
    }

    /// All records of a kind that a user sees.
    pub async fn list(&self, user: &TestUser, kind: &Kind) -> Vec<Value> {
        user.list(kind.path, kind.list.expect("the kind has a list"))
            .await
    }

    /// A record as its manager sees it now.
    pub async fn find(&self, kind: &Kind, id: &str) -> Option<Value> {
        let manager = self.manager(kind);
        if kind.get {
            let answer = manager.get(&kind.path_of(id)).await;
            return (answer.status == 200).then(|| answer.json());
        }
        let records = match kind.creation {
            Creation::Passkey => {
                let state = manager.get("/api/auth/second-factor").await.expect(200);
                state.json()["passkeys"].as_array().unwrap().clone()
            }
            _ => self.list(manager, kind).await,
        };
        records.into_iter().find(|record| id_of(record) == id)
    }

    /// All audit entries, newest first.
    pub async fn audit(&self) -> Vec<Value> {
        self.admin.list("/api/audit", "audit").await
    }

    pub async fn document(&self) -> Value {
        let http = self.server.http();
        let answer = http.request("GET", "/api/openapi.json", &[], "").await;
        answer.expect(200).json()
    }
}

/// Adds a passkey as a browser on the machine of the server does.
async fn add_passkey(user: &TestUser, name: &str) -> Value {
    let address = user.http();
    let svc_testkit::Http::Tcp(address) = &address else {
        panic!("a server listens on TCP");
    };
    let host = format!("localhost:{}", address.port());
    let post = async |path: &str, body: Value| -> Answer {
        let request = user
            .request("POST", path)
            .header("content-type", "application/json")
            .header("host", &host)
            .body(body.to_string().into())
            .unwrap();
        user.http().send(request).await
    };
    let mut key = Authenticator::new();
    key.origin = format!("http://{host}");
    key.rp_id = "localhost".to_owned();
    let proof = json!({"password": user.password});
    let options = post("/api/auth/passkeys/begin", proof).await.expect(200);
    let created = post("/api/auth/passkeys", key.create(&options.json(), name)).await;
    created.expect(201).json()["passkey"].clone()
}

pub fn id_of(record: &Value) -> &str {
    record["id"]
        .as_str()
        .unwrap_or_else(|| panic!("no id: {record}"))
}

pub fn ids(records: &[Value]) -> BTreeSet<String> {
    records
        .iter()
        .map(|record| id_of(record).to_owned())
        .collect()
}

/// The record without some of its members.
pub fn without(record: &Value, members: &[&str]) -> Value {
    let mut record = record.clone();
    let all = record.as_object_mut().expect("a record is an object");
    all.retain(|name, _| !members.contains(&name.as_str()));
    record
}

/// The schema of the body of an operation.
pub fn body_schema<'a>(document: &'a Value, method: &str, path: &str) -> &'a Value {
    let content = &document["paths"][path][method]["requestBody"]["content"];
    let mut schema = &content["application/json"]["schema"];
    while let Some(name) = schema["$ref"].as_str().and_then(|at| at.rsplit('/').next()) {
        schema = &document["components"]["schemas"][name];
    }
    schema
}

/// The names of the members of the body of an operation.
pub fn body_members(document: &Value, method: &str, path: &str) -> Vec<String> {
    let members = &body_schema(document, method, path)["properties"];
    let members = members
        .as_object()
        .unwrap_or_else(|| panic!("{method} {path} has no members"));
    members.keys().cloned().collect()
}

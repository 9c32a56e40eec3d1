//! Sources make events from requests of other services. Schedules emit events at certain times.

mod cli;
mod flood;
mod hostile;
mod manage;
mod receive;
mod schedules;
mod zone;

use serde_json::{Value, json};
use svc_core::{
    Timestamp,
    source::{
        settings::{Verification, VerifyType},
        verify::sign,
    },
};
use svc_testkit::{Answer, Http, TestUser};

/// A source of a user, with the URL and the secret that were shown when it was created.
struct Sender {
    user: TestUser,
    id: String,
    /// The path of the URL.
    path: String,
    secret: String,
    verification: Verification,
}

impl Sender {
    async fn new(user: &TestUser, name: &str, verify: Value) -> Self {
        let body = json!({"name": name, "verify": verify});
        let created = user.post("/api/sources", body).await.expect(201).json();
        let url = created["url"].as_str().unwrap();
        let secret = created["verify"]["secret"].as_str().unwrap_or_default();
        let mut verification: Verification =
            serde_json::from_value(created["verify"].clone()).unwrap();
        verification.secret = None;
        Self {
            user: user.clone(),
            id: created["id"].as_str().unwrap().to_owned(),
            path: url[url.find("/in/").unwrap()..].to_owned(),
            secret: secret.to_owned(),
            verification,
        }
    }

    async fn of_type(user: &TestUser, kind: VerifyType) -> Self {
        Self::new(user, kind.as_str(), json!({"type": kind})).await
    }

    fn http(&self) -> Http {
        self.user.http()
    }

    /// Sends a signed request.
    async fn send(&self, id: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.send_at(id, svc_clock::now(), headers, body).await
    }

    async fn send_at(
        &self,
        id: &str,
        at: Timestamp,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let signed = sign(&self.verification, &self.secret, id, body.as_bytes(), at);
        let mut all = headers.to_vec();
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            all.push(("content-type", "application/json"));
        }
        all.extend(
            signed
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        self.http()
            .request("POST", &self.path, &all, body.to_owned())
            .await
    }

    async fn record(&self) -> Value {
        let path = format!("/api/sources/{}", self.id);
        self.user.get(&path).await.expect(200).json()
    }

    /// The last requests, newest first.
    async fn requests(&self) -> Vec<Value> {
        let path = format!("/api/sources/{}/requests", self.id);
        let listed = self.user.get(&path).await.expect(200).json();
        listed["requests"].as_array().unwrap().clone()
    }

    /// Why the last request was rejected.
    async fn reason(&self) -> String {
        self.requests().await[0]["reason"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// The events of the source, oldest first.
    async fn events(&self) -> Vec<Value> {
        let mut events = events_of(&self.user).await;
        let name = self.record().await["name"].as_str().unwrap().to_owned();
        events.retain(|event| {
            let kind = event["event_type"].as_str().unwrap();
            kind.starts_with(&format!("source.{name}."))
        });
        events
    }
}

/// The events of a user, oldest first.
async fn events_of(user: &TestUser) -> Vec<Value> {
    let listed = user.get("/api/events?limit=500").await.expect(200).json();
    let mut events = listed["events"].as_array().unwrap().clone();
    events.reverse();
    events
}

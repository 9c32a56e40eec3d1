//! Emits events, and creates and reads sinks, as a user.

use std::{fmt::Display, time::Duration};

use serde_json::{Value, json};

use crate::{http::Answer, user::TestUser, wait::get_eventually};

/// A sink created by a test.
#[derive(Clone)]
pub struct TestSink {
    pub id: String,
    pub owner: TestUser,
    /// The record that its creation returned, with the secret.
    pub created: Value,
}

impl TestUser {
    /// Emits through the server. Returns the response, also if it is an error.
    pub async fn try_emit(&self, event_type: &str, payload: Value) -> Answer {
        let body = json!({"type": event_type, "payload": payload});
        self.post("/api/events/emit", body).await
    }

    /// Emits through the server. Returns the id of the event.
    pub async fn emit(&self, event_type: &str, payload: Value) -> String {
        let emitted = self.try_emit(event_type, payload).await.expect(202).json();
        let id = emitted["event_id"].as_str();
        id.expect("an emitted event has an id").to_owned()
    }

    /// Emits with an `Idempotency-Key`. Returns an error if no response arrives.
    pub async fn emit_with_key(&self, key: &str, body: impl Display) -> Result<Answer, String> {
        let request = self
            .request("POST", "/api/events/emit")
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(body.to_string().into_bytes().into())
            .expect("a test's request is well-formed");
        self.http().try_send(request).await
    }

    /// Creates a sink from its whole body.
    pub async fn sink(&self, body: Value) -> TestSink {
        let created = self.post("/api/event-sinks", body).await.expect(201).json();
        let id = created["id"].as_str().unwrap_or_default().to_owned();
        TestSink {
            id,
            owner: self.clone(),
            created,
        }
    }

    /// Creates a webhook sink of this user.
    pub async fn webhook(&self, name: &str, patterns: &str, url: &str) -> TestSink {
        self.sink(json!({
            "name": name, "patterns": patterns, "type": "webhook", "webhook": {"url": url},
        }))
        .await
    }

    /// Creates a global webhook sink. The user needs `manage_global_event_sinks`.
    pub async fn global_webhook(&self, name: &str, patterns: &str, url: &str) -> TestSink {
        self.sink(json!({
            "name": name, "patterns": patterns, "type": "webhook", "owner": "global",
            "webhook": {"url": url},
        }))
        .await
    }

    /// All audit entries of an action. The user needs `view_audit`.
    pub async fn audit_entries(&self, action: &str) -> Vec<Value> {
        let all = self.list("/api/audit", "audit").await;
        let of_action = all.into_iter().filter(|entry| entry["action"] == action);
        of_action.collect()
    }

    /// The use and limit of one of the user's quotas.
    pub async fn quota(&self, name: &str) -> Value {
        let quotas = self.get("/api/stats/quotas").await.expect(200).json();
        let mut quotas = quotas["quotas"].as_array().expect("quotas").iter();
        let found = quotas.find(|quota| quota["quota"] == name);
        found.expect("a quota").clone()
    }

    /// Reads a whole list, page by page.
    pub async fn list(&self, path: &str, resource: &str) -> Vec<Value> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        let joint = if path.contains('?') { '&' } else { '?' };
        loop {
            let page = format!("{path}{joint}limit=200{cursor}");
            let page = self.get(&page).await.expect(200).json();
            let records = page[resource].as_array();
            all.extend_from_slice(records.unwrap_or_else(|| panic!("no `{resource}`: {page}")));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return all,
            }
        }
    }
}

impl TestSink {
    pub fn path(&self) -> String {
        format!("/api/event-sinks/{}", self.id)
    }

    /// The secret in the answer that created the sink.
    pub fn secret(&self) -> &str {
        let secret = self.created["webhook"]["secret"].as_str();
        secret.expect("a new webhook sink shows its secret")
    }

    pub async fn record(&self) -> Value {
        self.owner.get(&self.path()).await.expect(200).json()
    }

    pub async fn patch(&self, body: Value) -> Value {
        let answer = self.owner.patch(&self.path(), body).await;
        answer.expect(200).json()
    }

    /// All deliveries, oldest first.
    pub async fn deliveries(&self) -> Vec<Value> {
        let path = format!("{}/deliveries", self.path());
        let mut all = self.owner.list(&path, "deliveries").await;
        all.reverse();
        all
    }

    /// Waits until at least `count` deliveries are in a state. Returns all of them, oldest first.
    pub async fn wait_for(&self, state: &str, count: usize, limit: Duration) -> Vec<Value> {
        let what = format!("{count} deliveries are {state}");
        get_eventually(&what, limit, || async {
            let mut all = self.deliveries().await;
            all.retain(|delivery| delivery["state"] == state);
            (all.len() >= count).then_some(all)
        })
        .await
    }
}

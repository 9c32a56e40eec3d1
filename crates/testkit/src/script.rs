//! Stored scripts and script sinks of a user.

use serde_json::{Value, json};

use crate::{sink::TestSink, user::TestUser};

/// A stored script created by a test.
#[derive(Clone)]
pub struct TestScript {
    pub id: String,
    pub owner: TestUser,
    /// The record that its creation returned.
    pub created: Value,
}

impl TestUser {
    /// Stores a script from its whole body.
    pub async fn store(&self, body: Value) -> TestScript {
        let created = self.post("/api/scripts", body).await.expect(201).json();
        TestScript {
            id: created["id"].as_str().unwrap_or_default().to_owned(),
            owner: self.clone(),
            created,
        }
    }

    /// Stores a script of this user.
    pub async fn script(&self, kind: &str, name: &str, source: &str) -> TestScript {
        self.store(json!({"kind": kind, "name": name, "source": source}))
            .await
    }

    /// Stores a global script. The user needs `manage_scripts`.
    pub async fn global_script(&self, kind: &str, name: &str, source: &str) -> TestScript {
        self.store(json!({"kind": kind, "name": name, "source": source, "owner": "global"}))
            .await
    }

    /// Runs a tool as this user. Returns `{result, error, output, ms}`.
    pub async fn run_tool(&self, script: &TestScript, params: Value) -> Value {
        let path = format!("{}/run", script.path());
        let body = json!({ "params": params });
        self.post(&path, body).await.expect(200).json()
    }

    /// Creates a sink that runs this source.
    pub async fn script_sink(&self, name: &str, patterns: &str, source: &str) -> TestSink {
        self.sink(json!({
            "name": name, "patterns": patterns, "type": "script", "script": {"source": source},
        }))
        .await
    }
}

impl TestScript {
    pub fn path(&self) -> String {
        format!("/api/scripts/{}", self.id)
    }

    pub async fn record(&self) -> Value {
        self.owner.get(&self.path()).await.expect(200).json()
    }

    pub async fn patch(&self, body: Value) -> Value {
        let answer = self.owner.patch(&self.path(), body).await;
        answer.expect(200).json()
    }
}

//! Imitates the part of the server's API that an agent reads. Tests set the answers.

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use uuid::Uuid;

/// Libraries per page.
const PAGE: usize = 2;

#[derive(Default)]
pub struct Api {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    startup_script: Option<Value>,
    libraries: Vec<Value>,
    /// If set, every request is answered with this status.
    failure: Option<u16>,
    /// Paths of all requests.
    asked: Vec<String>,
}

fn script(name: &str, kind: &str, owner: &str, source: &str) -> Value {
    let at = "2026-01-01T00:00:00.000Z";
    json!({
        "id": Uuid::nil(), "name": name, "kind": kind, "owner": owner, "owner_id": Uuid::nil(),
        "description": "", "source": source, "params_schema": null, "created_at": at,
        "updated_at": at,
    })
}

impl Api {
    pub fn set_startup_script(&self, kind: &str, source: &str) {
        self.state.lock().startup_script = Some(script("boot", kind, "user", source));
    }

    /// Each library is a tuple of its owner, name and source.
    pub fn set_libraries(&self, libraries: &[(&str, &str, &str)]) {
        self.state.lock().libraries = libraries
            .iter()
            .map(|(owner, name, source)| script(name, "library", owner, source))
            .collect();
    }

    pub fn fail_with(&self, status: Option<u16>) {
        self.state.lock().failure = status;
    }

    pub fn asked(&self, path: &str) -> usize {
        let state = self.state.lock();
        state.asked.iter().filter(|asked| *asked == path).count()
    }

    /// Answers the requests of one connection.
    pub async fn serve(&self, mut stream: TcpStream) {
        let mut bytes = Vec::new();
        loop {
            while !bytes.ends_with(b"\r\n\r\n") {
                match stream.read_buf(&mut bytes).await {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
            }
            let head = String::from_utf8_lossy(&bytes).into_owned();
            assert!(
                head.contains("authorization: Bearer svc_agt_test\r\n"),
                "{head}"
            );
            let path = head.split(' ').nth(1).unwrap_or_default();
            let (status, body) = self.answer(path);
            let body = body.to_string();
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
            bytes.clear();
        }
    }

    fn answer(&self, path: &str) -> (u16, Value) {
        let mut state = self.state.lock();
        state.asked.push(path.to_owned());
        if let Some(status) = state.failure {
            return (status, json!({}));
        }
        match path.split_once('?').unwrap_or((path, "")) {
            (path, "") if path.starts_with("/api/spaces/") => {
                let script = state.startup_script.as_ref();
                (
                    200,
                    space(script.map_or(Value::Null, |it| it["id"].clone())),
                )
            }
            (path, "") if path.starts_with("/api/scripts/") => match &state.startup_script {
                Some(script) => (200, script.clone()),
                None => (404, json!({})),
            },
            ("/api/scripts", query) if query.contains("kind=library") => {
                let from = query
                    .split_once("cursor=")
                    .map_or(0, |(_, from)| from.parse().expect("a cursor of ours"));
                let rest = &state.libraries[from..];
                let next = (rest.len() > PAGE).then(|| (from + PAGE).to_string());
                let page: Vec<_> = rest.iter().take(PAGE).collect();
                (200, json!({"scripts": page, "next_cursor": next}))
            }
            _ => (404, json!({})),
        }
    }
}

fn space(startup_script_id: Value) -> Value {
    json!({
        "id": Uuid::nil(), "name": "lab", "owner_id": Uuid::nil(), "owner": "ann",
        "state": "deployed", "health": "unknown", "runtime": "external", "template_id": null,
        "startup_script_id": startup_script_id, "space_urls": {}, "node_id": null,
        "health_check": {"type": "none"}, "registration": {"state": "none"},
        "created_at": "2026-01-01T00:00:00.000Z",
    })
}

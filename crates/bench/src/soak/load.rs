//! The load: calls, batches, MCP, events, scripts, lists, streams, logins, registrations, and
//! agents that come and go. Each kind has its own rate.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Value, json};
use svc_testkit::{Answer, SseStream, TestAgent, TestScript, TestUser, fixture, method};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval, timeout},
};

use super::{hook::Hook, registration, tally::Tally};
use crate::connection::Connection;

const CALL_EVERY: Duration = Duration::from_millis(20);
const BATCH_EVERY: Duration = Duration::from_secs(1);
const MCP_EVERY: Duration = Duration::from_millis(500);
const EMIT_EVERY: Duration = Duration::from_millis(100);
/// Slow enough for the limit of 60 scripts a minute for each user.
const SCRIPT_EVERY: Duration = Duration::from_millis(1_500);
const LIST_EVERY: Duration = Duration::from_millis(700);
const STREAM_EVERY: Duration = Duration::from_secs(5);
const LOGIN_EVERY: Duration = Duration::from_secs(5);
const REGISTER_EVERY: Duration = Duration::from_secs(15);
const AGENT_EVERY: Duration = Duration::from_secs(20);
/// A request that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(30);
/// The number of calls on one connection, and of events for one sink, before a new connection or a
/// new sink replaces the old one.
const CALLS_OF_CONNECTION: u32 = 500;
const EVENTS_OF_SINK: u64 = 300;
/// The number of names for the spaces whose agents come and go.
const SPACES: u64 = 5;

type Done = Result<(), String>;

pub struct Load {
    pub user: TestUser,
    pub tally: Arc<Tally>,
    /// Becomes true when the load must end.
    pub stop: watch::Receiver<bool>,
    pub hook: Hook,
}

impl Load {
    /// Runs all kinds of load at the same time, until the load stops. `agent` runs during the whole
    /// load; other agents come and go.
    pub async fn run(&self, agent: &TestAgent) {
        let source = "def main(params):\n    return sum(range(params['n']))\n";
        let script = self.user.script("tool", "sum", source).await;
        tokio::join!(
            self.calls(),
            self.emits(),
            self.register(agent),
            self.repeat("batches", BATCH_EVERY, async |_| self.batch().await),
            self.repeat("MCP requests", MCP_EVERY, async |n| self.mcp(n).await),
            self.repeat("script runs", SCRIPT_EVERY, async |n| {
                self.run_script(&script, n).await
            }),
            self.repeat("lists", LIST_EVERY, async |n| self.list(n).await),
            self.repeat("streams", STREAM_EVERY, async |_| self.stream().await),
            self.repeat("logins", LOGIN_EVERY, async |_| self.login().await),
            self.repeat("agents", AGENT_EVERY, async |n| self.agent(n).await),
        );
    }

    /// Does the same work at an interval until the load stops.
    async fn repeat(&self, what: &'static str, every: Duration, work: impl AsyncFn(u64) -> Done) {
        let mut stop = self.stop.clone();
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        for n in 0.. {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = stop.wait_for(|stop| *stop) => break,
            }
            let limit = LIMIT.max(every);
            let done = timeout(limit, work(n)).await;
            let done = done.unwrap_or_else(|_| Err(format!("not done within {limit:?}")));
            self.tally.note(what, &done);
        }
    }

    /// Registers a different set of methods with `agent`, again and again.
    async fn register(&self, agent: &TestAgent) {
        self.repeat("registrations", REGISTER_EVERY, async |n| {
            let said = agent.register(registration(n)).await;
            match said.code {
                0 => Ok(()),
                code => Err(format!("exit code {code}: {}", said.stderr)),
            }
        })
        .await;
    }

    /// Makes calls over one connection, which is replaced after [`CALLS_OF_CONNECTION`] calls.
    async fn calls(&self) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"x": 1}});
        let body = Bytes::from(body.to_string());
        let connection = tokio::sync::Mutex::new((None::<Connection>, 0));
        self.repeat("calls", CALL_EVERY, async |_| {
            let mut kept = connection.lock().await;
            if kept.1 == CALLS_OF_CONNECTION {
                *kept = (None, 0);
            }
            let mut open = match kept.0.take() {
                Some(open) => open,
                None => Connection::open(&self.user).await.map_err(text)?,
            };
            let (status, answer) = open.post("/api/methods/call", &body).await.map_err(text)?;
            kept.1 += 1;
            kept.0 = Some(open);
            match status.as_u16() == 200 && contains(&answer, "\"result\"") {
                true => Ok(()),
                false => Err(format!("{status} {}", String::from_utf8_lossy(&answer))),
            }
        })
        .await;
    }

    /// A batch of calls and notifications.
    async fn batch(&self) -> Done {
        let call = |id: u32| {
            let mut call = json!({"jsonrpc": "2.0", "method": "echo", "params": [id]});
            if !id.is_multiple_of(5) {
                call["id"] = json!(id);
            }
            call
        };
        let batch: Vec<Value> = (0..50).map(call).collect();
        let answer = self
            .send("POST", "/api/methods/call", Some(json!(batch)))
            .await?;
        let answers = expect(&answer, 200)?;
        let answers = answers.as_array().map_or(0, Vec::len);
        (answers == 40)
            .then_some(())
            .ok_or_else(|| format!("{answers} of 40 answers"))
    }

    async fn mcp(&self, n: u64) -> Done {
        let body = match n % 4 {
            0 => json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
            _ => json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "echo", "arguments": {"n": n}}}),
        };
        let request = self
            .user
            .request("POST", "/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .body(Bytes::from(body.to_string()).into())
            .map_err(text)?;
        let answer = self.user.http().try_send(request).await?;
        let answer = expect(&answer, 200)?;
        answer
            .get("result")
            .map(drop)
            .ok_or_else(|| answer.to_string())
    }

    /// Emits events for a webhook and a script. After [`EVENTS_OF_SINK`] events, all of them must
    /// have arrived at the webhook. Then new sinks replace the old sinks, so that deliveries do not
    /// accumulate.
    async fn emits(&self) {
        let source = "x = 1\n";
        let script = self.user.script("sink", "count", source).await;
        while !*self.stop.borrow() {
            let hook = json!({"name": "hook", "patterns": "custom.*", "type": "webhook",
                "webhook": {"url": self.hook.url}, "delivery": {"overflow": "hold"}});
            let counter = json!({"name": "script", "patterns": "custom.soak.script",
                "type": "script", "script": {"script_id": script.id}});
            let sinks = [self.user.sink(hook).await, self.user.sink(counter).await];
            let (before, mut emitted) = (self.hook.received(), 0);
            let mut ticks = interval(EMIT_EVERY);
            while emitted < EVENTS_OF_SINK && !*self.stop.borrow() {
                ticks.tick().await;
                let kind = if emitted % 10 == 0 {
                    "soak.script"
                } else {
                    "soak"
                };
                let body = json!({"type": kind, "payload": {"text": "x".repeat(500)}});
                let sent = self.send("POST", "/api/events/emit", Some(body)).await;
                let done = sent.and_then(|answer| expect(&answer, 202).map(drop));
                emitted += u64::from(done.is_ok());
                self.tally.note("emits", &done);
            }
            let deadline = Instant::now() + LIMIT;
            while self.hook.received() < before + emitted && Instant::now() < deadline {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let missing = (before + emitted).saturating_sub(self.hook.received());
            let arrived = match missing {
                0 => Ok(()),
                _ => Err(format!("{missing} of {emitted} events did not arrive")),
            };
            self.tally.note("sinks", &arrived);
            for sink in sinks {
                let removed = self.send("DELETE", &sink.path(), None).await;
                let removed = removed.and_then(|answer| status(&answer, 204));
                self.tally.note("removed sinks", &removed);
            }
            self.tally.add_audited(4);
        }
    }

    async fn run_script(&self, script: &TestScript, n: u64) -> Done {
        let path = format!("/api/scripts/{}/run", script.id);
        let body = json!({"params": {"n": n % 1_000}});
        let answer = self.send("POST", &path, Some(body)).await?;
        let answer = expect(&answer, 200)?;
        match answer["error"].is_null() {
            true => Ok(()),
            false => Err(answer.to_string()),
        }
    }

    async fn list(&self, n: u64) -> Done {
        let paths = [
            "/api/methods",
            "/api/events?limit=50",
            "/api/spaces",
            "/api/event-sinks",
            "/api/calls?limit=50",
            "/api/tokens",
            "/readyz",
            "/metrics",
        ];
        let path = paths[n as usize % paths.len()];
        let answer = match path.starts_with("/api/") {
            true => self.send("GET", path, None).await?,
            // On the server's own machine, these paths need no credential.
            false => self.user.http().request("GET", path, &[], "").await,
        };
        status(&answer, 200).map_err(|why| format!("{path}: {why}"))
    }

    /// Opens a stream, waits for an event, and disconnects.
    async fn stream(&self) -> Done {
        let request = self
            .user
            .request("GET", "/api/events/stream")
            .body(Bytes::new().into())
            .map_err(text)?;
        let mut stream = SseStream::open(&self.user.http(), request).await;
        stream.next(LIMIT).await;
        Ok(())
    }

    /// Logs in, uses the session, and logs out.
    async fn login(&self) -> Done {
        let login = json!({"username": self.user.name, "password": self.user.password});
        let headers = [("content-type", "application/json")];
        let http = self.user.http();
        let answer = http.request("POST", "/api/auth/login", &headers, login.to_string());
        let answer = answer.await;
        status(&answer, 200)?;
        let cookie = answer.header("set-cookie").unwrap_or_default();
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        let session = [("cookie", cookie.as_str()), headers[0]];
        let me = http.request("GET", "/api/auth/me", &session[..1], "").await;
        status(&me, 200)?;
        let ended = http
            .request("POST", "/api/auth/logout", &session, "{}")
            .await;
        status(&ended, 204)?;
        let refused = http.request("GET", "/api/auth/me", &session[..1], "").await;
        self.tally.add_audited(2);
        status(&refused, 401)
    }

    /// Creates a space with an agent, calls its method, ends the agent, and removes the space.
    async fn agent(&self, n: u64) -> Done {
        let name = format!("brief{}", n % SPACES);
        let space = self.user.space(&name).await;
        let registration = fixture().with(method(&format!("{name}.echo"), "echo"));
        let mut agent = space.publish(registration).await;
        let called = self
            .user
            .try_call(&format!("{name}.echo"), json!({"n": n}))
            .await?;
        // Half of the agents are killed.
        match n % 2 {
            0 => drop(agent.stop().await),
            _ => agent.kill9(),
        }
        let removed = self.send("DELETE", &space.path(), None).await?;
        status(&removed, 204)?;
        self.tally.add_audited(6);
        match called["result"]["n"] == n {
            true => Ok(()),
            false => Err(called.to_string()),
        }
    }

    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Result<Answer, String> {
        let mut request = self.user.request(method, path);
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = request.body(Bytes::from(body).into()).map_err(text)?;
        self.user.http().try_send(request).await
    }
}

fn status(answer: &Answer, expected: u16) -> Done {
    match answer.status == expected {
        true => Ok(()),
        false => Err(format!(
            "answered {} instead of {expected}: {}",
            answer.status,
            String::from_utf8_lossy(&answer.body)
        )),
    }
}

fn expect(answer: &Answer, expected: u16) -> Result<Value, String> {
    status(answer, expected)?;
    serde_json::from_slice(&answer.body).map_err(text)
}

fn contains(bytes: &Bytes, text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

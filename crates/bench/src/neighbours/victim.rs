//! An ordinary user, and the latency of their requests.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::json;
use svc_testkit::{RegistrationToml, TestAgent, TestReceiver, TestServer, TestUser, method};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval, timeout},
};

use crate::connection::Connection;

/// Name of the victim, and of the victim's shared method, which attackers may call too.
pub const NAME: &str = "vera";
pub const METHOD: &str = "echo";

const CALL_EVERY: Duration = Duration::from_millis(5);
const EMIT_EVERY: Duration = Duration::from_millis(50);
const LIST_EVERY: Duration = Duration::from_millis(100);
const LOGIN_EVERY: Duration = Duration::from_secs(1);
/// A request that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(20);

pub struct Victim {
    pub user: TestUser,
    hook: TestReceiver,
    _agent: TestAgent,
}

/// Sorted times of one kind of request.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    pub fn percentile(&self, percent: usize) -> Duration {
        let at = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(at).copied().unwrap_or_default()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub calls: Times,
    /// Times from the emit request to the arrival of the event's first delivery attempt.
    pub attempts: Times,
    pub lists: Times,
    pub logins: Times,
    pub failures: usize,
    /// The first failure as text.
    pub failure: Option<String>,
}

impl Victim {
    pub async fn start(server: &TestServer) -> anyhow::Result<Self> {
        let user = server.user(NAME).await;
        let space = user.space("lab").await;
        let program = std::env::current_exe()?;
        let registration = RegistrationToml::of(&program, &["echo-method-server"])
            .with(method(METHOD, METHOD).shared());
        let agent = space.publish(registration).await;
        let hook = TestReceiver::start().await;
        user.webhook("hook", "custom.victim.*", &hook.url("/hook"))
            .await;
        Ok(Self {
            user,
            hook,
            _agent: agent,
        })
    }

    /// Sends requests of every kind, each kind at its own rate, for the time `window`.
    pub async fn measure(&self, window: Duration) -> Measured {
        let until = Instant::now() + window;
        let (calls, attempts, lists, logins) = tokio::join!(
            self.calls(until),
            self.attempts(until),
            self.lists(until),
            self.logins(until),
        );
        let mut measured = Measured::default();
        for (kind, into, times) in [
            ("a call", &mut measured.calls, calls),
            ("a first attempt", &mut measured.attempts, attempts),
            ("a list", &mut measured.lists, lists),
            ("a login", &mut measured.logins, logins),
        ] {
            for time in times {
                match time {
                    Ok(time) => into.0.push(time),
                    Err(why) => {
                        measured.failures += 1;
                        measured
                            .failure
                            .get_or_insert_with(|| format!("{kind}: {why}"));
                    }
                }
            }
            into.0.sort_unstable();
        }
        measured
    }

    async fn calls(&self, until: Instant) -> Vec<Result<Duration, String>> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": {"x": 1}});
        let body = Bytes::from(body.to_string());
        let mut connection = None;
        let mut times = Vec::new();
        let mut ticks = interval(CALL_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while Instant::now() < until {
            ticks.tick().await;
            let calling = async {
                if connection.is_none() {
                    connection = Some(Connection::open(&self.user).await?);
                }
                let open = connection.as_mut().expect("just opened");
                open.post("/api/methods/call", &body).await
            };
            let begun = Instant::now();
            let called = match timeout(LIMIT, calling).await {
                Ok(Ok((status, answer))) if status == 200 => {
                    match answer.windows(8).any(|part| part == b"\"result\"") {
                        true => Ok(begun.elapsed()),
                        false => Err(String::from_utf8_lossy(&answer).into_owned()),
                    }
                }
                Ok(Ok((status, _))) => Err(status.to_string()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("no answer within {LIMIT:?}")),
            };
            if called.is_err() {
                connection = None;
            }
            times.push(called);
        }
        times
    }

    /// Emits at a fixed rate, whether or not earlier attempts have arrived.
    async fn attempts(&self, until: Instant) -> Vec<Result<Duration, String>> {
        let first = self.hook.count("/hook");
        let mut emitted = Vec::new();
        let mut emitting = JoinSet::new();
        let mut ticks = interval(EMIT_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut failed: Vec<String> = Vec::new();
        while Instant::now() < until {
            ticks.tick().await;
            let sent = Instant::now();
            let n = emitted.len();
            emitted.push(sent);
            let user = self.user.clone();
            emitting.spawn(async move {
                let body = json!({"type": "victim.tick", "payload": {"n": n}}).to_string();
                let request = user
                    .request("POST", "/api/events/emit")
                    .header("content-type", "application/json")
                    .body(Bytes::from(body).into())
                    .map_err(|error| error.to_string())?;
                match timeout(LIMIT, user.http().try_send(request)).await {
                    Ok(Ok(answer)) if answer.status == 202 => Ok(()),
                    Ok(Ok(answer)) => Err(format!("an emit answered {}", answer.status)),
                    Ok(Err(why)) => Err(why),
                    Err(_) => Err(format!("no answer to an emit within {LIMIT:?}")),
                }
            });
        }
        for ended in emitting.join_all().await {
            failed.extend(ended.err());
        }
        let expected = first + emitted.len() - failed.len();
        let deadline = Instant::now() + LIMIT;
        while self.hook.count("/hook") < expected && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut arrived: Vec<Option<Instant>> = vec![None; emitted.len()];
        for received in self.hook.received("/hook").into_iter().skip(first) {
            let n = received.json()["data"]["n"].as_u64().unwrap_or(u64::MAX);
            if let Some(slot) = usize::try_from(n).ok().and_then(|n| arrived.get_mut(n)) {
                slot.get_or_insert(received.began);
            }
        }
        let times = emitted.iter().zip(arrived).map(|(sent, arrived)| {
            arrived
                .map(|arrived| arrived.saturating_duration_since(*sent))
                .ok_or_else(|| format!("no attempt within {LIMIT:?}"))
        });
        // A refused emit has no attempt, so `times` already has one failure for it.
        times.collect()
    }

    async fn lists(&self, until: Instant) -> Vec<Result<Duration, String>> {
        self.requests(until, LIST_EVERY, "GET", "/api/methods", "")
            .await
    }

    async fn logins(&self, until: Instant) -> Vec<Result<Duration, String>> {
        let login = json!({"username": self.user.name, "password": self.user.password});
        self.requests(
            until,
            LOGIN_EVERY,
            "POST",
            "/api/auth/login",
            &login.to_string(),
        )
        .await
    }

    /// Sends the same request at the interval `every`, each time on a new connection.
    async fn requests(
        &self,
        until: Instant,
        every: Duration,
        method: &str,
        path: &str,
        body: &str,
    ) -> Vec<Result<Duration, String>> {
        let mut times = Vec::new();
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while Instant::now() < until {
            ticks.tick().await;
            let mut request = self.user.request(method, path);
            if !body.is_empty() {
                request = request.header("content-type", "application/json");
            }
            let request = request
                .body(Bytes::from(body.to_owned()).into())
                .expect("a plain request");
            let begun = Instant::now();
            times.push(
                match timeout(LIMIT, self.user.http().try_send(request)).await {
                    Ok(Ok(answer)) if answer.status == 200 => Ok(begun.elapsed()),
                    Ok(Ok(answer)) => Err(format!("{path} answered {}", answer.status)),
                    Ok(Err(why)) => Err(why),
                    Err(_) => Err(format!("no answer within {LIMIT:?}")),
                },
            );
        }
        times
    }
}

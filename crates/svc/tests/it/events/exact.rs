//! Without a template, the payload of an event reaches each receiver with the JSON tokens that were
//! sent. Only white space may differ.

use std::fmt::Write as _;

use serde_json::{Value, json};
use svc_testkit::{
    RegistrationToml, Reply, TestReceiver, TestServer, TestServerBuilder, get_eventually, method,
    peak_resident_mib, resident_mib,
};

use crate::SOON;

/// A method server that appends each line that it reads to the file `received`, and answers `null`.
const RECORDER: &str = r#"
while IFS= read -r line; do
  printf '%s\n' "$line" >> received
  id=${line##*\"id\":}; id=${id%\}}
  echo "{\"id\":$id,\"result\":null}"
done
"#;

fn open() -> TestServerBuilder {
    TestServer::builder().allow_loopback_webhooks()
}

/// Writes random JSON twice: as a sender might write it, and without white space between tokens.
struct Writer {
    state: u64,
    sent: String,
    compact: String,
}

impl Writer {
    fn new(seed: u64) -> Self {
        Self {
            state: seed,
            sent: String::new(),
            compact: String::new(),
        }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % below
    }

    fn token(&mut self, token: &str) {
        for _ in 0..self.random(3) {
            let space = [" ", "\n", "\t", "\r\n"][self.random(4) as usize];
            self.sent.push_str(space);
        }
        self.sent.push_str(token);
        self.compact.push_str(token);
    }

    fn number(&mut self) -> String {
        let mut number = String::new();
        if self.random(3) == 0 {
            number.push('-');
        }
        write!(number, "{}", 1 + self.random(9)).unwrap();
        for _ in 0..self.random(40) {
            write!(number, "{}", self.random(10)).unwrap();
        }
        if self.random(3) == 0 {
            write!(number, ".{:03}0", self.random(1_000)).unwrap();
        }
        if self.random(4) == 0 {
            write!(number, "E+{}", self.random(500)).unwrap();
        }
        number
    }

    fn value(&mut self, depth: u64) {
        let strings = [
            r#""""#,
            r#""\u0041\/""#,
            r#"" , : ] ""#,
            r#""\"\\""#,
            "\"ü\u{1f600}\u{2028}\"",
        ];
        match self.random(if depth == 0 { 4 } else { 7 }) {
            0 => {
                let token = ["null", "true", "false"][self.random(3) as usize];
                self.token(token);
            }
            1 => {
                let token = strings[self.random(5) as usize];
                self.token(token);
            }
            2 | 3 => {
                let number = self.number();
                self.token(&number);
            }
            4 | 5 => self.object(depth - 1),
            _ => {
                self.token("[");
                for index in 0..self.random(4) {
                    if index > 0 {
                        self.token(",");
                    }
                    self.value(depth - 1);
                }
                self.token("]");
            }
        }
    }

    fn object(&mut self, depth: u64) {
        self.token("{");
        for index in 0..self.random(5) {
            if index > 0 {
                self.token(",");
            }
            // Not in alphabetical order.
            self.token(&format!(
                "\"{}\"",
                ["z", "a", "\\u0062", "", "_"][index as usize]
            ));
            self.token(":");
            self.value(depth);
        }
        self.token("}");
    }
}

#[tokio::test]
async fn s2_2_s6_2_every_receiver_gets_the_tokens_that_were_sent() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    ann.webhook("plain", "custom.*", &receiver.url("/plain"))
        .await;
    let space = ann.space("lab").await;
    let listener = method("on.exact", "on.exact").line("events", r#"["custom.*"]"#);
    let registration = RegistrationToml::shell(RECORDER).with(listener);
    let _agent = space.publish(registration).await;
    let mut expected = Vec::new();
    for seed in 0..150 {
        let mut writer = Writer::new(seed);
        writer.object(6);
        let body = format!("{{\"type\": \"exact\", \"payload\":{}}}", writer.sent);
        let emitted = ann.post("/api/events/emit", &body).await;
        let id = emitted.expect(202).json()["event_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let data = format!("\"data\":{}", writer.compact);
        let history = ann.get(&format!("/api/events/{id}")).await.text();
        assert!(history.contains(&data), "{history}\n{data}");
        expected.push((id, data));
        // Wait for the deliveries: the queue of the method has room for 100 events only.
        if expected.len() % 50 == 0 {
            receiver.wait_for("/plain", expected.len(), 2 * SOON).await;
            wait_for_lines(space.folder(), expected.len()).await;
        }
    }
    let page = ann.get("/api/events?limit=100").await.text();
    for (_, data) in expected.iter().rev().take(100) {
        assert!(page.contains(data), "{data}");
    }
    let bodies = receiver.received("/plain");
    let lines = wait_for_lines(space.folder(), expected.len()).await;
    for ((id, data), (body, line)) in expected.iter().zip(bodies.iter().zip(&lines)) {
        let body = String::from_utf8_lossy(&body.body);
        for text in [&*body, line] {
            assert!(text.contains(id), "{text}");
            assert!(text.contains(data), "{text}\n{data}");
        }
    }
}

async fn wait_for_lines(folder: &std::path::Path, count: usize) -> Vec<String> {
    get_eventually(&format!("{count} calls"), 2 * SOON, || async {
        let text = std::fs::read_to_string(folder.join("received")).ok()?;
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        (lines.len() >= count).then_some(lines)
    })
    .await
}

#[tokio::test]
async fn s6_2_templates_see_exact_numbers() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    ann.sink(json!({
        "name": "template", "type": "webhook", "patterns": "custom.*",
        "webhook": {"url": receiver.url("/template"), "body_template": r#"{"all": ${{ event.data }}, "one": ${{ event.data.big }}, "text": "${{ event.data.list | last }}", "above": ${{ event.data.cost > 5 }}}"#},
    }))
    .await;
    let data = r#"{"big":123456789012345678901234567890123456789012,"list":[1,18446744073709551616],"cost":7.50,"tiny":1e-400}"#;
    let body = format!(r#"{{"type": "n", "payload": {data}}}"#);
    ann.post("/api/events/emit", &body).await.expect(202);
    let received = receiver.wait_for("/template", 1, SOON).await;
    let body = String::from_utf8_lossy(&received[0].body).into_owned();
    let all = data.replace("7.50", "7.5");
    assert_eq!(
        body,
        format!(
            r#"{{"all": {all}, "one": 123456789012345678901234567890123456789012, "text": "18446744073709551616", "above": true}}"#
        )
    );
}

#[tokio::test]
async fn s6_2_payloads_with_repeated_members_are_refused_with_the_name() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for (payload, code, told) in [
        (r#"{"a": 1, "a": 2}"#.to_owned(), "invalid_event", "`a`"),
        (
            r#"{"x": [{"b": 1, "\u0062": 2}]}"#.to_owned(),
            "invalid_event",
            "`b`",
        ),
        ("[1]".to_owned(), "invalid_event", "an array"),
        (
            format!("{{\"x\":{}{}}}", "[".repeat(200), "]".repeat(200)),
            "too_deep",
            "128",
        ),
    ] {
        let body = format!(r#"{{"type": "n", "payload": {payload}}}"#);
        let refused = ann.post("/api/events/emit", &body).await.expect(400);
        assert_eq!(refused.code(), code, "{payload}");
        assert!(refused.text().contains(told), "{}", refused.text());
    }
    assert_eq!(ann.get("/api/events").await.json()["events"], json!([]));
}

#[tokio::test]
async fn s6_2_an_event_without_a_space_has_the_nil_space_id_everywhere() {
    const NIL: &str = "00000000-0000-0000-0000-000000000000";
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    ann.sink(json!({
        "name": "template", "type": "webhook", "patterns": "custom.*",
        "webhook": {
            "url": receiver.url("/template"),
            "body_template": r#"{"id": ${{ space.id }}, "name": ${{ space.name }}, "urls": ${{ space.urls }}}"#,
        },
    }))
    .await;
    ann.emit("n", json!({})).await;
    let received = receiver.wait_for("/template", 1, SOON).await;
    assert_eq!(
        received[0].json(),
        json!({"id": NIL, "name": "", "urls": {}})
    );
    let preview = ann
        .post(
            "/api/event-sinks/preview",
            json!({"type": "webhook", "body_template": "{\"id\": ${{ space.id }}}"}),
        )
        .await
        .expect(200)
        .json();
    let body: Value = serde_json::from_str(preview["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["id"], NIL);
}

/// A payload that takes about 30 times its size if it is parsed into a tree.
fn hostile_payload(bytes: usize) -> String {
    let count = (bytes - r#"{"x":[0]}"#.len()) / 2;
    format!(r#"{{"x":[{}0]}}"#, "0,".repeat(count))
}

#[tokio::test]
async fn deliveries_of_64_large_payloads_take_at_most_4_times_their_size() {
    const USERS: usize = 8;
    const SINKS: usize = 8;
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let mut users = Vec::new();
    for user in 0..USERS {
        let user = server.user(&format!("user{user}")).await;
        for sink in 0..SINKS {
            let (name, pattern) = (format!("sink{sink}"), format!("custom.to{sink}"));
            user.webhook(&name, &pattern, &receiver.url("/held")).await;
            user.emit(&format!("to{sink}"), json!({})).await;
        }
        users.push(user);
    }
    receiver.wait_for("/held", USERS * SINKS, SOON).await;
    receiver.set("/held", Reply::Hang);
    let payload = hostile_payload(256 * 1024);
    let before = resident_mib(server.id());
    for user in &users {
        for sink in 0..SINKS {
            let body = format!(r#"{{"type": "to{sink}", "payload": {payload}}}"#);
            user.post("/api/events/emit", &body).await.expect(202);
        }
    }
    receiver
        .wait_for("/held", 2 * USERS * SINKS, 2 * SOON)
        .await;
    let grown = peak_resident_mib(server.id()).saturating_sub(before);
    let payloads = (USERS * SINKS * payload.len()) as u64 >> 20;
    assert!(
        grown <= 4 * payloads,
        "{payloads} MiB of payloads took {grown} MiB"
    );
    receiver.set("/held", Reply::Status(200));
}

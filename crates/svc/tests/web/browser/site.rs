//! Servers for the flows: a shop with records of every resource, and a server whose records contain
//! markup in their texts.

use serde_json::{Value, json};
use svc_testkit::{
    Reply, TestAgent, TestReceiver, TestServer, TestServerBuilder, TestSpace, TestUser, fixture,
    fixture_method_server, get_eventually, method,
};

use super::{SOON, flow::credentials};

/// Markup that must be shown as text.
pub const MARKUP: &str = "<img src=x onerror=window.hacked=1>";

/// Everything that one test uses. Dropping it ends the server and all agents.
pub struct Site {
    /// The administrator who owns nearly all records.
    pub ann: TestUser,
    /// Values that a flow needs.
    pub facts: Value,
    agents: Vec<(TestAgent, TestSpace)>,
    receiver: TestReceiver,
    pub server: TestServer,
}

/// A server whose webhooks reach the test's receivers and whose retries do not take long. With
/// `SVC_WEB_FOLDER` it serves the files of that folder, so that a page can be tried without
/// building anything.
pub fn server() -> TestServerBuilder {
    match std::env::var("SVC_WEB_FOLDER") {
        Ok(folder) => embedded().env("SVC_WEB_FOLDER", &folder),
        Err(_) => embedded(),
    }
}

/// Like [`server`], but always with the files of the binary.
pub fn embedded() -> TestServerBuilder {
    TestServer::builder()
        .allow_loopback_webhooks()
        .retries(0.05, 0.05)
}

/// The registration of `site/orders.toml`, whose method server prints `log` to stderr when it
/// starts.
pub fn orders(log: &str) -> String {
    let command = Value::from(fixture_method_server().to_str().unwrap());
    let (log, methods) = (Value::from(log), include_str!("site/orders.toml"));
    format!("[server]\ncommand = {command}\nenv = {{ FIXTURE_STDERR = {log} }}\n\n{methods}")
}

impl Site {
    async fn empty(server: TestServerBuilder) -> Self {
        let server = server.start().await;
        server.groups(&["packers", "support"]).await;
        server.role("auditor", &["view_audit"]).await;
        let ann = server.user_with("ann", &["admin"], &["packers"]).await;
        let cleo = server.user_with("cleo", &["auditor"], &[]).await;
        Self {
            facts: json!({"ann": credentials(&ann), "ann_id": ann.id, "cleo": credentials(&cleo)}),
            ann,
            agents: Vec::new(),
            receiver: TestReceiver::start().await,
            server,
        }
    }

    /// A shop with records of every resource, and with calls and deliveries that succeed and fail.
    pub async fn shop(server: TestServerBuilder) -> Self {
        let mut site = Self::empty(server).await;
        let ben = site.server.user_with("ben", &["user"], &["support"]).await;
        site.publish(
            "warehouse",
            orders("12 shelves, 3,048 parts\nready for orders"),
        )
        .await;
        site.ann.space("staging").await;
        let archive = site.ann.space("archive").await;
        archive.agent().await.stop().await;
        let greet = method("greet", "echo").shared().mcp_tool();
        let greet = fixture().with(greet.description("Says hello to a customer"));
        let space = ben.space("front-desk").await;
        let agent = space.publish(greet).await;
        site.agents.push((agent, space));
        site.call().await;
        site.sinks().await;
        site.scripts().await;
        site.sources("A webhook of the shop", "order.shipped").await;
        site.template("blue").await;
        site.ann.scoped(&["methods"]).await;
        site.ann.scoped(&["mcp"]).await;
        site
    }

    async fn publish(&mut self, name: &str, registration: impl ToString) {
        let space = self.ann.space(name).await;
        let agent = space.publish(registration).await;
        self.facts["space"] = json!({"id": space.id, "name": space.name});
        self.agents.push((agent, space));
    }

    async fn call(&mut self) {
        for n in 0..12 {
            let params = json!({"a": n, "b": 2});
            self.ann.call("orders.total", params).await;
        }
        let refusal = json!({"code": 4, "message": "the order was shipped"});
        self.ann.call("orders.refund", refusal).await;
        self.wait_for_call("orders.refund").await;
    }

    /// Waits until a call of this method is in the journal, and stores its id in the facts.
    async fn wait_for_call(&mut self, method: &str) {
        let ann = &self.ann;
        let call = get_eventually("the call is recorded", SOON, || async {
            let calls = ann.list("/api/calls", "calls").await;
            calls.into_iter().find(|call| call["method"] == method)
        })
        .await;
        self.facts["call"] = json!({"id": call["id"], "method": method});
    }

    /// Sinks of every type, events for them, and a receiver that fails.
    async fn sinks(&mut self) {
        let ann = &self.ann;
        self.receiver
            .set("/down", Reply::Body(503, "closed until Monday".to_owned()));
        let shipped = ann
            .webhook(
                "shipping-desk",
                "custom.order.*",
                &self.receiver.url("/hook"),
            )
            .await;
        let failing = ann
            .webhook(
                "old-crm",
                "custom.order.shipped",
                &self.receiver.url("/down"),
            )
            .await;
        ann.script_sink(
            "counter",
            "custom.*",
            "import svc.event as e\nprint(e.type())\n",
        )
        .await;
        ann.sink(json!({
            "name": "short", "type": "json-rpc", "patterns": "custom.order.*",
            "json_rpc": {"body_template": r#"{"order": ${{ event.data.order | tojson }}}"#},
        }))
        .await;
        let mut event = String::new();
        for order in ["A-1", "A-2", "A-3"] {
            let payload = json!({
                "order": order, "carrier": "post", "parcels": [{"kg": 1.2}, {"kg": 0.4}],
            });
            event = ann.emit("order.shipped", payload).await;
        }
        shipped.wait_for("delivered", 3, SOON).await;
        failing.wait_for("dead", 3, SOON).await;
        self.facts["event"] = json!({"id": event, "type": "custom.order.shipped"});
        self.facts["sink"] = json!({"id": failing.id, "name": "old-crm"});
    }

    /// A source with a successful test and a rejected request, and a schedule.
    async fn sources(&mut self, description: &str, text: &str) {
        let new =
            json!({"name": "shop", "description": description, "verify": {"type": "shopify"}});
        let source = self.ann.post("/api/sources", new).await.expect(201).json();
        let id = source["id"].as_str().unwrap();
        let path = format!("/api/sources/{id}/test");
        let body = json!({"body": {"text": text}, "headers": {"X-Shopify-Topic": text}});
        self.ann.post(&path, body).await.expect(200);
        let url = source["url"].as_str().unwrap();
        let inbound = &url[url.find("/in/").unwrap()..];
        let headers = [("content-type", "application/json")];
        let http = self.server.http();
        http.request("POST", inbound, &headers, "{}")
            .await
            .expect(401);
        let new = json!({
            "name": "nightly", "description": description, "cron": "0 2 * * *",
            "timezone": "Europe/Berlin", "payload": {text: text},
        });
        let schedule = self
            .ann
            .post("/api/schedules", new)
            .await
            .expect(201)
            .json();
        self.facts["source"] = json!({"id": id, "name": "shop"});
        self.facts["schedule"] = json!({"id": schedule["id"], "name": "nightly"});
    }

    async fn template(&self, text: &str) {
        let new = json!({
            "name": "web-server", "ports": [{"name": "http", "port": 8080}],
            "health_check": {"type": "tcp", "port": 8080}, "custom_fields": {"team": text},
        });
        self.ann.post("/api/templates", new).await.expect(201);
    }

    async fn scripts(&mut self) {
        let ann = &self.ann;
        let tool = ann
            .store(json!({
                "kind": "tool", "name": "sum", "description": "Adds numbers",
                "source": "def main(params):\n    print('adding')\n    return sum(params['numbers'])\n",
                "params_schema": {
                    "type": "object", "required": ["numbers"],
                    "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
                },
            }))
            .await;
        ann.script("library", "prices", "VAT = 0.2\n").await;
        ann.script("startup", "prepare", "print('ready')\n").await;
        ann.global_script("sink", "notice", "print('seen')\n").await;
        self.facts["script"] = json!({"id": tool.id, "name": "sum"});
    }

    /// A server with markup in the texts that the product accepts from users and shows.
    pub async fn hostile() -> Self {
        let mut site = Self::empty(server()).await;
        let schema = format!(
            "{{ type = 'object', title = {0:?}, description = {0:?}, properties = {{ {0:?} = {{ \
             type = 'string', title = {0:?}, description = {0:?}, default = {0:?}, enum = [{0:?}] }} }} }}",
            MARKUP
        );
        let speak = method("speak", "echo")
            .shared()
            .mcp_tool()
            .description(MARKUP)
            .keywords(&[MARKUP])
            .line("params_schema", &schema)
            .line("result_schema", &schema);
        let log = method("log", "stderr");
        site.publish(
            "warehouse",
            fixture()
                .env("FIXTURE_STDERR", MARKUP)
                .with(speak)
                .with(log),
        )
        .await;
        let (_, space) = &site.agents[0];
        space.wait_for_log(MARKUP, SOON).await;
        site.ann.call("speak", json!({})).await;
        site.ann.call(MARKUP, json!({})).await;
        site.wait_for_call(MARKUP).await;
        site.hostile_sinks().await;
        site.hostile_scripts().await;
        site.sources(MARKUP, MARKUP).await;
        site.template(MARKUP).await;
        site.hostile_visits().await;
        site
    }

    async fn hostile_sinks(&mut self) {
        let ann = &self.ann;
        self.receiver
            .set("/down", Reply::Body(500, MARKUP.to_owned()));
        let sink = ann
            .sink(json!({
                "name": "hook", "type": "webhook", "patterns": "custom.*", "description": MARKUP,
                "webhook": {
                    "url": self.receiver.url("/down"), "headers": {"X-Note": MARKUP},
                    "body_template": format!(r#"{{"note": "{MARKUP}"}}"#),
                },
            }))
            .await;
        let printing = format!("print({MARKUP:?})\nraise Exception({MARKUP:?})\n");
        let printer = ann.script_sink("printer", "custom.*", &printing).await;
        let event = ann
            .emit("said", json!({ MARKUP: [MARKUP, {MARKUP: MARKUP}] }))
            .await;
        sink.wait_for("dead", 1, SOON).await;
        printer.wait_for("dead", 1, SOON).await;
        self.facts["event"] = json!({"id": event, "type": "custom.said"});
        self.facts["sink"] = json!({"id": sink.id, "name": "hook"});
        self.facts["printer"] = json!({"id": printer.id, "name": "printer"});
    }

    async fn hostile_scripts(&mut self) {
        let source = format!(
            "# {MARKUP}\ndef main(params):\n    print({MARKUP:?})\n    return {{{MARKUP:?}: {MARKUP:?}}}\n"
        );
        let script = self
            .ann
            .store(json!({
                "kind": "tool", "name": "talk", "description": MARKUP, "source": source,
                "params_schema": {"type": "object", "title": MARKUP, "description": MARKUP},
            }))
            .await;
        self.facts["script"] = json!({"id": script.id, "name": "talk"});
    }

    /// Markup that a login leaves on the server: the name of the browser, and an unknown user name.
    async fn hostile_visits(&self) {
        let json = "application/json";
        let headers = [("content-type", json), ("user-agent", MARKUP)];
        let login = json!({"username": self.ann.name, "password": self.ann.password});
        let http = self.server.http();
        let login = login.to_string();
        http.request("POST", "/api/auth/login", &headers, login)
            .await
            .expect(200);
        let refused = json!({"username": MARKUP, "password": MARKUP}).to_string();
        http.request("POST", "/api/auth/login", &headers, refused)
            .await
            .expect(401);
    }
}

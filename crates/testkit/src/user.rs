//! A user with a credential, and their requests over HTTP.

use std::{fmt::Display, time::Duration};

use bytes::Bytes;
use http::{Request, request::Builder};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    http::{Answer, Http},
    server::{Site, TestServer},
    space::TestSpace,
    wait::eventually,
};

const IN_FLIGHT_LIMIT: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub struct TestUser {
    pub id: String,
    pub name: String,
    pub password: String,
    /// An unrestricted API token, unless [`with_token`](Self::with_token) has replaced it.
    pub token: String,
    pub(crate) site: Site,
}

impl TestUser {
    /// The same user with another credential.
    pub fn with_token(&self, token: &str) -> Self {
        Self {
            token: token.to_owned(),
            ..self.clone()
        }
    }

    /// The same user and credential at another server of the zone.
    pub fn at(&self, server: &TestServer) -> Self {
        Self {
            site: server.site.clone(),
            ..self.clone()
        }
    }

    /// The same user and credential at this URL, for a server that is not a [`TestServer`].
    pub fn at_url(&self, url: &str) -> Self {
        let mut user = self.clone();
        user.site.url = url.to_owned();
        user
    }

    pub fn http(&self) -> Http {
        self.site.http()
    }

    /// A request with this user's token, to be completed and sent with [`Http::send`].
    pub fn request(&self, method: &str, path: &str) -> Builder {
        Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.token))
    }

    pub async fn send(&self, method: &str, path: &str, body: Option<String>) -> Answer {
        let mut request = self.request(method, path);
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = Full::new(Bytes::from(body.unwrap_or_default()));
        self.http()
            .send(request.body(body).expect("a test's request is well-formed"))
            .await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    /// A body is a `Value`, or text that is sent unchanged.
    pub async fn post(&self, path: &str, body: impl Display) -> Answer {
        self.send("POST", path, Some(body.to_string())).await
    }

    pub async fn patch(&self, path: &str, body: impl Display) -> Answer {
        self.send("PATCH", path, Some(body.to_string())).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None).await
    }

    /// Creates spaces `s0`, `s1`…, `at_once` at a time, and returns their agent tokens.
    pub async fn create_spaces(&self, count: usize, at_once: usize) -> Vec<String> {
        let mut tokens = Vec::with_capacity(count);
        let mut creating = tokio::task::JoinSet::new();
        for n in 0..count {
            if creating.len() >= at_once
                && let Some(done) = creating.join_next().await
            {
                tokens.push(done.expect("creating a space does not panic"));
            }
            let user = self.clone();
            creating.spawn(async move {
                let body = json!({"name": format!("s{n}")});
                let record = user.post("/api/spaces", body).await.expect(201).json();
                let token = record["agent_token"].as_str();
                token.expect("a new space has its token").to_owned()
            });
        }
        tokens.extend(creating.join_all().await);
        tokens
    }

    /// Makes a call with this exact body. Returns the exact response.
    pub async fn call_raw(&self, body: impl Display) -> Answer {
        self.post("/api/methods/call", body).await
    }

    /// Makes one call. Returns the whole JSON-RPC response.
    pub async fn call(&self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "method": method, "params": params, "id": 1});
        self.call_raw(request).await.expect(200).json()
    }

    /// Makes one call. Returns an error if no response arrives.
    pub async fn try_call(&self, method: &str, params: Value) -> Result<Value, String> {
        let call = json!({"jsonrpc": "2.0", "method": method, "params": params, "id": 1});
        let request = self
            .request("POST", "/api/methods/call")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(call.to_string())))
            .expect("a test's request is well-formed");
        let answer = self.http().try_send(request).await?;
        Ok(answer.expect(200).json())
    }

    /// Starts a call. The test awaits the response later.
    pub fn start_call(&self, method: &str, params: Value) -> JoinHandle<Value> {
        let (user, method) = (self.clone(), method.to_owned());
        tokio::spawn(async move { user.call(&method, params).await })
    }

    /// Waits until this many calls of a method are in flight, at all its providers together. This
    /// user must see the method.
    pub async fn wait_for_in_flight(&self, method: &str, expected: u64) {
        let what = format!("{expected} calls of `{method}` are in flight");
        eventually(&what, IN_FLIGHT_LIMIT, || async {
            let document = self.find_method(method).await.unwrap_or_default();
            let providers = document["providers"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            providers
                .iter()
                .filter_map(|p| p["in_flight"].as_u64())
                .sum::<u64>()
                == expected
        })
        .await;
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) -> Answer {
        self.call_raw(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await
    }

    /// The documents of all methods this user sees.
    pub async fn methods(&self) -> Vec<Value> {
        let document = self.get("/api/methods").await.expect(200).json();
        document["methods"].as_array().cloned().unwrap_or_default()
    }

    pub async fn method_names(&self) -> Vec<String> {
        let methods = self.methods().await;
        methods
            .iter()
            .filter_map(|method| method["name"].as_str().map(str::to_owned))
            .collect()
    }

    /// The document of one method, if this user sees it.
    pub async fn find_method(&self, name: &str) -> Option<Value> {
        self.methods()
            .await
            .into_iter()
            .find(|method| method["name"] == name)
    }

    /// Creates a space of this user.
    pub async fn space(&self, name: &str) -> TestSpace {
        self.space_with(json!({ "name": name })).await
    }

    pub async fn space_with(&self, body: Value) -> TestSpace {
        let record = self.post("/api/spaces", body).await.expect(201).json();
        TestSpace::new(self.clone(), &record)
    }

    /// Creates an API token; returns the whole record.
    pub async fn new_token(&self, scopes: &[&str]) -> Value {
        self.post("/api/tokens", json!({"name": "test", "scopes": scopes}))
            .await
            .expect(201)
            .json()
    }

    /// This user with a fresh token of these scopes.
    pub async fn scoped(&self, scopes: &[&str]) -> Self {
        let token = self.new_token(scopes).await;
        self.with_token(
            token["token"]
                .as_str()
                .expect("a new token shows its secret"),
        )
    }

    /// Logs in; returns the cookie as a browser would send it.
    pub async fn login(&self) -> String {
        self.site.login(&self.name, &self.password).await
    }

    /// The same user with the access token of an app that they connect, for `/mcp`.
    pub async fn connect_app(&self) -> Self {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        let (http, cookie) = (self.http(), self.login().await);
        let page = [
            ("cookie", cookie.as_str()),
            ("content-type", "application/json"),
        ];
        let new = json!({"client_name": "app", "redirect_uris": ["http://127.0.0.1:9/callback"]});
        let app = http.request("POST", "/register", &page[1..], new.to_string());
        let app = app.await.expect(201).json();
        let client = app["client_id"].as_str().expect("an id");
        let path = format!(
            "/authorize?response_type=code&client_id={client}&code_challenge={challenge}&code_challenge_method=S256"
        );
        let asked = http.request("GET", &path, &page[..1], "").await.expect(303);
        let target = asked.header("location").expect("a redirect");
        let path = target.replace("/connect?request=", "/api/oauth/requests/");
        http.request("GET", &path, &page[..1], "").await.expect(200);
        let decided = http.request("POST", &path, &page, r#"{"approve": true}"#);
        let decided = decided.await.expect(200).json();
        let target = decided["redirect_to"].as_str().expect("an address");
        let code = target
            .split(['?', '&'])
            .find_map(|field| field.strip_prefix("code="));
        let code = code.expect("a code");
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let body = format!(
            "grant_type=authorization_code&client_id={client}&code={code}&code_verifier={verifier}"
        );
        let tokens = http.request("POST", "/token", &form, body);
        let tokens = tokens.await.expect(200).json();
        self.with_token(tokens["access_token"].as_str().expect("a token"))
    }

    pub async fn audit_actions(&self) -> Vec<(String, String)> {
        let log = self.get("/api/audit?limit=200").await.expect(200).json();
        let entries = log["audit"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        entries
            .iter()
            .map(|entry| (text(&entry["actor"]), text(&entry["action"])))
            .collect()
    }
}

/// The result of a response that must not be an error.
#[track_caller]
pub fn result(response: &Value) -> &Value {
    assert!(
        response.get("error").is_none(),
        "answered an error: {response}"
    );
    response
        .get("result")
        .unwrap_or_else(|| panic!("no result: {response}"))
}

/// The error code of a response that must be an error.
#[track_caller]
pub fn error_code(response: &Value) -> i64 {
    response["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("no error: {response}"))
}

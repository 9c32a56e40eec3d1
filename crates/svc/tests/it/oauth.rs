//! Apps that connect by OAuth, and `svc login` in a browser or with a code.

mod apps;
mod audit;
mod codes;
mod consent;
mod crashes;
mod devices;
mod discovery;
mod documents;
mod flow;
mod judges;
mod login;
mod redirects;
mod refresh;
mod revocation;
mod scopes;
mod secrets;
mod zone;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use svc_testkit::{Answer, Http, TestServer, TestUser};

/// The redirect address of the app. No test follows the redirect.
const CALLBACK: &str = "http://127.0.0.1:51234/callback";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

fn challenge() -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER))
}

/// An app, a user and the user's browser.
struct Flow {
    /// The `Cookie` header of the browser.
    cookie: String,
    client_id: String,
    user: TestUser,
}

impl Flow {
    /// An app that registered itself.
    async fn new(server: &TestServer, name: &str) -> Self {
        let user = server.user(name).await;
        Self::of(server, user).await
    }

    async fn of(server: &TestServer, user: TestUser) -> Self {
        let http = server.http();
        let client_id = register(
            &http,
            json!({"client_name": "Probe", "redirect_uris": [CALLBACK]}),
        )
        .await
        .expect(201)
        .json()["client_id"]
            .as_str()
            .unwrap()
            .to_owned();
        Self {
            cookie: user.login().await,
            client_id,
            user,
        }
    }

    fn http(&self) -> Http {
        self.user.http()
    }

    /// The query of `/authorize`. `fields` replace fields of a valid request; an empty value
    /// removes a field.
    fn query(&self, fields: &[(&str, &str)]) -> String {
        let challenge = challenge();
        let good = [
            ("response_type", "code"),
            ("client_id", &self.client_id),
            ("redirect_uri", CALLBACK),
            ("state", "st/ate"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        let kept = good
            .iter()
            .filter(|(name, _)| !fields.iter().any(|(other, _)| other == name));
        let given = fields.iter().filter(|(_, value)| !value.is_empty());
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(kept.chain(given))
            .finish()
    }

    async fn authorize(&self, fields: &[(&str, &str)]) -> Answer {
        let path = format!("/authorize?{}", self.query(fields));
        let headers = [("cookie", self.cookie.as_str())];
        self.http().request("GET", &path, &headers, "").await
    }

    /// The id of the question on the consent page.
    async fn ask(&self, fields: &[(&str, &str)]) -> String {
        let answer = self.authorize(fields).await.expect(303);
        let target = answer.header("location").unwrap();
        target
            .strip_prefix("/connect?request=")
            .unwrap_or_else(|| panic!("the user is not asked: {target}"))
            .to_owned()
    }

    /// Sends a request as the page in the browser does.
    async fn page(&self, method: &str, path: &str, body: Value) -> Answer {
        let headers = [
            ("cookie", self.cookie.as_str()),
            ("content-type", "application/json"),
        ];
        let body = match method {
            "GET" | "DELETE" => String::new(),
            _ => body.to_string(),
        };
        self.http().request(method, path, &headers, body).await
    }

    async fn decide(&self, request: &str, approve: bool) -> Answer {
        let path = format!("/api/oauth/requests/{request}");
        self.page("GET", &path, json!({})).await;
        self.page("POST", &path, json!({"approve": approve})).await
    }

    /// The fields that the app gets after the user agreed.
    async fn approve(&self, fields: &[(&str, &str)]) -> Vec<(String, String)> {
        let request = self.ask(fields).await;
        let answer = self.decide(&request, true).await.expect(200).json();
        fields_of(answer["redirect_to"].as_str().unwrap())
    }

    /// A code that was not used yet.
    async fn code(&self, fields: &[(&str, &str)]) -> String {
        field(&self.approve(fields).await, "code")
    }

    async fn exchange(&self, code: &str, fields: &[(&str, &str)]) -> Answer {
        let good = [
            ("grant_type", "authorization_code"),
            ("client_id", &self.client_id),
            ("code", code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", CALLBACK),
        ];
        token(&self.http(), &good, fields).await
    }

    /// The tokens of a new grant.
    async fn connect(&self, fields: &[(&str, &str)]) -> Value {
        let code = self.code(fields).await;
        self.exchange(&code, &[]).await.expect(200).json()
    }

    async fn refresh(&self, refresh_token: &str, fields: &[(&str, &str)]) -> Answer {
        let good = [
            ("grant_type", "refresh_token"),
            ("client_id", &self.client_id),
            ("refresh_token", refresh_token),
        ];
        token(&self.http(), &good, fields).await
    }

    async fn revoke(&self, token: &str, fields: &[(&str, &str)]) -> Answer {
        let good = [("client_id", self.client_id.as_str()), ("token", token)];
        request(&self.http(), "/revoke", &good, fields).await
    }

    /// Sends a ping to `/mcp` with this token.
    async fn ping(&self, access_token: &str) -> Answer {
        ping(&self.http(), access_token).await
    }
}

/// Stops the server, changes its database, and starts the server again.
async fn edit(server: &mut TestServer, sql: &str) {
    server.edit_database(sql).await;
    server.start_again().await;
}

async fn ping(http: &Http, access_token: &str) -> Answer {
    let bearer = format!("Bearer {access_token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    http.request("POST", "/mcp", &headers, body).await
}

async fn register(http: &Http, body: Value) -> Answer {
    let headers = [("content-type", "application/json")];
    http.request("POST", "/register", &headers, body.to_string())
        .await
}

async fn token(http: &Http, good: &[(&str, &str)], fields: &[(&str, &str)]) -> Answer {
    request(http, "/token", good, fields).await
}

/// Sends a form. `fields` replace fields of `good`; an empty value removes a field.
async fn request(
    http: &Http,
    path: &str,
    good: &[(&str, &str)],
    fields: &[(&str, &str)],
) -> Answer {
    let kept = good
        .iter()
        .filter(|(name, _)| !fields.iter().any(|(other, _)| other == name));
    let given = fields.iter().filter(|(_, value)| !value.is_empty());
    form(http, path, kept.chain(given).copied()).await
}

async fn form<'a>(
    http: &Http,
    path: &str,
    fields: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    http.request("POST", path, &headers, body).await
}

/// The query of an address.
fn fields_of(address: &str) -> Vec<(String, String)> {
    let (_, query) = address.split_once('?').unwrap();
    form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

fn field(fields: &[(String, String)], name: &str) -> String {
    let mut found = fields.iter().filter(|(field, _)| field == name);
    let value = found
        .next()
        .unwrap_or_else(|| panic!("no `{name}` in {fields:?}"));
    assert!(found.next().is_none(), "`{name}` twice in {fields:?}");
    value.1.clone()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap()
}

//! Sign-in with OpenID Connect providers: a real one (`oidc-provider`), a broken one, whose
//! answers a test controls (`oauth2-mock-server`), and, with `SVC_TEST_KEYCLOAK=1`, Keycloak.

mod attacks;
mod audit;
mod grants;
mod keycloak;
mod linking;
mod logout;
mod manage;
mod mapping;
mod sign_in;
mod tokens;
mod zone;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use svc_testkit::{Answer, Http, Process, TestServer, TestServerBuilder, TestUser, get_eventually};

use crate::judge::install_provider;

const SECRET: &str = "a secret of the client: %+&";

fn builder() -> TestServerBuilder {
    TestServer::builder().env("SVC_OIDC_ALLOW", "127.0.0.0/8")
}

/// A server, its administrator, and a provider.
struct Site {
    server: TestServer,
    admin: TestUser,
    issuer: String,
    /// The address at which tests control the provider.
    control: Http,
    provider: Process,
}

impl Site {
    /// The real provider, known to the server as `corp`. `None` if it cannot be installed.
    async fn start(settings: Value) -> Option<Self> {
        Self::start_on(builder(), settings).await
    }

    async fn start_on(builder: TestServerBuilder, settings: Value) -> Option<Self> {
        let mut command = install_provider("provider.mjs")?;
        let server = builder.start().await;
        let base = format!("{}/api/auth/oidc/corp", server.url());
        command
            .env("REDIRECT_URI", format!("{base}/callback"))
            .env("LOGOUT_URI", format!("{base}/backchannel-logout"));
        let provider = Process::spawn("provider", command);
        let issuer = line(&provider, 0).await;
        let site = Self {
            admin: server.admin().await,
            control: Http::to_url(&issuer),
            server,
            issuer,
            provider,
        };
        let scopes = json!(["openid", "profile", "email", "groups"]);
        site.create(
            "corp",
            json!({"scopes": scopes, "client_secret": SECRET}),
            settings,
        )
        .await;
        Some(site)
    }

    /// The broken provider, known to the server as `corp`.
    async fn start_broken(settings: Value) -> Option<Self> {
        let command = install_provider("broken.mjs")?;
        let server = builder().start().await;
        let provider = Process::spawn("provider", command);
        let issuer = line(&provider, 0).await;
        let site = Self {
            admin: server.admin().await,
            control: Http::to_url(&line(&provider, 1).await),
            server,
            issuer,
            provider,
        };
        site.create("corp", json!({}), settings).await;
        Some(site)
    }

    /// Settings with which every account gets a user.
    fn open(&self) -> Value {
        json!({"create_users": true, "required_claims": {"iss": [self.issuer]}})
    }

    async fn create(&self, name: &str, first: Value, settings: Value) {
        let mut body = json!({"name": name, "issuer": self.issuer, "client_id": "svc"});
        let mut open = settings.clone();
        if open.as_object_mut().unwrap().remove("open").is_some() {
            merge(&mut body, self.open());
        }
        merge(&mut body, first);
        merge(&mut body, open);
        let created = self.admin.post("/api/oidc/providers", &body).await;
        created.expect(201);
    }

    async fn patch(&self, patch: Value) -> Answer {
        let list = self
            .admin
            .get("/api/oidc/providers")
            .await
            .expect(200)
            .json();
        let id = list["providers"][0]["id"].as_str().unwrap();
        self.admin
            .patch(&format!("/api/oidc/providers/{id}"), &patch)
            .await
    }

    async fn tell(&self, path: &str, body: Value) -> Value {
        let headers = [("content-type", "application/json")];
        let answer = self
            .control
            .request("POST", path, &headers, body.to_string())
            .await;
        answer.expect(200).json()
    }

    /// Sets the claims that the real provider sends about an account.
    async fn account(&self, login: &str, claims: Value) {
        self.tell("/test/accounts", json!({login: claims})).await;
    }

    /// Sets what the broken provider does next.
    async fn plan(&self, plan: Value) {
        self.tell("/plan", plan).await;
    }

    fn browser(&self) -> Browser {
        Browser::of(&self.server)
    }

    /// Signs in at the real provider in a new browser.
    async fn sign_in(&self, login: &str) -> (Browser, Answer) {
        let mut browser = self.browser();
        let answer = browser.sign_in(self, login).await;
        (browser, answer)
    }

    /// Signs in at the broken provider, which shows no login page.
    async fn sign_in_broken(&self) -> (Browser, Answer) {
        let mut browser = self.browser();
        let callback = self.callback_broken(&mut browser).await;
        let answer = browser.get(&callback).await;
        (browser, answer)
    }

    async fn callback_broken(&self, browser: &mut Browser) -> String {
        let started = browser.get("/api/auth/oidc/corp/start").await.expect(303);
        let path = started.header("location").unwrap();
        let path = path.strip_prefix(&self.issuer).unwrap();
        let asked = Http::to_url(&self.issuer)
            .request("GET", path, &[], "")
            .await;
        let target = asked.expect(302);
        local(target.header("location").unwrap())
    }

    /// The user who is signed in in a browser.
    async fn me(&self, browser: &mut Browser) -> Value {
        browser.get("/api/auth/me").await.expect(200).json()
    }

    async fn user(&self, name: &str) -> Option<Value> {
        let users = self
            .admin
            .get("/api/users?limit=1000")
            .await
            .expect(200)
            .json();
        let users = users["users"].as_array().unwrap().clone();
        users.into_iter().find(|user| user["username"] == name)
    }
}

fn merge(target: &mut Value, more: Value) {
    let more = more.as_object().unwrap().clone();
    target.as_object_mut().unwrap().extend(more);
}

/// A line that a provider printed.
async fn line(provider: &Process, index: usize) -> String {
    get_eventually("the provider starts", crate::SOON * 6, || async {
        provider.stdout().get(index).cloned()
    })
    .await
}

/// The path and query of an address of the server.
fn local(address: &str) -> String {
    let (_, rest) = address.split_once("://").unwrap();
    rest[rest.find('/').unwrap()..].to_owned()
}

/// A browser with its cookies.
#[derive(Clone)]
struct Browser {
    http: Http,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    fn of(server: &TestServer) -> Self {
        Self {
            http: server.http(),
            cookies: BTreeMap::new(),
        }
    }

    async fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, Value::Null).await
    }

    async fn send(&mut self, method: &str, path: &str, body: Value) -> Answer {
        let cookies: Vec<_> = self
            .cookies
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        let cookies = cookies.join("; ");
        let mut headers = vec![("cookie", cookies.as_str())];
        let body = match body {
            Value::Null => String::new(),
            body => {
                headers.push(("content-type", "application/json"));
                body.to_string()
            }
        };
        let answer = self.http.request(method, path, &headers, body).await;
        for set in answer.headers.get_all("set-cookie") {
            let set = set.to_str().unwrap();
            assert!(
                set.contains("HttpOnly") && set.contains("SameSite=Lax"),
                "{set}"
            );
            let (pair, _) = set.split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        answer
    }

    /// Starts a sign-in. Returns the address at the provider.
    async fn start(&mut self, query: &str) -> String {
        let path = format!("/api/auth/oidc/corp/start{query}");
        let answer = self.get(&path).await.expect(303);
        answer.header("location").unwrap().to_owned()
    }

    /// Signs in at the real provider. Returns the path of the callback.
    async fn callback(&mut self, site: &Site, login: &str) -> String {
        let url = self.start("").await;
        at_provider(site, &url, login).await
    }

    async fn sign_in(&mut self, site: &Site, login: &str) -> Answer {
        let callback = self.callback(site, login).await;
        self.get(&callback).await
    }

    fn session(&self) -> Option<&String> {
        self.cookies.get("svc_session")
    }
}

/// Signs in on the provider's own pages. Returns the path of the callback.
async fn at_provider(site: &Site, url: &str, login: &str) -> String {
    let body = json!({"url": url, "login": login});
    let answer = site.tell("/test/sign-in", body).await;
    local(answer["callback"].as_str().unwrap())
}

/// Fails unless the browser is signed out and the page shows the reason.
#[track_caller]
fn expect_refused(browser: &Browser, answer: &Answer, why: &str) {
    let text = answer.text();
    assert!(
        (400..503).contains(&answer.status),
        "{}: {text}",
        answer.status
    );
    assert!(text.contains(why), "no `{why}` in: {text}");
    assert!(text.contains("You are not signed in"), "{text}");
    assert_eq!(browser.session(), None);
}

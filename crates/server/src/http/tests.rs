//! In these tests, the access of a caller is revoked after the middleware admitted the request and
//! before the change is made. Every changing route of `router::routes`, except those in [`EXEMPT`],
//! must notice this in its transaction.

mod bodies_of_changes;
mod long_history;

use std::collections::BTreeMap;

use axum::{Router, body::Body};
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use svc_core::{Id, Permission};
use svc_protocol::api::{AuditQuery, NewToken, NewUser, UserPatch};
use svc_store::{PageRequest, audit};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::{
    listen::Peer,
    router::{Route, router_without_auth, routes},
    rule::Needs,
};
use crate::{
    Server,
    app::App,
    identity::{Caller, Credential},
    scripts::tests::{options, worker_program},
};

const PASSWORD: &str = "a long enough password";

/// Changing routes whose transaction need not check the caller.
const EXEMPT: &[(&str, &str)] = &[
    // Need no credential.
    ("POST", "/api/auth/setup"),
    ("POST", "/api/auth/login"),
    ("POST", "/api/auth/sign-in"),
    ("POST", "/api/auth/second-factor"),
    ("POST", "/api/auth/passkeys/challenge"),
    ("POST", "/api/auth/passkeys/login"),
    // Does nothing for a token.
    ("POST", "/api/auth/logout"),
    // Return data: the middleware checks the caller again before it sends the answer.
    ("POST", "/api/methods/call"),
    ("POST", "/mcp"),
    ("POST", "/api/scripts/{id}/run"),
    ("POST", "/api/scripts/run"),
    ("POST", "/api/scripts/check"),
    ("POST", "/api/event-sinks/{id}/test"),
    ("POST", "/api/event-sinks/preview"),
    ("POST", "/api/event-sinks/{id}/backtest"),
    // Refuses every token before it looks at the code.
    ("POST", "/api/oauth/devices/{user_code}"),
    // Refuses every token before it looks at the password.
    ("POST", "/api/auth/oidc/{name}/link"),
];

struct Fixture {
    app: App,
    server: Server,
    shutdown: CancellationToken,
    router: Router,
    token: String,
    /// Ids of records of `mallory`, whose access is revoked. The key is the path of the list of
    /// such records.
    ids: BTreeMap<&'static str, String>,
    _folder: tempfile::TempDir,
}

impl Fixture {
    /// `mallory` is an administrator with one record of each kind that `make_records` lists.
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = options(folder.path(), worker_program());
        let shutdown = CancellationToken::new();
        let server = Server::start(options, shutdown.clone()).await;
        let server = server.expect("started");
        let app = server.app().clone();
        let mut fixture = Self {
            router: router_without_auth().with_state(app.clone()),
            app,
            server,
            shutdown,
            token: String::new(),
            ids: BTreeMap::new(),
            _folder: folder,
        };
        let new = NewUser {
            username: "mallory".to_owned(),
            password: PASSWORD.to_owned(),
            roles: Some(vec!["admin".to_owned()]),
            groups: vec![],
            active: true,
        };
        let identity = &fixture.app.identity;
        let created = identity.create_user(&fixture.process("admin"), new).await;
        created.expect("created");
        let new = NewToken {
            name: "stolen".to_owned(),
            ..NewToken::default()
        };
        let mallory = fixture.process("mallory");
        let token = fixture.app.identity.create_token(&mallory, new).await;
        fixture.token = token.expect("created").token.expect("shown");
        fixture.make_records().await;
        fixture
    }

    fn process(&self, name: &str) -> Caller {
        let user = self.app.directory.find_user_by_name(name);
        Caller::process(user.expect("such a user"))
    }

    /// Mallory, as the middleware resolves the caller for a route.
    fn mallory(&self, needs: Needs) -> Caller {
        let needs: &[Permission] = match needs {
            Needs::Any(permissions) => permissions,
            _ => &[],
        };
        let caller = self
            .app
            .directory
            .authenticate(&self.token, svc_clock::now());
        caller.expect("let in").with_needs(needs)
    }

    async fn make_records(&mut self) {
        for path in [
            "/api/users",
            "/api/groups",
            "/api/roles",
            "/api/tokens",
            "/api/spaces",
            "/api/templates",
            "/api/scripts",
            "/api/event-sinks",
            "/api/oauth/clients",
            "/api/oidc/providers",
            "/api/sources",
            "/api/schedules",
        ] {
            let (status, record) = self
                .send(self.mallory(Needs::Caller), &Method::POST, path, "first")
                .await;
            assert_eq!(status, StatusCode::CREATED, "{path}: {record}");
            let id = record["id"].as_str().expect("an id").to_owned();
            self.ids.insert(path, id);
        }
        for path in [
            "/api/auth/sessions",
            "/api/oauth/requests",
            "/api/oauth/grants",
            "/api/auth/identities",
            "/api/auth/passkeys",
        ] {
            self.ids.insert(path, uuid::Uuid::now_v7().to_string());
        }
    }

    /// Sends a request past the middleware, as a caller who was resolved earlier.
    async fn send(
        &self,
        caller: Caller,
        method: &Method,
        path: &str,
        name: &str,
    ) -> (StatusCode, Value) {
        let body = body(method, path, name);
        self.send_body(caller, method, path, body).await
    }

    async fn send_body(
        &self,
        caller: Caller,
        method: &Method,
        path: &str,
        body: Value,
    ) -> (StatusCode, Value) {
        let list = self.ids.iter().find(|(list, _)| {
            path.strip_prefix(**list)
                .is_some_and(|rest| rest.starts_with("/{id}"))
        });
        let path_of_record = match list {
            Some((_, id)) => path.replace("{id}", id),
            None => path.to_owned(),
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path_of_record.replace("{n}", "1"))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::HOST, "localhost")
            .body(Body::from(body.to_string()))
            .expect("well-formed");
        request.extensions_mut().insert(caller);
        request.extensions_mut().insert(Peer {
            address: ([127, 0, 0, 1], 1).into(),
            tls: false,
        });
        let Ok(response) = self.router.clone().call(request).await;
        let status = response.status();
        let body = response.into_body().collect().await.expect("a body");
        let body = body.to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn patch_mallory(&self, patch: UserPatch) {
        let id = self.process("mallory").user.id;
        let identity = &self.app.identity;
        let admin = self.process("admin");
        let patched = identity.update_user(&admin, id, patch).await;
        patched.expect("patched");
    }

    /// The newest entry of the audit log. Nearly every change writes an entry.
    async fn last_change(&self) -> Option<Id> {
        let filter = AuditQuery::default();
        let page = PageRequest::default();
        let read = self
            .app
            .store
            .read(move |tx| audit::list(tx, &filter, page));
        read.await
            .expect("read")
            .items
            .first()
            .map(|entry| entry.id)
    }

    async fn close(self) {
        self.shutdown.cancel();
        self.server.join().await;
    }
}

/// A well-formed body for the route.
fn body(method: &Method, path: &str, name: &str) -> Value {
    let named = json!({ "name": name });
    match (method.as_str(), path) {
        ("POST", "/api/users") => {
            json!({"username": name, "password": PASSWORD, "roles": ["admin"]})
        }
        ("PATCH", "/api/users/{id}") => json!({"active": false}),
        ("POST", "/api/auth/password") => {
            json!({"current_password": PASSWORD, "new_password": "another long password"})
        }
        (
            "POST",
            "/api/auth/totp"
            | "/api/auth/totp/remove"
            | "/api/auth/passkeys/begin"
            | "/api/auth/passkeys/{id}/remove"
            | "/api/auth/identities/{id}/remove"
            | "/api/auth/recovery-codes",
        ) => {
            json!({"password": PASSWORD})
        }
        ("POST", "/api/auth/passkeys") => {
            json!({"name": name, "client_data": "", "authenticator_data": ""})
        }
        ("POST", "/api/auth/totp/confirm") => json!({"code": "123456"}),
        ("POST", "/api/roles") => json!({"name": name, "permissions": ["manage_users"]}),
        ("PATCH", "/api/spaces/{id}") => json!({"health_check": {"type": "none"}}),
        ("POST", "/api/scripts") => json!({"name": name, "kind": "library", "source": "x = 1"}),
        ("POST", "/api/event-sinks") => json!({
            "name": name, "patterns": ["custom.*"], "type": "webhook",
            "webhook": {"url": "https://example.com/hook"},
        }),
        ("POST", "/api/events/emit") => json!({"type": "x", "payload": {}}),
        (
            "POST",
            "/api/event-sinks/{id}/rotate-secret"
            | "/api/event-sinks/{id}/replay"
            | "/api/event-sinks/{id}/backtest",
        ) => {
            json!({})
        }
        ("POST", "/api/sources") => json!({"name": name, "verify": {"type": "none"}}),
        ("POST", "/api/sources/{id}/rotate") => json!({"url": true}),
        ("POST", "/api/sources/{id}/test" | "/api/schedules/{id}/run") => json!({}),
        ("POST", "/api/schedules") => json!({"name": name, "cron": "0 2 * * *"}),
        ("POST", "/api/oauth/clients") => {
            json!({"name": name, "redirect_uris": ["https://example.com/callback"]})
        }
        ("POST", "/api/oidc/providers") => json!({
            "name": name, "issuer": format!("https://{name}.example.com"), "client_id": "svc",
        }),
        ("PATCH", "/api/oidc/providers/{id}") => json!({"enabled": false}),
        ("PATCH", "/api/oauth/clients/{id}") => json!({"blocked": true}),
        ("POST", "/api/oauth/requests/{id}") => json!({"approve": true}),
        ("POST", "/api/event-sinks/{id}/resend") => json!({"deliveries": [1]}),
        _ => named,
    }
}

/// Whether the transaction of the route must check the caller.
fn checks_caller(route: &Route) -> bool {
    let ignores_credentials = matches!(route.rule.needs, Needs::AnySite);
    let key = (route.method.as_str(), route.path);
    route.method != Method::GET && !ignores_credentials && !EXEMPT.contains(&key)
}

/// Calls each changing route for which `expected` returns a status, as a caller who was resolved
/// before `revoke`. Returns the wrong answers.
async fn wrong_answers(
    fixture: &Fixture,
    revoke: impl AsyncFn(&Fixture),
    restore: impl AsyncFn(&Fixture),
    expected: impl Fn(Needs) -> Option<StatusCode>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for route in routes() {
        let key = (route.method.as_str(), route.path);
        let Some(expected) = expected(route.rule.needs) else {
            continue;
        };
        if !checks_caller(&route) {
            continue;
        }
        let caller = fixture.mallory(route.rule.needs);
        revoke(fixture).await;
        let before = fixture.last_change().await;
        let (status, answer) = fixture
            .send(caller, &route.method, route.path, "second")
            .await;
        if status != expected || fixture.last_change().await != before {
            let key = format!("{} {}", key.0, key.1);
            wrong.push(format!("{key}: {status} {answer}"));
        }
        restore(fixture).await;
    }
    wrong
}

#[tokio::test]
async fn a_change_of_a_caller_who_was_deactivated_meanwhile_is_refused() {
    let fixture = Fixture::new().await;
    let set_active = async |fixture: &Fixture, active| {
        let patch = UserPatch {
            active: Some(active),
            ..UserPatch::default()
        };
        fixture.patch_mallory(patch).await;
    };
    let wrong = wrong_answers(
        &fixture,
        async |fixture| set_active(fixture, false).await,
        async |fixture| set_active(fixture, true).await,
        |_| Some(StatusCode::UNAUTHORIZED),
    )
    .await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    fixture.close().await;
}

#[tokio::test]
async fn a_change_of_a_caller_who_lost_the_role_meanwhile_is_refused() {
    let fixture = Fixture::new().await;
    let set_roles = async |fixture: &Fixture, roles: &[&str]| {
        let patch = UserPatch {
            roles: Some(roles.iter().map(|&role| role.to_owned()).collect()),
            ..UserPatch::default()
        };
        fixture.patch_mallory(patch).await;
    };
    let wrong = wrong_answers(
        &fixture,
        async |fixture| set_roles(fixture, &[]).await,
        async |fixture| set_roles(fixture, &["admin"]).await,
        |needs| matches!(needs, Needs::Any(_)).then_some(StatusCode::FORBIDDEN),
    )
    .await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    fixture.close().await;
}

#[tokio::test]
async fn a_change_with_a_token_that_was_revoked_meanwhile_is_refused() {
    let fixture = Fixture::new().await;
    let mallory = fixture.mallory(Needs::Caller);
    let Credential::Token { id, .. } = mallory.credential else {
        panic!("a token");
    };
    let mut wrong = Vec::new();
    let callers: Vec<_> = routes()
        .iter()
        .map(|route| fixture.mallory(route.rule.needs))
        .collect();
    let identity = &fixture.app.identity;
    let revoked = identity.delete_token(&fixture.process("mallory"), id).await;
    revoked.expect("revoked");
    let before = fixture.last_change().await;
    for (route, caller) in routes().iter().zip(callers) {
        let key = (route.method.as_str(), route.path);
        if !checks_caller(route) {
            continue;
        }
        let (status, answer) = fixture
            .send(caller, &route.method, route.path, "second")
            .await;
        if status != StatusCode::UNAUTHORIZED {
            wrong.push(format!("{} {}: {status} {answer}", key.0, key.1));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(fixture.last_change().await, before, "nothing was changed");
    fixture.close().await;
}

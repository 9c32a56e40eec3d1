//! A server in this process, with a real store, the real router and a clock that the test controls.

mod provider;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body};
use http::{Request, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use svc_clock::Clock;
use svc_core::{SpaceId, Timestamp, UserId};
use svc_server::{
    App, EventOptions, Limits, Options, Policy, ScriptOptions, Server,
    http::{listen::Peer, router},
    identity::PasswordPolicy,
    live::LiveSpace,
    methods::publish::{Publisher, RegistrationLimits},
};
use svc_store::oidc::providers::ProviderRow;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::{
    model::{Cred, Kind},
    views::MARKER,
};

pub const ORIGIN: &str = "http://localhost";
const ROOT_PASSWORD: &str = "the password of root";

pub struct World {
    pub app: App,
    router: Router,
    server: Server,
    shutdown: CancellationToken,
    /// Milliseconds added to the system clock.
    offset: Arc<AtomicI64>,
    /// An API token of the first administrator, who is not a user of any sequence.
    root: String,
    /// Ids of the built-in roles `user` and `admin`.
    pub builtin_roles: [String; 2],
    names: AtomicU64,
    /// The provider at which users have accounts.
    provider: Option<ProviderRow>,
    _folder: tempfile::TempDir,
}

#[derive(Debug)]
pub struct Answer {
    /// The path of the request.
    pub path: String,
    pub status: u16,
    pub text: String,
    pub json: Value,
    /// The session of a `Set-Cookie` header.
    pub cookie: Option<String>,
    /// Where a redirect leads; empty if there is none.
    pub location: String,
}

impl Answer {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub fn str(&self, field: &str) -> String {
        self.json[field].as_str().unwrap_or_default().to_owned()
    }
}

/// The credential of a request.
pub enum Auth<'a> {
    Nothing,
    Root,
    Cred(&'a Cred),
}

impl World {
    pub async fn start() -> Self {
        let folder = folder();
        let offset = Arc::new(AtomicI64::new(0));
        let clock = Clock::from_fn({
            let offset = offset.clone();
            move || Timestamp(svc_clock::now().0 + offset.load(Ordering::Relaxed))
        });
        let shutdown = CancellationToken::new();
        let options = options(folder.path());
        let server = Server::start_with_clock(options, clock, shutdown.clone()).await;
        let server = server.expect("the server starts");
        let app = server.app().clone();
        let mut world = Self {
            router: router(&app),
            app,
            server,
            shutdown,
            offset,
            root: String::new(),
            builtin_roles: Default::default(),
            names: AtomicU64::new(0),
            provider: None,
            _folder: folder,
        };
        world.log_in_root().await;
        world.add_provider().await;
        world
    }

    async fn log_in_root(&mut self) {
        let login = json!({"username": "admin", "password": ROOT_PASSWORD});
        let answer = self
            .send("POST", "/api/auth/login", &Auth::Nothing, Some(login))
            .await;
        let value = answer.cookie.expect("root logs in");
        let session = Cred::new(value, 0, Kind::Session { id: String::new() });
        let body = Some(json!({"name": "root"}));
        let answer = self
            .send("POST", "/api/tokens", &Auth::Cred(&session), body)
            .await;
        self.root = answer.str("token");
        let roles = self.send("GET", "/api/roles", &Auth::Root, None).await;
        let roles = roles.json["roles"].as_array().cloned().unwrap_or_default();
        self.builtin_roles = ["user", "admin"].map(|name| {
            let role = roles.iter().find(|role| role["name"] == name);
            let id = role.and_then(|role| role["id"].as_str());
            id.expect("the role is built in").to_owned()
        });
    }

    /// A name that no other record of this world has.
    pub fn name(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// A name that contains a marker of this kind, which `views` explains.
    pub fn marker(&self, kind: char) -> String {
        format!("{}z", self.name(&format!("{MARKER}{kind}")))
    }

    pub fn now(&self) -> i64 {
        svc_clock::now().0 + self.offset.load(Ordering::Relaxed)
    }

    pub fn pass_days(&self, days: i64) {
        let millis = days * 24 * 60 * 60 * 1_000;
        self.offset.fetch_add(millis, Ordering::Relaxed);
    }

    /// Sends a request as the first administrator. The request must succeed.
    pub async fn as_root(&self, method: &str, path: &str, body: Value) -> Answer {
        let answer = self.send(method, path, &Auth::Root, Some(body)).await;
        assert!(
            answer.is_success(),
            "{method} {path} as root: {} {}",
            answer.status,
            answer.text
        );
        answer
    }

    /// Sends a request. A body that is a string is sent as a form.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        auth: &Auth<'_>,
        body: Option<Value>,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost");
        request = match auth {
            Auth::Nothing => request,
            Auth::Root => request.header(header::AUTHORIZATION, format!("Bearer {}", self.root)),
            Auth::Cred(cred) => match cred.kind {
                Kind::Session { .. } => {
                    request.header(header::COOKIE, format!("svc_session={}", cred.value))
                }
                _ => request.header(header::AUTHORIZATION, format!("Bearer {}", cred.value)),
            },
        };
        let body = match body {
            Some(Value::String(form)) => {
                let kind = "application/x-www-form-urlencoded";
                request = request.header(header::CONTENT_TYPE, kind);
                Body::from(form)
            }
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let mut request = request.body(body).expect("a well-formed request");
        // Each request has its own address, so that limits per address have no effect.
        let n = self.names.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        request.extensions_mut().insert(Peer {
            address: ([10, n[5], n[6], n[7]], 4_000).into(),
            tls: false,
        });
        let Ok(response) = self.router.clone().call(request).await;
        read(response, path).await
    }

    /// The id of a session; empty if the session has ended.
    pub fn find_session_id(&self, cookie: &str) -> String {
        let caller = self.app.directory.authenticate(cookie, self.clock_now());
        let id = caller.ok().and_then(|caller| caller.session_id());
        id.map(|id| id.to_string()).unwrap_or_default()
    }

    fn clock_now(&self) -> Timestamp {
        Timestamp(self.now())
    }

    /// Publishes methods for a space, as its agent would.
    pub async fn publish(&self, space: &str, name: &str, owner: (&str, &str), methods: Value) {
        let (owner_id, owner) = owner;
        let identity = json!({"id": space, "name": name, "owner": owner});
        let identity = serde_json::from_value(identity).expect("an identity");
        let owner_id: UserId = owner_id.parse().expect("an id");
        let live = Arc::new(LiveSpace::new(owner_id, identity));
        let register = json!({
            "registration": {"server": {"command": "true"}, "methods": methods},
            "generation": 1,
        });
        let register = serde_json::from_value(register).expect("a registration");
        let publisher = Publisher {
            registry: self.app.registry.clone(),
            directory: self.app.directory.clone(),
            store: self.app.store.clone(),
            quotas: self.app.quotas,
            compute: self.app.compute.clone(),
            limits: RegistrationLimits::new(1),
        };
        let checked = publisher.check(&live, register).await;
        let published = publisher.publish(checked.expect("a valid registration"), |_| ());
        published.expect("published");
    }

    pub fn withdraw(&self, space: &str) {
        let space: SpaceId = space.parse().expect("an id");
        self.app.registry.withdraw(space);
    }

    pub async fn stop(self) {
        self.shutdown.cancel();
        self.server.join().await;
    }
}

async fn read(response: http::Response<Body>, path: &str) -> Answer {
    let (parts, body) = response.into_parts();
    let cookies = parts.headers.get_all(header::SET_COOKIE).iter();
    let cookie = cookies
        .filter_map(|value| value.to_str().ok())
        .filter_map(|value| value.split(';').next()?.split_once('='))
        .map(|(_, value)| value.to_owned())
        .find(|value| value.starts_with("svc_ses_"));
    let location = parts.headers.get(header::LOCATION);
    let location = location.and_then(|value| value.to_str().ok());
    let location = location.unwrap_or_default().to_owned();
    let content_type = parts.headers.get(header::CONTENT_TYPE);
    let is_stream = content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event"));
    let bytes = if is_stream && !path.starts_with("/mcp") {
        Default::default()
    } else {
        let collecting = tokio::time::timeout(Duration::from_secs(60), body.collect());
        let collected = collecting.await.expect("an answer ends");
        collected.expect("an answer is read").to_bytes()
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Answer {
        path: path.to_owned(),
        status: parts.status.as_u16(),
        json: serde_json::from_str(&text).unwrap_or(Value::Null),
        text,
        cookie,
        location,
    }
}

/// A temporary folder, in memory if possible, so that thousands of commits do not wait for a disk.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary folder")
}

fn options(folder: &Path) -> Options {
    let mut policy = Policy::default();
    policy.identity.password = PasswordPolicy {
        memory_kib: 64,
        passes: 1,
        ..PasswordPolicy::default()
    };
    Options {
        database: None,
        listen: ([127, 0, 0, 1], 0).into(),
        data_dir: folder.to_owned(),
        tls: None,
        trusted_proxies: vec![],
        allowed_hosts: vec![],
        allow_local_spaces: false,
        wildcard_domain: None,
        // The issuer of OAuth.
        public_url: Some(ORIGIN.to_owned()),
        advertise_url: None,
        admin_password: Some(ROOT_PASSWORD.to_owned()),
        agent_program: worker_program(),
        events: EventOptions::default(),
        scripts: ScriptOptions::default(),
        journal: Default::default(),
        metrics: Default::default(),
        traces: Default::default(),
        oauth: Default::default(),
        oidc: Default::default(),
        limits: Limits {
            changes_per_second: 1_000_000,
            ..Limits::default()
        },
        quotas: Default::default(),
        policy,
        web: svc_server::web::Web::default(),
    }
}

/// The script worker of `examples`, which `cargo test` builds beside the tests.
fn worker_program() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().and_then(Path::parent);
    let path = folder
        .expect("a test is in target/*/deps")
        .join("examples/server-script-worker");
    assert!(
        path.exists(),
        "`{}` is not built: `cargo examples`",
        path.display()
    );
    path
}

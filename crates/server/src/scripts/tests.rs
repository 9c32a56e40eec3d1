//! Managing scripts, and the access of running scripts: on a real server, with or without workers.

mod acting;
mod managing;
mod used;
mod withheld;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use svc_core::UserId;
use svc_protocol::api::{NewUser, Script, UserPatch};
use tokio_util::sync::CancellationToken;

use crate::{
    EventOptions, Limits, Options, Policy, ScriptOptions, Server,
    app::App,
    identity::{Caller, User},
    records::RecordError,
};

struct Fixture {
    app: App,
    server: Server,
    shutdown: CancellationToken,
    _folder: tempfile::TempDir,
}

/// The worker of `examples`, built with these tests.
pub(crate) fn worker_program() -> PathBuf {
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

/// The options of a server with its data in this folder and the user `admin`.
pub(crate) fn options(folder: &Path, agent_program: PathBuf) -> Options {
    Options {
        database: None,
        listen: ([127, 0, 0, 1], 0).into(),
        data_dir: folder.to_owned(),
        tls: None,
        trusted_proxies: vec![],
        allowed_hosts: vec![],
        allow_local_spaces: false,
        wildcard_domain: None,
        public_url: None,
        advertise_url: None,
        admin_password: Some("a long enough password".to_owned()),
        agent_program,
        events: EventOptions::default(),
        scripts: ScriptOptions::default(),
        journal: Default::default(),
        metrics: Default::default(),
        traces: Default::default(),
        oauth: Default::default(),
        oidc: Default::default(),
        limits: Limits::default(),
        quotas: svc_core::Quotas::default(),
        policy: Policy::default(),
        web: crate::web::Web::default(),
    }
}

impl Fixture {
    /// A server whose workers cannot start.
    async fn new() -> Self {
        Self::of(PathBuf::from("no such program")).await
    }

    async fn with_workers() -> Self {
        Self::of(worker_program()).await
    }

    async fn of(agent_program: PathBuf) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = options(folder.path(), agent_program);
        let shutdown = CancellationToken::new();
        let server = Server::start(options, shutdown.clone()).await;
        let server = server.expect("started");
        Self {
            app: server.app().clone(),
            server,
            shutdown,
            _folder: folder,
        }
    }

    fn admin(&self) -> Caller {
        self.caller("admin")
    }

    fn caller(&self, name: &str) -> Caller {
        let user = self.app.directory.find_user_by_name(name);
        Caller::process(user.expect("such a user"))
    }

    async fn user(&self, name: &str) -> Caller {
        let new = NewUser {
            username: name.to_owned(),
            password: "a long enough password".to_owned(),
            roles: None,
            groups: vec![],
            active: true,
        };
        let created = self.app.identity.create_user(&self.admin(), new).await;
        created.expect("created");
        self.caller(name)
    }

    async fn deactivate(&self, id: UserId) {
        let patch = UserPatch {
            active: Some(false),
            ..UserPatch::default()
        };
        let changed = self
            .app
            .identity
            .update_user(&self.admin(), id, patch)
            .await;
        changed.expect("deactivated");
    }

    async fn create(&self, caller: &Caller, body: Value) -> Result<Script, RecordError> {
        let new = serde_json::from_value(body).expect("a new script");
        self.app.scripts.create(caller, new).await
    }

    async fn library(&self, caller: &Caller, name: &str, owner: &str, source: &str) -> Script {
        let body = json!({"name": name, "kind": "library", "owner": owner, "source": source});
        self.create(caller, body).await.expect("created")
    }

    async fn close(self) {
        self.shutdown.cancel();
        self.server.join().await;
    }
}

fn as_script(user: &Arc<User>) -> Caller {
    Caller::script(user.clone())
}

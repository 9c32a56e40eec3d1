//! The rules of identity, each as a test, on a real store.

mod authenticate;
mod groups_and_roles;
mod login;
mod repeated_checks;
mod shares;
mod sign_in;
mod users;

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use svc_clock::Clock;
use svc_core::{
    Permission, Quotas, SpaceId, SpaceName, Timestamp, UserId, login::LoginDelay, space,
};
use svc_protocol::api;
use svc_store::{PageRequest, Store, records, spaces};
use uuid::Uuid;

use super::{Caller, ClientDetails, Identity, NewSession, PasswordPolicy, Policy, Proof};
use crate::{limits::LoginPolicy, records::RecordError};

const PASSWORD: &str = "correct horse";

/// A store with the user `admin`, and a clock that only tests move.
struct Fixture {
    store: Store,
    identity: Identity,
    admin: Caller,
    now: Arc<AtomicI64>,
    _folder: tempfile::TempDir,
}

fn policy() -> Policy {
    Policy {
        sessions_per_user: 3,
        password: PasswordPolicy {
            memory_kib: 64,
            passes: 1,
            ..PasswordPolicy::default()
        },
        login: LoginPolicy {
            slow_down: LoginDelay {
                free: 3,
                suspicious: 6,
                ..LoginPolicy::default().slow_down
            },
            tracked: 1_024,
        },
        ..Policy::default()
    }
}

fn quotas() -> Quotas {
    Quotas {
        tokens: 3,
        ..Quotas::default()
    }
}

/// An [`Identity`] on an empty store.
async fn fresh() -> (tempfile::TempDir, Store, Arc<AtomicI64>, Identity) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(folder.path()).expect("opens");
    let now = Arc::new(AtomicI64::new(1_700_000_000_000));
    let clock = Clock::from_fn({
        let now = now.clone();
        move || Timestamp(now.load(Ordering::Relaxed))
    });
    let identity = Identity::load(store.clone(), policy(), quotas(), clock)
        .await
        .expect("loads");
    (folder, store, now, identity)
}

impl Fixture {
    async fn new() -> Self {
        let (folder, store, now, identity) = fresh().await;
        assert_eq!(identity.ensure_admin(PASSWORD.into()).await, Ok(true));
        let admin = log_in(&identity, "admin").await;
        Self {
            store,
            identity,
            admin,
            now,
            _folder: folder,
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::Relaxed))
    }

    fn pass(&self, time: Duration) {
        let millis = i64::try_from(time.as_millis()).expect("small");
        self.now.fetch_add(millis, Ordering::Relaxed);
    }

    async fn user(&self, name: &str, roles: &[&str]) -> api::User {
        self.try_user(name, roles).await.expect("created")
    }

    async fn try_user(&self, name: &str, roles: &[&str]) -> Result<api::User, RecordError> {
        self.identity
            .create_user(&self.admin, new_user(name, roles))
            .await
    }

    /// Creates a user with a role that has these permissions, and logs the user in.
    async fn caller(&self, name: &str, permissions: &[Permission]) -> Caller {
        let role = api::NewRole {
            name: format!("role of {name}"),
            permissions: permissions.iter().copied().collect(),
            require_second_factor: false,
        };
        let role = self.identity.create_role(&self.admin, role).await;
        self.user(name, &[&role.expect("created").name]).await;
        log_in(&self.identity, name).await
    }

    async fn token(&self, caller: &Caller, scopes: &[&str]) -> api::Token {
        let new = api::NewToken {
            name: "test".into(),
            scopes: Some(scopes.iter().map(|scope| (*scope).to_owned()).collect()),
            expires_in_days: Some(1),
        };
        let token = self.identity.create_token(caller, new).await;
        token.expect("created")
    }

    /// A space of a user, written straight into the store.
    async fn space(&self, owner_id: UserId) -> SpaceId {
        let id = SpaceId(Uuid::now_v7());
        let row = spaces::SpaceRow {
            id,
            name: SpaceName::parse("lab").expect("valid"),
            owner_id,
            state: space::State::Created,
            stop_reason: None,
            health: space::Health::Unknown,
            runtime: space::Runtime::External,
            template_id: None,
            startup_script_id: None,
            health_check: space::HealthCheck::default(),
            node_id: None,
            space_urls: Default::default(),
            created_at: self.now(),
            started_at: None,
            stopped_at: None,
            deleted_at: None,
        };
        let inserted = self.store.write(move |tx| records::insert(tx, &row)).await;
        inserted.expect("committed");
        id
    }

    /// Actions in the audit log, oldest first.
    async fn actions(&self) -> Vec<String> {
        let listed = self
            .identity
            .list_audit(
                UserId::NIL,
                api::AuditQuery::default(),
                PageRequest::default(),
            )
            .await;
        let entries = listed.expect("read").audit.into_iter().rev();
        entries.map(|entry| entry.action).collect()
    }
}

fn new_user(name: &str, roles: &[&str]) -> api::NewUser {
    api::NewUser {
        username: name.into(),
        password: PASSWORD.into(),
        roles: Some(roles.iter().map(|role| (*role).to_owned()).collect()),
        groups: Vec::new(),
        active: true,
    }
}

fn client(host: u8) -> ClientDetails {
    ClientDetails {
        address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)),
        user_agent: "test".into(),
    }
}

fn credentials(name: &str, password: &str) -> api::Login {
    api::Login {
        username: name.into(),
        password: password.into(),
    }
}

impl Identity {
    /// Logs in a user who has no second factor.
    async fn log_in(
        &self,
        login: api::Login,
        client: ClientDetails,
    ) -> Result<NewSession, RecordError> {
        let user = self.check_login(login, &client).await?;
        self.forgive_login(&user, client.address).await?;
        self.open_session(user, client, Proof::Password).await
    }
}

async fn log_in(identity: &Identity, name: &str) -> Caller {
    let login = identity
        .log_in(credentials(name, PASSWORD), client(1))
        .await;
    let Ok(session) = login else {
        panic!("{name} could not log in");
    };
    identity
        .directory()
        .authenticate(&session.cookie, Timestamp(0))
        .expect("the credential is accepted")
}

#[track_caller]
fn assert_code<T>(result: Result<T, RecordError>, expected: &str) {
    match result {
        Ok(_) => panic!("expected `{expected}`, but it succeeded"),
        Err(error) => assert_eq!(error.code(), expected, "{error}"),
    }
}

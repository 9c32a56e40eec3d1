//! OAuth 2.1: an app gets tokens with limited access to the account of a user, after the user has
//! given consent on a page of this server.
//!
//! Parts: `clients` finds and manages apps, `documents` reads the description that an app
//! publishes, `registration` accepts the description that an app sends. `consents` stores the
//! request of an app until the user answers. `exchange` turns an authorization code into tokens,
//! `refresh` renews the tokens, `revoke` ends them. `grants` lists and ends the connections of users to apps. `devices`
//! logs in machines without a browser.
//!
//! Invariants: a token of an app always has scopes. Every secret is stored as a hash. A code or a
//! refresh token is checked completely before it is used up. One transaction uses up a code and
//! inserts its tokens, so a crash cannot separate the two. Grants and access tokens are records
//! of the directory: a revocation takes effect with its commit, and on the other servers of a zone
//! within a second.

mod clients;
mod consents;
mod devices;
mod documents;
mod error;
mod exchange;
mod grants;
mod known_apps;
mod refresh;
mod registration;
mod resource;
mod revoke;
mod tokens;

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use svc_clock::Clock;
use svc_outbound::Outbound;
use svc_store::{
    Store, StoreError, keyed,
    oauth::{
        self as rows, codes::CodeRow, consents::ConsentRow, devices::DeviceRow, grants::GrantRow,
        tokens::AppTokenRow,
    },
};
use tokio::sync::Semaphore;

pub use clients::Presented;
pub use consents::{Asked, Question};
pub use devices::StartedDevice;
pub use error::OAuthError;
pub use exchange::CodeExchange;
pub use refresh::Refresh;
pub use registration::{NewRegistration, Registered};
pub use resource::{Resource, mcp_resource};
pub use tokens::IssuedToken;

use crate::{
    identity::Identity,
    limits::{AddressLimit, MinuteLimit},
};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Authorization requests of apps, and new logins of devices, from one address within a minute.
const QUESTIONS_PER_MINUTE: u32 = 60;
/// Apps that register themselves from one address within an hour.
const REGISTRATIONS_PER_HOUR: u32 = 20;
/// Requests to `/token` and `/revoke` from one address within a minute.
const TOKENS_PER_MINUTE: u32 = 600;
/// Documents of apps that are read within a minute because of requests from one address.
const DOCUMENTS_PER_MINUTE: u32 = 30;
/// Documents of apps that are read at the same time.
const DOCUMENTS_AT_ONCE: usize = 8;
/// Codes of devices that one user may try within a minute.
const USER_CODES_PER_MINUTE: usize = 10;
/// An app that no administrator added or blocked, and that no user has connected, is deleted this
/// long after its last request.
const UNUSED_APP_KEPT: Duration = DAY.saturating_mul(30);

/// The settings of administrators.
#[derive(Clone, Debug)]
pub struct OAuthPolicy {
    /// Whether apps can be connected.
    pub enabled: bool,
    /// Whether apps may register themselves.
    pub registration: bool,
    /// Hosts whose apps may be connected, with their subdomains; empty for all. If the list is not
    /// empty, apps that registered themselves are rejected, because they have no verified host.
    /// Apps that administrators added, and the command line, are always accepted.
    pub client_hosts: Vec<String>,
    pub access_lifetime: Duration,
    /// Lifetime of the API tokens that `svc login` gets.
    pub login_token_lifetime: Duration,
    /// If a user connects an app in a session that a provider opened, the connection is valid for
    /// this time after the user's last sign-in with the provider.
    pub fresh_login: Duration,
}

impl Default for OAuthPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            registration: true,
            client_hosts: Vec::new(),
            access_lifetime: Duration::from_secs(60 * 60),
            login_token_lifetime: 90 * DAY,
            fresh_login: 30 * DAY,
        }
    }
}

/// The service behind the OAuth routes, such as `/authorize`, `/token` and `/api/oauth`.
pub struct OAuth {
    store: Store,
    identity: Identity,
    /// Reads the documents of apps.
    outbound: Arc<Outbound>,
    clock: Clock,
    policy: OAuthPolicy,
    questions: AddressLimit,
    registrations: AddressLimit,
    token_requests: AddressLimit,
    documents: AddressLimit,
    reading: Semaphore,
    user_codes: MinuteLimit,
}

impl OAuth {
    pub fn new(
        store: Store,
        identity: Identity,
        outbound: Arc<Outbound>,
        clock: Clock,
        policy: OAuthPolicy,
    ) -> Self {
        Self {
            store,
            identity,
            outbound,
            clock,
            policy,
            questions: AddressLimit::new(QUESTIONS_PER_MINUTE, MINUTE),
            registrations: AddressLimit::new(REGISTRATIONS_PER_HOUR, MINUTE * 60),
            token_requests: AddressLimit::new(TOKENS_PER_MINUTE, MINUTE),
            documents: AddressLimit::new(DOCUMENTS_PER_MINUTE, MINUTE),
            reading: Semaphore::new(DOCUMENTS_AT_ONCE),
            user_codes: MinuteLimit::new(USER_CODES_PER_MINUTE),
        }
    }

    pub fn policy(&self) -> &OAuthPolicy {
        &self.policy
    }

    /// Counts a request to `/token` or `/revoke`.
    pub fn count_token_request(&self, address: IpAddr) -> Result<(), OAuthError> {
        take(&self.token_requests, address)
    }

    /// Removes expired records and unused apps. The server calls this at intervals.
    pub async fn prune(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        self.identity
            .change_as_server(move |tx| {
                keyed::delete_expired::<ConsentRow>(tx, now)?;
                keyed::delete_expired::<DeviceRow>(tx, now)?;
                keyed::delete_expired::<CodeRow>(tx, now.minus(exchange::USED_CODE_KEPT))?;
                rows::clients::delete_unused(tx, now.minus(UNUSED_APP_KEPT))?;
                let users = keyed::end_expired::<GrantRow>(tx, now)?;
                tx.affects_users(users);
                let users = keyed::end_expired::<AppTokenRow>(tx, now)?;
                tx.affects_users(users);
                Ok(())
            })
            .await
    }
}

fn take(limit: &AddressLimit, address: IpAddr) -> Result<(), OAuthError> {
    limit
        .take(address, Instant::now())
        .map_err(|retry_after| OAuthError::TooMany { retry_after })
}

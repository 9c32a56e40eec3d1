//! Sign-in with OpenID Connect providers. This server is a client of the provider. It stores no
//! token of the provider, and sends none to other services.
//!
//! Parts: `providers` manages providers, `endpoints` reads their addresses and keys.
//! `start` sends a browser to the provider, `finish` handles the answer of the provider, `logout`
//! ends sessions at the request of the provider, `check` tests a provider step by step. The rules
//! for tokens and their signatures are in `svc_core::oidc`.
//!
//! Invariants: a sign-in is completed at most once, in the browser that began it. Only `identity`
//! decides to which user an account belongs. `svc_outbound` sends the requests to providers, with an
//! allow list of their own. They are limited in time, size and number.

mod check;
mod endpoints;
mod error;
mod finish;
mod logout;
mod providers;
mod requests;
mod start;

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use svc_clock::Clock;
use svc_core::OidcProviderId;
use svc_outbound::Outbound;
use svc_store::{
    Store, StoreError, keyed,
    oidc::{self as rows, logins::LoginRow},
};
use tokio::sync::Semaphore;

pub use error::OidcError;
pub use finish::{ProviderAnswer, SignedIn};
pub use start::{BrowserKey, LOGIN_LIFETIME, StartedLogin};

use crate::{identity::Identity, limits::AddressLimit, secrets::SecretKey};
use endpoints::Known;

const MINUTE: Duration = Duration::from_secs(60);

/// Sign-ins that one address may begin within a minute.
const STARTS_PER_MINUTE: u32 = 30;
/// Answers of providers that browsers at one address may bring within a minute.
const ANSWERS_PER_MINUTE: u32 = 30;
/// Logout tokens that are accepted from one address within a minute.
const LOGOUTS_PER_MINUTE: u32 = 600;
/// Checks of providers from one address within a minute.
const CHECKS_PER_MINUTE: u32 = 10;
/// Requests to providers at the same time.
const REQUESTS_AT_ONCE: usize = 16;

/// The settings in the configuration of the server.
#[derive(Clone, Debug, Default)]
pub struct OidcPolicy {
    /// Hosts and networks of providers that are allowed although they are not globally routable.
    pub allow: Vec<String>,
}

/// The service behind `/api/oidc` and `/api/auth/oidc`.
pub struct Oidc {
    store: Store,
    identity: Identity,
    secrets: Arc<SecretKey>,
    /// Sends the requests to providers.
    outbound: Arc<Outbound>,
    clock: Clock,
    requests: Semaphore,
    starts: AddressLimit,
    answers: AddressLimit,
    logouts: AddressLimit,
    checks: AddressLimit,
    /// A cache of the addresses and keys of providers.
    known: Mutex<HashMap<OidcProviderId, Known>>,
}

impl Oidc {
    pub fn new(
        store: Store,
        identity: Identity,
        secrets: Arc<SecretKey>,
        outbound: Arc<Outbound>,
        clock: Clock,
    ) -> Self {
        Self {
            store,
            identity,
            secrets,
            outbound,
            clock,
            requests: Semaphore::new(REQUESTS_AT_ONCE),
            starts: AddressLimit::new(STARTS_PER_MINUTE, MINUTE),
            answers: AddressLimit::new(ANSWERS_PER_MINUTE, MINUTE),
            logouts: AddressLimit::new(LOGOUTS_PER_MINUTE, MINUTE),
            checks: AddressLimit::new(CHECKS_PER_MINUTE, MINUTE),
            known: Mutex::default(),
        }
    }

    /// Removes expired records. The server calls this at intervals.
    pub async fn prune(&self) -> Result<(), StoreError> {
        self.known.lock().retain(|_, known| known.is_fresh());
        let now = self.clock.now();
        self.store
            .write(move |tx| {
                keyed::delete_expired::<LoginRow>(tx, now)?;
                rows::grants::delete_expired(tx, now)?;
                rows::logouts::delete_expired(tx, now)
            })
            .await
    }
}

fn take(limit: &AddressLimit, address: IpAddr) -> Result<(), OidcError> {
    limit
        .take(address, Instant::now())
        .map_err(|retry_after| OidcError::TooMany { retry_after })
}

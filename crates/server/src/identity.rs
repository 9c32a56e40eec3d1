//! Users, groups, roles, tokens, sessions, passwords, and the audit log of every change to them.
//!
//! [`Directory`] authenticates each request from memory. [`Identity`] makes changes: a change and
//! its audit entry are one transaction, and the directory holds the change before the request is
//! answered. The router checks the permissions of routes. This module checks the rules that depend
//! on records: no privilege escalation, the last administrator, built-in roles.

mod access;
mod audit;
mod audit_budget;
mod authority;
mod caller;
mod change;
mod code;
mod credentials;
mod directory;
mod external;
mod factors;
mod groups;
mod lapsed;
mod membership;
mod memory;
mod own_proof;
mod password_login;
mod passwords;
mod policy;
pub mod power;
mod quotas;
mod roles;
mod secret;
mod sessions;
mod setup;
mod sign_in;
mod tokens;
mod user_sinks;
mod users;
mod uses;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use svc_clock::Clock;
use svc_core::Quotas;
use svc_store::{Store, StoreError};

pub use audit::difference;
pub use caller::{Caller, Credential, User};
pub use change::{Change, Writer};
pub use credentials::find_endable;
pub use directory::{AccessDenied, Directory, DirectoryChange};
pub use external::ExternalAccount;
pub use factors::Factor;
pub use memory::{Affected, Memory};
pub use own_proof::OwnProof;
pub use policy::{PasswordLogin, PasswordPolicy, Policy};
pub use power::Actor;
pub use quotas::check_one_more;
pub use secret::{Secret, hash_of_login, hash_secret, presented_key};
pub use sessions::{ClientDetails, NewSession, Proof};
pub use sign_in::SIGN_IN_LINK_LIFETIME;
pub use user_sinks::delete_sink;
pub use uses::name_uses;

use crate::{limits::LoginLimit, records::Result};
use passwords::Passwords;

/// The services behind `/api/auth`, `/api/users`, `/api/groups`, `/api/roles`, `/api/tokens` and
/// `/api/audit`. Cheap to clone.
#[derive(Clone)]
pub struct Identity {
    store: Store,
    directory: Arc<Directory>,
    passwords: Arc<Passwords>,
    login_limit: Arc<LoginLimit>,
    policy: Policy,
    clock: Clock,
    /// Makes changes of records, also for other services.
    pub writer: Writer,
}

impl Identity {
    /// Reads the records that the server holds in memory.
    pub async fn load(store: Store, policy: Policy, quotas: Quotas, clock: Clock) -> Result<Self> {
        let passwords = Arc::new(Passwords::new(&policy.password)?);
        let memory = Arc::new(Memory::load(store.clone()).await?);
        Ok(Self {
            directory: memory.directory.clone(),
            writer: Writer::new(store.clone(), memory, clock.clone(), quotas),
            passwords,
            login_limit: Arc::new(LoginLimit::new(policy.login, &store)),
            store,
            policy,
            clock,
        })
    }

    /// The quotas of users without overrides.
    pub fn quotas(&self) -> Quotas {
        self.writer.quotas()
    }

    /// [`Writer::change`]
    pub async fn change<T: Send + 'static>(
        &self,
        caller: &Caller,
        work: impl FnOnce(&mut Change<'_, '_>, &Caller) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.change(caller, work).await
    }

    /// [`Writer::change_as_server`]
    pub async fn change_as_server<T, E>(
        &self,
        work: impl FnOnce(&mut Change<'_, '_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.writer.change_as_server(work).await
    }

    pub fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// Writes the times of last use collected since the last call. The server calls this once a
    /// minute.
    pub async fn flush_last_used(&self) -> Result<(), StoreError> {
        let used = self.directory.take_used();
        if used.is_empty() {
            return Ok(());
        }
        let written = used.clone();
        let result = self
            .store
            .write(move |tx| directory::write_used(tx, &written))
            .await;
        if result.is_err() {
            self.directory.put_back_used(&used);
        }
        result
    }

    /// Removes expired sessions and old audit entries, and retries a failed refresh. The server
    /// calls this at intervals.
    pub async fn prune(&self) -> Result<()> {
        self.prune_sessions().await?;
        let before = self.clock.now().minus(self.policy.audit_retention);
        while self.prune_audit(before).await? > 0 {}
        self.writer.memory.apply(Affected::default()).await?;
        Ok(())
    }

    /// Waits for the changes in progress, including changes whose requests were dropped.
    pub async fn close(&self) {
        self.writer.close().await;
    }
}

//! Reads and prunes the audit log, and builds its entries.

use serde_json::Value;
use svc_core::{Timestamp, UserId};
use svc_protocol::api;
use svc_store::{
    PageRequest,
    audit::{self, Entry},
};

use super::{Identity, caller::Caller, error::IdentityError};

/// The maximum number of entries that one transaction removes, so that other writers wait only
/// briefly.
const REMOVED_MAX: u32 = 500;

impl Identity {
    /// Lists entries, newest first.
    pub async fn list_audit(
        &self,
        reader: UserId,
        query: api::AuditQuery,
        page: PageRequest,
    ) -> Result<api::Audit, IdentityError> {
        let page = self
            .store
            .read_list(reader, move |tx| audit::list(tx, &query, page))
            .await?;
        Ok(page.into_list())
    }

    /// Removes some of the entries older than `before`. Returns their number.
    pub async fn prune_audit(&self, before: Timestamp) -> Result<usize, IdentityError> {
        Ok(self
            .store
            .write(move |tx| audit::prune(tx, before, REMOVED_MAX))
            .await?)
    }

    /// An entry about an action of the caller, with the current time.
    pub fn entry(
        &self,
        caller: &Caller,
        action: &'static str,
        target: (&'static str, impl ToString),
        detail: Value,
    ) -> Entry {
        self.entry_by(caller.user.name.as_str(), action, target, detail)
    }

    pub fn entry_by(
        &self,
        actor: &str,
        action: &'static str,
        (target_type, target_id): (&'static str, impl ToString),
        detail: Value,
    ) -> Entry {
        Entry {
            at: self.clock.now(),
            actor: actor.to_owned(),
            action,
            target_type,
            target_id: target_id.to_string(),
            detail,
        }
    }
}

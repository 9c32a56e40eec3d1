//! Reads and prunes the audit log, and builds its entries.

use serde_json::Value;
use svc_core::{Timestamp, UserId};
use svc_protocol::api;
use svc_store::{
    PageRequest,
    audit::{self, Entry},
};

use super::Identity;
use crate::records::Result;

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
    ) -> Result<api::Audit> {
        let page = self
            .store
            .read_list(reader, move |tx| audit::list(tx, &query, page))
            .await?;
        Ok(page.into_list())
    }

    /// Removes some of the entries older than `before`. Returns their number.
    pub async fn prune_audit(&self, before: Timestamp) -> Result<usize> {
        Ok(self
            .store
            .write(move |tx| audit::prune(tx, before, REMOVED_MAX))
            .await?)
    }

    /// An entry with the current time, for a write that is not a change of records.
    pub fn entry_by(
        &self,
        actor: &str,
        action: &'static str,
        target: (&'static str, impl ToString),
        detail: Value,
    ) -> Entry {
        Entry::by(self.clock.now(), actor, action, target, detail)
    }
}

/// The detail of an entry about a change: the name, and the members that the change set. A member
/// that the change removed is null.
pub fn difference(before: &Value, mut after: Value) -> Value {
    if let (Some(before), Some(after)) = (before.as_object(), after.as_object_mut()) {
        for name in before.keys() {
            after.entry(name).or_insert(Value::Null);
        }
        after.retain(|name, value| name == "name" || before.get(name) != Some(&*value));
    }
    after
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_about_a_change_has_the_changed_members_only() {
        let before = json!({"name": "a", "patterns": ["x", "y"], "url": "u", "ca": true});
        let after = json!({"name": "a", "patterns": ["x", "y"], "url": "v", "http2": true});
        let expected = json!({"name": "a", "url": "v", "http2": true, "ca": null});
        assert_eq!(difference(&before, after), expected);
    }
}

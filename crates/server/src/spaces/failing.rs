//! Finds the spaces that fail, for the overview. `svc_core::space::Condition` decides.

use svc_core::{Permission, UserId};
use svc_protocol::api::Space;
use svc_store::{StoreError, spaces};

use super::Spaces;
use crate::identity::Caller;

/// At most this many spaces are examined.
const EXAMINED_MAX: u32 = 1_000;

impl Spaces {
    /// The failing spaces that the caller sees in the list of spaces, at most `limit`, and their
    /// number.
    pub async fn list_failing(
        &self,
        caller: &Caller,
        limit: usize,
    ) -> Result<(Vec<Space>, u64), StoreError> {
        let all = caller.user.permissions.contains(Permission::ManageSpaces);
        let owner: Option<UserId> = (!all).then_some(caller.user.id);
        // The links and the results of registrations are in memory, the rest is in the store.
        let troubled = self.links.list_troubled(owner, EXAMINED_MAX as usize);
        let examining = self.store.read_list(caller.user.id, move |tx| {
            spaces::list_suspects(tx, owner, &troubled, EXAMINED_MAX)
        });
        let examined = examining.await?.into_iter();
        let presented = examined.filter_map(|row| self.present(row).ok());
        let mut failing: Vec<_> = presented
            .filter(|space| space.condition().is_failing())
            .collect();
        let total = failing.len() as u64;
        failing.truncate(limit);
        Ok((failing, total))
    }
}

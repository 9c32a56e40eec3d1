//! A global sink sees everybody's events. A webhook goes on only while the user who made it may
//! have one; a script sink checks that when it looks for its user.

use svc_core::Permission;
use svc_store::{sinks::SinkRow, users};

use super::Deliverers;
use crate::scripts::Waiting;

impl Deliverers {
    /// Why nothing is sent from a webhook now; `None` if it is. One whose maker was deleted stays
    /// with those who manage global sinks.
    pub(super) async fn withheld_webhook(
        &self,
        sink: &SinkRow,
        waiting: Option<Waiting>,
    ) -> Option<String> {
        if !sink.is_global() {
            return None;
        }
        let maker = sink.owner_id;
        let found = self.store.read(move |tx| users::find_power(tx, maker));
        let maker = match found.await {
            Ok(maker) => maker?,
            Err(error) => return Some(error.to_string()),
        };
        let needed = Permission::ManageGlobalEventSinks;
        if maker.permissions.contains(needed) {
            self.withheld.forget(sink.id);
            return None;
        }
        let why = format!(
            "user `{}`, who made this global sink, does not hold the permission `{needed}`; another user who holds it can make the sink anew",
            maker.username
        );
        if waiting.is_some() {
            self.tell_withheld(sink, &why).await;
        }
        Some(why)
    }
}

//! A global sink receives the events of all users. Therefore a global webhook does not deliver while
//! its creator lacks the permission to manage global sinks. `attempt_script` checks the same for
//! script sinks.

use svc_core::Permission;
use svc_store::{sinks::SinkRow, users};

use super::Deliverers;
use crate::scripts::WaitingDelivery;

impl Deliverers {
    /// Why the deliveries of a webhook are withheld; `None` if they are not. A global webhook whose
    /// creator was deleted still delivers: the users who manage global sinks are responsible for
    /// it.
    pub(in crate::events) async fn webhook_withheld_reason(
        &self,
        sink: &SinkRow,
        waiting: Option<WaitingDelivery>,
    ) -> Option<String> {
        if !sink.is_global() {
            return None;
        }
        let creator = sink.owner_id;
        let found = self.store.read(move |tx| users::find_power(tx, creator));
        let creator = match found.await {
            Ok(creator) => creator?,
            Err(error) => return Some(error.to_string()),
        };
        let needed = Permission::ManageGlobalEventSinks;
        if creator.permissions.contains(needed) {
            self.withheld.forget(sink.id);
            return None;
        }
        let why = format!(
            "user `{}`, who created this global sink, does not hold the permission `{needed}`; a user who holds it can create the sink again",
            creator.username
        );
        if waiting.is_some() {
            self.report_withheld(sink, &why).await;
        }
        Some(why)
    }
}

//! Requests about event sinks, other than the operations and actions that all resources share.

use svc_core::SinkId;
use svc_protocol::api;
use uuid::Uuid;

use super::{Client, query::with_query, routes::not_found_error};
use crate::{error::Error, resource::choose_named};

impl Client {
    /// Finds a sink by id, by `name`, or by `global/name`. If several sinks have the name, returns
    /// the caller's own sink.
    pub async fn find_sink(&self, reference: &str) -> Result<api::Sink, Error> {
        if let Ok(id) = Uuid::parse_str(reference) {
            return self.read_one(id).await;
        }
        let all = self.list_all::<api::Sinks>(&()).await?;
        let found = choose_named(all, reference, is_global).into_iter().next();
        found.ok_or_else(|| not_found_error("sink", reference))
    }

    /// One page of a sink's deliveries, newest first.
    pub async fn deliveries(
        &self,
        id: SinkId,
        query: &api::DeliveryQuery,
    ) -> Result<api::Deliveries, Error> {
        let path = format!("/api/event-sinks/{id}/deliveries");
        self.get(&with_query(&path, query)).await
    }

    /// Queues the event of a delivery again, at the end of the queue.
    pub async fn resend(&self, id: SinkId, n: u64) -> Result<api::Delivery, Error> {
        let path = format!("/api/event-sinks/{id}/deliveries/{n}/resend");
        self.post(&path).await
    }
}

fn is_global(sink: &api::Sink) -> bool {
    sink.owner == api::SinkOwner::Global
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sink(name: &str, owner: &str) -> api::Sink {
        serde_json::from_value(json!({
            "id": Uuid::nil(), "name": name, "description": "", "patterns": ["*"],
            "type": "webhook", "owner": owner, "owner_id": Uuid::nil(), "active": true,
            "webhook": null, "script": null, "json_rpc": null, "queue_depth": 0, "dropped": 0,
            "last_delivery": null, "created_at": "1970-01-01T00:00:00.000Z",
        }))
        .expect("a sink")
    }

    #[test]
    fn the_callers_own_sink_is_chosen_before_a_global_sink_of_the_same_name() {
        let sinks = || vec![sink("a", "global"), sink("a", "user"), sink("b", "global")];
        let check = |reference, expected: Option<api::SinkOwner>| {
            let found = choose_named(sinks(), reference, is_global);
            let found = found.first().map(|sink| sink.owner);
            assert_eq!(found, expected, "{reference}");
        };
        check("a", Some(api::SinkOwner::User));
        check("global/a", Some(api::SinkOwner::Global));
        check("b", Some(api::SinkOwner::Global));
        check("c", None);
        check("global/c", None);
    }
}

//! Requests about event sinks, other than the operations that all resources share.

use http::Method;
use serde::{Serialize, de::DeserializeOwned};
use svc_core::SinkId;
use svc_protocol::api;
use uuid::Uuid;

use super::{Client, query::with_query, routes::not_found_error};
use crate::error::Error;

/// Prefix of a sink's name that selects the global sink, not the caller's own.
const GLOBAL: &str = "global/";

impl Client {
    /// Finds a sink by id, by `name`, or by `global/name`. If several sinks have the name, returns
    /// the caller's own sink.
    pub async fn find_sink(&self, reference: &str) -> Result<api::Sink, Error> {
        if let Ok(id) = Uuid::parse_str(reference) {
            return self.read_one(id).await;
        }
        let all = self.list_all::<api::Sinks>(&()).await?;
        choose(all, reference).ok_or_else(|| not_found_error("sink", reference))
    }

    /// Renders the body of a delivery and, unless the test is a dry run, sends it. No delivery is
    /// recorded.
    pub async fn test_sink(
        &self,
        id: SinkId,
        preview: &api::Preview,
    ) -> Result<api::PreviewResult, Error> {
        self.act_on_sink(id, "test", preview).await
    }

    pub async fn rotate_secret(
        &self,
        id: SinkId,
        rotate: &api::RotateSecret,
    ) -> Result<api::SecretRotation, Error> {
        self.act_on_sink(id, "rotate-secret", rotate).await
    }

    pub async fn replay(
        &self,
        id: SinkId,
        replay: &api::Replay,
    ) -> Result<api::ReplayResult, Error> {
        self.act_on_sink(id, "replay", replay).await
    }

    /// Resends many deliveries. The server queues them gradually, as the queue drains.
    pub async fn resend_many(
        &self,
        id: SinkId,
        resend: &api::Resend,
    ) -> Result<api::ResendResult, Error> {
        self.act_on_sink(id, "resend", resend).await
    }

    /// Applies changed settings of a sink to past events and returns the results, without sending
    /// anything.
    pub async fn backtest(
        &self,
        id: SinkId,
        backtest: &api::Backtest,
    ) -> Result<api::BacktestResult, Error> {
        self.act_on_sink(id, "backtest", backtest).await
    }

    async fn act_on_sink<T: DeserializeOwned>(
        &self,
        id: SinkId,
        action: &str,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let path = format!("/api/event-sinks/{id}/{action}");
        self.send_json(Method::POST, &path, body).await
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

fn choose(sinks: Vec<api::Sink>, reference: &str) -> Option<api::Sink> {
    let (name, global_only) = match reference.strip_prefix(GLOBAL) {
        Some(name) => (name, true),
        None => (reference, false),
    };
    let is_global = |sink: &api::Sink| sink.owner == api::SinkOwner::Global;
    let mut found: Vec<api::Sink> = sinks
        .into_iter()
        .filter(|sink| sink.name == name && (is_global(sink) || !global_only))
        .collect();
    found.sort_by_key(is_global);
    (!found.is_empty()).then(|| found.swap_remove(0))
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
            let found = choose(sinks(), reference).map(|sink| sink.owner);
            assert_eq!(found, expected, "{reference}");
        };
        check("a", Some(api::SinkOwner::User));
        check("global/a", Some(api::SinkOwner::Global));
        check("b", Some(api::SinkOwner::Global));
        check("c", None);
        check("global/c", None);
    }
}

//! Requests about events: emit, history, and the stream of new events.

use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::json;
use svc_core::EventId;
use svc_protocol::api;

use super::{
    Client,
    query::{page_path, with_query},
};
use crate::{error::Error, sse::EventStream};

const IDEMPOTENCY_KEY: &str = "idempotency-key";

impl Client {
    /// Emits an event. A second request with the same key emits no second event.
    pub async fn emit(
        &self,
        emit: &api::Emit,
        idempotency_key: Option<&str>,
    ) -> Result<api::EmittedEvent, Error> {
        let headers = HeaderMap::new();
        self.emit_at("/api/events/emit", emit, idempotency_key, headers)
            .await
    }

    pub(crate) async fn emit_at(
        &self,
        path: &str,
        emit: &api::Emit,
        idempotency_key: Option<&str>,
        mut headers: HeaderMap,
    ) -> Result<api::EmittedEvent, Error> {
        let body = self.write(emit)?;
        if let Some(key) = idempotency_key {
            let key = HeaderValue::from_str(key).map_err(|_| {
                self.transport.unexpected(
                    "the idempotency key contains characters that are not allowed in a header",
                )
            })?;
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        let answer = self
            .send_raw(Method::POST, path, headers, Some(body), None)
            .await?;
        self.read(&self.check_status(answer)?)
    }

    /// One page of past events, newest first.
    pub async fn events(
        &self,
        page: &api::PageQuery,
        query: &api::EventQuery,
    ) -> Result<api::Events, Error> {
        self.get(&page_path("/api/events", page, query)).await
    }

    pub async fn event(&self, id: EventId) -> Result<api::EventRecord, Error> {
        self.get(&format!("/api/events/{id}")).await
    }

    /// A stream of new events. `patterns` are separated by commas.
    pub async fn event_stream(&self, patterns: Option<&str>) -> Result<EventStream, Error> {
        let accept = HeaderValue::from_static("text/event-stream");
        let headers = HeaderMap::from_iter([(header::ACCEPT, accept)]);
        let path = with_query("/api/events/stream", &json!({"pattern": patterns}));
        self.open_stream(&path, headers).await
    }
}

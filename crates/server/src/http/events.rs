//! `/api/events`: emit, list and stream events (spec 6.2).

use axum::response::sse::Event as Line;
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use svc_core::{EventId, pattern::Pattern};
use svc_protocol::api::{
    Emit, EmittedEvent, EventDeliveries, EventHistogram, EventQuery, EventRecord, Events, cursor_of,
};
use svc_store::PageRequest;

use super::{
    error::ApiResult,
    event_stream::{EventStream, event_stream},
    extract::{Accepted, IdempotencyKey, Json, PathId, Query, Submission},
};
use crate::{
    app::App,
    events::{emit::EmitServiceError, history::StreamItem},
    identity::Caller,
};

pub async fn emit(
    app: App,
    IdempotencyKey(key): IdempotencyKey,
    Submission { caller, body }: Submission<Emit>,
) -> ApiResult<Accepted<EmittedEvent>> {
    let key = key.map_err(|_| EmitServiceError::InvalidKey)?;
    let emitted = app.events.emit(&caller, body, key.as_deref()).await?;
    Ok(Accepted(emitted))
}

pub async fn list(
    app: App,
    caller: Caller,
    Query(query): Query<EventQuery>,
    page: PageRequest,
) -> ApiResult<Json<Events>> {
    let page = app.history.list(&caller, query, page).await?;
    Ok(Json(Events {
        events: page.items,
        next_cursor: page.next_cursor.map(|id| cursor_of("/api/events", &id)),
    }))
}

pub async fn histogram(
    app: App,
    caller: Caller,
    Query(query): Query<EventQuery>,
) -> ApiResult<Json<EventHistogram>> {
    Ok(Json(app.history.histogram(&caller, query).await?))
}

pub async fn get(
    app: App,
    caller: Caller,
    PathId(id): PathId<EventId>,
) -> ApiResult<Json<EventRecord>> {
    Ok(Json(app.history.get(&caller, id).await?.into()))
}

pub async fn deliveries(
    app: App,
    caller: Caller,
    PathId(id): PathId<EventId>,
) -> ApiResult<Json<EventDeliveries>> {
    let deliveries = app.history.deliveries(&caller, id).await?;
    Ok(Json(EventDeliveries {
        deliveries,
        next_cursor: None,
    }))
}

#[derive(Deserialize, JsonSchema)]
pub struct StreamQuery {
    /// Patterns, separated by commas; all events if absent.
    pattern: Option<String>,
}

pub async fn stream(
    app: App,
    caller: Caller,
    Query(query): Query<StreamQuery>,
) -> ApiResult<EventStream> {
    let patterns = query.pattern.as_deref().map(Pattern::parse_list);
    let mut messages = app
        .history
        .stream(caller, patterns.transpose()?.unwrap_or_default())?;
    if app.store.is_shared() {
        // Events that other servers committed before this request are not part of the stream.
        app.stream_catch_up.now().await;
        messages.skip_to_now();
    }
    let lines = stream::unfold(messages, async |mut messages| {
        let message = messages.next().await?;
        Some((line(&message), messages))
    });
    Ok(event_stream(lines))
}

fn line(message: &StreamItem) -> Line {
    match message {
        StreamItem::Event(event) => Line::default()
            .id(event.id.to_string())
            .event(&event.r#type)
            .data(&event.record),
        StreamItem::Lagged(missed) => Line::default()
            .event("lagged")
            .data(json!({"missed": missed}).to_string()),
    }
}

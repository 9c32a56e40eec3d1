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

use super::{
    error::ApiResult,
    event_stream::{EventStream, event_stream},
    extract::{Accepted, IdempotencyKey, Query, Submission},
    handlers::handlers,
};
use crate::{
    app::App,
    events::{emit::EmitServiceError, history::StreamItem},
    identity::Caller,
};

handlers! {
    list(app, caller, query: EventQuery, page) -> Json<Events> = {
        let page = app.history.list(&caller, query, page).await?;
        Events {
            events: page.items,
            next_cursor: page.next_cursor.map(|id| cursor_of("/api/events", &id)),
        }
    };
    histogram(app, caller, query: EventQuery) -> Json<EventHistogram> =
        app.history.histogram(&caller, query).await?;
    get(app, caller, id: EventId) -> Json<EventRecord> = app.history.get(&caller, id).await?.into();
    deliveries(app, caller, id: EventId) -> Json<EventDeliveries> = EventDeliveries {
        deliveries: app.history.deliveries(&caller, id).await?,
        next_cursor: None,
    };
}

pub async fn emit(
    app: App,
    IdempotencyKey(key): IdempotencyKey,
    Submission { caller, body }: Submission<Emit>,
) -> ApiResult<Accepted<EmittedEvent>> {
    let key = key.map_err(|_| EmitServiceError::InvalidKey)?;
    let emitted = app.events.emit(&caller, body, key.as_deref()).await?;
    Ok(Accepted(emitted))
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

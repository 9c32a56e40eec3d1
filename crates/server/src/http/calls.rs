//! `/api/calls`: the call journal.

use axum::response::sse::Event as Line;
use futures_util::stream;
use svc_core::Id;
use svc_protocol::api::{
    CALLS_PATH, CallDetail, CallQuery, CallSummary, CallSummaryQuery, Calls, cursor_of,
};

use super::{
    error::ApiResult,
    event_stream::{EventStream, event_stream},
    extract::{Json, Query},
    handlers::handlers,
};
use crate::{app::App, call_history::CallStreamItem, identity::Caller};

handlers! {
    list(app, caller, query: CallQuery, page) -> Json<Calls> = {
        let calls = app.call_history.list(&caller, query, page).await?;
        let next_cursor = calls.next_cursor.map(|id| cursor_of(CALLS_PATH, &id));
        Calls { next_cursor, ..calls }
    };
    get(app, caller, id: Id) -> Json<CallDetail> = app.call_history.get(&caller, id).await?;
}

pub async fn summary(
    app: App,
    caller: Caller,
    Query(query): Query<CallQuery>,
    Query(CallSummaryQuery { by }): Query<CallSummaryQuery>,
) -> ApiResult<Json<CallSummary>> {
    Ok(Json(app.call_history.summarize(&caller, query, by).await?))
}

pub async fn stream(
    app: App,
    caller: Caller,
    Query(query): Query<CallQuery>,
) -> ApiResult<EventStream> {
    let calls = app.call_history.stream(caller, query).await?;
    let lines = stream::unfold(calls, async |mut calls| {
        let item = calls.next().await?;
        Some((line(&item), calls))
    });
    Ok(event_stream(lines))
}

fn line(item: &CallStreamItem) -> Line {
    match item {
        CallStreamItem::Call(call) => {
            let json = serde_json::to_string(call).expect("a call is always JSON");
            Line::default()
                .id(call.id.to_string())
                .event("call")
                .data(json)
        }
        CallStreamItem::Lagged => Line::default().event("lagged").data("{}"),
    }
}

//! `/api/spaces`.

use svc_core::SpaceId;
use svc_protocol::api::{
    AgentToken, LOG_LINES_MAX, LOG_SEARCH_MAX, LogQuery, Logs, NewSpace, Space, SpacePatch, Spaces,
};
use svc_store::PageRequest;

use super::{
    error::{ApiError, ApiResult},
    extract::{Created, Json, NoContent, PathId, Query},
    failures,
};
use crate::{app::App, identity::Caller};

pub async fn list(app: App, caller: Caller, page: PageRequest) -> ApiResult<Json<Spaces>> {
    Ok(Json(app.spaces.list(&caller, page).await?.into_list()))
}

pub async fn create(
    app: App,
    caller: Caller,
    Json(new): Json<NewSpace>,
) -> ApiResult<Created<Space>> {
    Ok(Created(app.spaces.create(&caller, new).await?))
}

pub async fn get(app: App, caller: Caller, PathId(id): PathId<SpaceId>) -> ApiResult<Json<Space>> {
    Ok(Json(app.spaces.get(&caller, id).await?))
}

pub async fn patch(
    app: App,
    caller: Caller,
    PathId(id): PathId<SpaceId>,
    Json(patch): Json<SpacePatch>,
) -> ApiResult<Json<Space>> {
    Ok(Json(app.spaces.patch(&caller, id, patch).await?))
}

pub async fn delete(app: App, caller: Caller, PathId(id): PathId<SpaceId>) -> ApiResult<NoContent> {
    app.spaces.delete(&caller, id).await?;
    Ok(NoContent)
}

pub async fn start(
    app: App,
    caller: Caller,
    PathId(id): PathId<SpaceId>,
) -> ApiResult<Json<Space>> {
    Ok(Json(app.spaces.start(&caller, id).await?))
}

pub async fn stop(app: App, caller: Caller, PathId(id): PathId<SpaceId>) -> ApiResult<Json<Space>> {
    Ok(Json(app.spaces.stop(&caller, id).await?))
}

pub async fn rotate_agent_token(
    app: App,
    caller: Caller,
    PathId(id): PathId<SpaceId>,
) -> ApiResult<Json<AgentToken>> {
    let agent_token = app.spaces.rotate_agent_token(&caller, id).await?;
    Ok(Json(AgentToken { agent_token }))
}

pub async fn logs(
    app: App,
    caller: Caller,
    PathId(id): PathId<SpaceId>,
    Query(query): Query<LogQuery>,
) -> ApiResult<Json<Logs>> {
    if query
        .search
        .as_ref()
        .is_some_and(|text| text.len() > LOG_SEARCH_MAX)
    {
        let detail = format!("`search` is too long; at most {LOG_SEARCH_MAX} bytes are allowed");
        return Err(ApiError::new(failures::INVALID_QUERY, detail));
    }
    let limit = query.limit.unwrap_or(100).clamp(1, LOG_LINES_MAX) as usize;
    // A log has fewer lines than `LOG_LINES_MAX`, so a filter is applied to all its lines.
    let read = if query.has_filter() {
        LOG_LINES_MAX as usize
    } else {
        limit
    };
    let mut logs = app.spaces.logs(&caller, id, query.cursor, read).await?;
    // The last page has a next cursor too: the log may grow at any time.
    let mut last = logs.last().map(|line| line.n).or(query.cursor);
    logs.retain(|line| query.matches(&line.line));
    if logs.len() > limit {
        match query.cursor {
            Some(_) => {
                logs.truncate(limit);
                last = logs.last().map(|line| line.n);
            }
            None => drop(logs.drain(..logs.len() - limit)),
        }
    }
    Ok(Json(Logs {
        logs,
        next_cursor: last.map(|n| n.to_string()),
    }))
}

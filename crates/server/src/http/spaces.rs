//! `/api/spaces`.

use svc_core::SpaceId;
use svc_protocol::api::{
    AgentToken, LOG_LINES_MAX, LOG_SEARCH_MAX, LogQuery, Logs, NewSpace, Space, SpacePatch, Spaces,
};

use super::{
    error::{ApiError, ApiResult},
    extract::{Json, PathId, Query},
    failures,
    handlers::handlers,
};
use crate::{app::App, identity::Caller};

handlers! {
    list(app, caller, page) -> Json<Spaces> = app.spaces.list(&caller, page).await?.into_list();
    create(app, caller, body: NewSpace) -> Created<Space> = app.spaces.create(&caller, body).await?;
    get(app, caller, id: SpaceId) -> Json<Space> = app.spaces.get(&caller, id).await?;
    patch(app, caller, id: SpaceId, body: SpacePatch) -> Json<Space> =
        app.spaces.patch(&caller, id, body).await?;
    delete(app, caller, id: SpaceId) -> NoContent = app.spaces.delete(&caller, id).await?;
    start(app, caller, id: SpaceId) -> Json<Space> = app.spaces.start(&caller, id).await?;
    stop(app, caller, id: SpaceId) -> Json<Space> = app.spaces.stop(&caller, id).await?;
    rotate_agent_token(app, caller, id: SpaceId) -> Json<AgentToken> = AgentToken {
        agent_token: app.spaces.rotate_agent_token(&caller, id).await?,
    };
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

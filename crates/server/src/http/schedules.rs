//! `/api/schedules`

use svc_core::ScheduleId;
use svc_protocol::api::{
    EmittedEvent, NewSchedule, NextRuns, NextRunsQuery, PreviewQuery, Schedule, SchedulePatch,
    Schedules,
};
use svc_store::PageRequest;

use super::{
    error::ApiResult,
    extract::{Accepted, Created, Json, NoContent, PathId, Query},
};
use crate::{app::App, identity::Caller};

pub async fn list(app: App, caller: Caller, page: PageRequest) -> ApiResult<Json<Schedules>> {
    Ok(Json(app.schedules.list(&caller, page).await?.into_list()))
}

pub async fn create(
    app: App,
    caller: Caller,
    Json(new): Json<NewSchedule>,
) -> ApiResult<Created<Schedule>> {
    Ok(Created(app.schedules.create(&caller, new).await?))
}

pub async fn get(
    app: App,
    caller: Caller,
    PathId(id): PathId<ScheduleId>,
) -> ApiResult<Json<Schedule>> {
    Ok(Json(app.schedules.get(&caller, id).await?))
}

pub async fn patch(
    app: App,
    caller: Caller,
    PathId(id): PathId<ScheduleId>,
    Json(patch): Json<SchedulePatch>,
) -> ApiResult<Json<Schedule>> {
    Ok(Json(app.schedules.patch(&caller, id, patch).await?))
}

pub async fn delete(
    app: App,
    caller: Caller,
    PathId(id): PathId<ScheduleId>,
) -> ApiResult<NoContent> {
    app.schedules.delete(&caller, id).await?;
    Ok(NoContent)
}

pub async fn next(
    app: App,
    caller: Caller,
    PathId(id): PathId<ScheduleId>,
    Query(query): Query<NextRunsQuery>,
) -> ApiResult<Json<NextRuns>> {
    let runs = app.schedules.next_runs(&caller, id, query.count);
    Ok(Json(runs.await?))
}

pub async fn preview(
    app: App,
    caller: Caller,
    Query(query): Query<PreviewQuery>,
) -> ApiResult<Json<NextRuns>> {
    let timezone = query.timezone.unwrap_or_else(|| "UTC".to_owned());
    let runs = app
        .schedules
        .preview(&caller, (query.cron, timezone), query.count);
    Ok(Json(runs.await?))
}

pub async fn run(
    app: App,
    caller: Caller,
    PathId(id): PathId<ScheduleId>,
) -> ApiResult<Accepted<EmittedEvent>> {
    Ok(Accepted(app.schedules.run_now(&caller, id).await?))
}

//! `GET /api/stats`, `GET /api/stats/calls`, `GET /api/stats/activity`, `GET /api/stats/quotas`, and
//! the statistics of one method and of one sink.

use schemars::JsonSchema;
use serde::Deserialize;
use svc_core::{SinkId, activity_stats::StatsRange};
use svc_protocol::api::{
    Activity, CallTotals, CredentialQuery, MethodStats, MethodStatsQuery, QuotaUses, SinkStats,
    Stats,
};

use super::{
    error::ApiResult,
    extract::{Json, PathId, Query},
};
use crate::{app::App, identity::Caller, stats::Scope};

#[derive(Deserialize, JsonSchema)]
pub struct StatsQuery {
    /// `server` needs the permission `view_audit`.
    #[serde(default)]
    scope: Scope,
}

#[derive(Deserialize, JsonSchema)]
pub struct CallTotalsQuery {
    /// `server` needs the permission `view_audit`.
    #[serde(default)]
    scope: Scope,
    /// `1h` if absent. The points are those of `GET /api/methods/{name}/stats`.
    range: Option<StatsRange>,
}

pub async fn get(
    app: App,
    caller: Caller,
    Query(query): Query<StatsQuery>,
) -> ApiResult<Json<Stats>> {
    Ok(Json(app.stats.get(&caller, query.scope).await?))
}

pub async fn calls(
    app: App,
    caller: Caller,
    Query(query): Query<CallTotalsQuery>,
) -> ApiResult<Json<CallTotals>> {
    let range = query.range.unwrap_or(StatsRange::Hour);
    let totals = app.stats.get_calls(&caller, query.scope, range).await?;
    Ok(Json(totals))
}

pub async fn method(
    app: App,
    caller: Caller,
    PathId(name): PathId<String>,
    Query(query): Query<MethodStatsQuery>,
) -> ApiResult<Json<MethodStats>> {
    let range = query.range.unwrap_or(StatsRange::Hour);
    Ok(Json(app.method_stats.get(&caller, name, range).await?))
}

pub async fn sink(
    app: App,
    caller: Caller,
    PathId(id): PathId<SinkId>,
    Query(query): Query<MethodStatsQuery>,
) -> ApiResult<Json<SinkStats>> {
    let range = query.range.unwrap_or(StatsRange::Hour);
    Ok(Json(app.method_stats.get_sink(&caller, id, range).await?))
}

pub async fn activity(app: App, caller: Caller) -> ApiResult<Json<Activity>> {
    Ok(Json(app.method_stats.activity(&caller).await?))
}

pub async fn quotas(
    app: App,
    caller: Caller,
    Query(query): Query<CredentialQuery>,
) -> ApiResult<Json<QuotaUses>> {
    Ok(Json(app.stats.quotas(&caller, query.user).await?))
}

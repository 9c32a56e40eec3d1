//! `GET /api/stats` and `GET /api/methods/{name}/stats`.

use schemars::JsonSchema;
use serde::Deserialize;
use svc_core::method_stats::StatsRange;
use svc_protocol::api::{MethodStats, MethodStatsQuery, Stats};

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

pub async fn get(
    app: App,
    caller: Caller,
    Query(query): Query<StatsQuery>,
) -> ApiResult<Json<Stats>> {
    Ok(Json(app.stats.get(&caller, query.scope).await?))
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

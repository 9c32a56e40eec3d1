//! `GET /api/stats`, `GET /api/stats/calls`, `GET /api/stats/activity`, `GET /api/stats/quotas`, and
//! the statistics of one method and of one sink.

use schemars::JsonSchema;
use serde::Deserialize;
use svc_core::{SinkId, activity_stats::StatsRange};
use svc_protocol::api::{
    Activity, CallTotals, CredentialQuery, MethodStats, MethodStatsQuery, QuotaUses, SinkStats,
    Stats,
};

use super::handlers::handlers;
use crate::stats::Scope;

handlers! {
    get(app, caller, query: StatsQuery) -> Json<Stats> = app.stats.get(&caller, query.scope).await?;
    calls(app, caller, query: CallTotalsQuery) -> Json<CallTotals> =
        app.stats.get_calls(&caller, query.scope, query.range.unwrap_or(StatsRange::Hour)).await?;
    method(app, caller, id: String, query: MethodStatsQuery) -> Json<MethodStats> =
        app.method_stats.get(&caller, id, query.range.unwrap_or(StatsRange::Hour)).await?;
    sink(app, caller, id: SinkId, query: MethodStatsQuery) -> Json<SinkStats> =
        app.method_stats.get_sink(&caller, id, query.range.unwrap_or(StatsRange::Hour)).await?;
    activity(app, caller) -> Json<Activity> = app.method_stats.activity(&caller).await?;
    quotas(app, caller, query: CredentialQuery) -> Json<QuotaUses> =
        app.stats.quotas(&caller, query.user).await?;
}

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

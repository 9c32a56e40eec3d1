//! `GET /api/stats`.

use schemars::JsonSchema;
use serde::Deserialize;
use svc_protocol::api::Stats;

use super::{
    error::ApiResult,
    extract::{Json, Query},
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

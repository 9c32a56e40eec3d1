//! `GET /api/stats`.

use axum::extract::State;
use serde::Deserialize;
use svc_protocol::api::Stats;

use super::{
    error::ApiResult,
    extract::{Json, Query},
};
use crate::{app::App, identity::Caller, stats::Scope};

#[derive(Deserialize)]
pub struct Asked {
    #[serde(default)]
    scope: Scope,
}

pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<Asked>,
) -> ApiResult<Json<Stats>> {
    Ok(Json(app.stats.get(&caller, asked.scope).await?))
}

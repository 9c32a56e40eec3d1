//! `GET /api/servers`: the servers of the zone.

use axum::extract::State;
use svc_protocol::api::Servers;

use super::{error::ApiResult, extract::Json};
use crate::app::App;

pub async fn list(State(app): State<App>) -> ApiResult<Json<Servers>> {
    Ok(Json(Servers {
        servers: app.zone.list(&app.store, &app.links).await?,
    }))
}

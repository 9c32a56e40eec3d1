//! `GET /api/servers`: the servers of the zone.

use svc_protocol::api::Servers;

use super::{error::ApiResult, extract::Json};
use crate::app::App;

pub async fn list(app: App) -> ApiResult<Json<Servers>> {
    Ok(Json(Servers {
        servers: app.zone.list(&app.store, &app.links).await?,
    }))
}

//! `GET /api/servers`: the servers of the zone.

use svc_protocol::api::Servers;

use super::{error::ApiResult, extract::Json};
use crate::{app::App, identity::Caller};

pub async fn list(app: App, caller: Caller) -> ApiResult<Json<Servers>> {
    let listing = app.zone.list(caller.user.id, &app.store, &app.links);
    Ok(Json(Servers {
        servers: listing.await?,
    }))
}

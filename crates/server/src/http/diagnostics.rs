//! `GET /api/diagnostics`: the checks that this server makes of itself.

use svc_protocol::api::Diagnostics;

use super::extract::Json;
use crate::app::App;

pub async fn get(app: App) -> Json<Diagnostics> {
    Json(Diagnostics {
        server_id: app.server_id,
        svc_version: env!("CARGO_PKG_VERSION").to_owned(),
        time: svc_clock::now(),
        url: app.zone.url.to_string(),
        checks: app.self_check.run().await,
    })
}

//! `GET /api/servers`: the servers of the zone.

use svc_protocol::api::Servers;

use super::handlers::handlers;

handlers! {
    list(app, caller) -> Json<Servers> = Servers {
        servers: app.zone.list(caller.user.id, &app.store, &app.links).await?,
    };
}

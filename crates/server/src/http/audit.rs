//! `GET /api/audit`.

use svc_protocol::api::{Audit, AuditQuery};

use super::handlers::handlers;

handlers! {
    list(app, caller, query: AuditQuery, page) -> Json<Audit> =
        app.identity.list_audit(caller.user.id, query, page).await?;
}

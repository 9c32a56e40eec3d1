//! `GET /api/audit`.

use svc_protocol::api::{Audit, AuditQuery};
use svc_store::PageRequest;

use super::{
    error::ApiResult,
    extract::{Json, Query},
};
use crate::{app::App, identity::Caller};

pub async fn list(
    app: App,
    caller: Caller,
    Query(query): Query<AuditQuery>,
    page: PageRequest,
) -> ApiResult<Json<Audit>> {
    let listed = app.identity.list_audit(caller.user.id, query, page);
    Ok(Json(listed.await?))
}

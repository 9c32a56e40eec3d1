//! `GET /api/audit`.

use axum::extract::State;
use svc_protocol::api::{Audit, AuditQuery};
use svc_store::PageRequest;

use super::{
    error::ApiResult,
    extract::{Json, Query},
};
use crate::{app::App, identity::Caller};

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<AuditQuery>,
    page: PageRequest,
) -> ApiResult<Json<Audit>> {
    let listed = app.identity.list_audit(caller.user.id, query, page);
    Ok(Json(listed.await?))
}

//! `GET /api/audit`.

use axum::extract::State;
use serde::Deserialize;
use svc_core::Timestamp;
use svc_protocol::api::Audit;
use svc_store::{PageRequest, audit::Filter};

use super::{
    error::ApiResult,
    extract::{Json, Query},
};
use crate::{app::App, identity::Caller};

#[derive(Deserialize)]
pub struct Narrow {
    actor: Option<String>,
    action: Option<String>,
    target_type: Option<String>,
    target_id: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(narrow): Query<Narrow>,
    page: PageRequest,
) -> ApiResult<Json<Audit>> {
    let Narrow {
        actor,
        action,
        target_type,
        target_id,
        since,
        until,
    } = narrow;
    let filter = Filter {
        actor,
        action,
        target_type,
        target_id,
        since,
        until,
    };
    Ok(Json(
        app.identity
            .list_audit(caller.user.id, filter, page)
            .await?,
    ))
}

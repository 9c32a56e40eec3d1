//! `/api/roles` and `/api/permissions`.

use svc_core::{Permissions, RoleId};
use svc_protocol::api::{NewRole, PermissionList, Role, RolePatch, Roles};
use svc_store::PageRequest;

use super::{
    error::ApiResult,
    extract::{Created, Json, NoContent, PathId},
};
use crate::{app::App, identity::Caller};

pub async fn list(app: App, page: PageRequest) -> ApiResult<Json<Roles>> {
    Ok(Json(app.identity.list_roles(page).await?))
}

pub async fn create(
    app: App,
    caller: Caller,
    Json(new): Json<NewRole>,
) -> ApiResult<Created<Role>> {
    Ok(Created(app.identity.create_role(&caller, new).await?))
}

pub async fn get(app: App, PathId(id): PathId<RoleId>) -> ApiResult<Json<Role>> {
    Ok(Json(app.identity.get_role(id).await?))
}

pub async fn patch(
    app: App,
    caller: Caller,
    PathId(id): PathId<RoleId>,
    Json(patch): Json<RolePatch>,
) -> ApiResult<Json<Role>> {
    Ok(Json(app.identity.update_role(&caller, id, patch).await?))
}

pub async fn delete(app: App, caller: Caller, PathId(id): PathId<RoleId>) -> ApiResult<NoContent> {
    app.identity.delete_role(&caller, id).await?;
    Ok(NoContent)
}

pub async fn permissions() -> Json<PermissionList> {
    Json(PermissionList {
        permissions: Permissions::all(),
        next_cursor: None,
    })
}

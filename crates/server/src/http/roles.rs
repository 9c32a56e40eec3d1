//! `/api/roles` and `/api/permissions`.

use svc_core::{Permissions, RoleId};
use svc_protocol::api::{NewRole, PermissionList, Role, RolePatch, Roles};

use super::{extract::Json, handlers::handlers};

handlers! {
    list(app, page) -> Json<Roles> = app.identity.list_roles(page).await?;
    create(app, caller, body: NewRole) -> Created<Role> = app.identity.create_role(&caller, body).await?;
    get(app, id: RoleId) -> Json<Role> = app.identity.get_role(id).await?;
    patch(app, caller, id: RoleId, body: RolePatch) -> Json<Role> =
        app.identity.update_role(&caller, id, body).await?;
    delete(app, caller, id: RoleId) -> NoContent = app.identity.delete_role(&caller, id).await?;
}

pub async fn permissions() -> Json<PermissionList> {
    Json(PermissionList {
        permissions: Permissions::all(),
        next_cursor: None,
    })
}

//! `/api/groups`.

use svc_core::GroupId;
use svc_protocol::api::{Group, GroupBody, GroupMethods, GroupPatch, Groups};

use super::handlers::handlers;

handlers! {
    list(app, page) -> Json<Groups> = app.identity.list_groups(page).await?;
    create(app, caller, body: GroupBody) -> Created<Group> = app.identity.create_group(&caller, body).await?;
    get(app, id: GroupId) -> Json<Group> = app.identity.get_group(id).await?;
    delete(app, caller, id: GroupId) -> NoContent = app.identity.delete_group(&caller, id).await?;
    methods(app, caller, id: GroupId) -> Json<GroupMethods> = {
        let script_sinks = app.identity.count_script_sinks(caller.user.id, id).await?;
        let methods = app.discovery.list_limited_to(id, &caller).await?;
        GroupMethods { script_sinks, ..methods }
    };
    patch(app, caller, id: GroupId, body: GroupPatch) -> Json<Group> = match body.name {
        Some(name) => app.identity.rename_group(&caller, id, GroupBody { name }).await?,
        None => app.identity.get_group(id).await?,
    };
}

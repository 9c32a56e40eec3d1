//! `/api/groups`.

use svc_core::GroupId;
use svc_protocol::api::{Group, GroupBody, GroupMethods, GroupPatch, Groups};
use svc_store::PageRequest;

use super::{
    error::ApiResult,
    extract::{Created, Json, NoContent, PathId},
};
use crate::{app::App, identity::Caller};

pub async fn list(app: App, page: PageRequest) -> ApiResult<Json<Groups>> {
    Ok(Json(app.identity.list_groups(page).await?))
}

pub async fn create(
    app: App,
    caller: Caller,
    Json(body): Json<GroupBody>,
) -> ApiResult<Created<Group>> {
    Ok(Created(app.identity.create_group(&caller, body).await?))
}

pub async fn get(app: App, PathId(id): PathId<GroupId>) -> ApiResult<Json<Group>> {
    Ok(Json(app.identity.get_group(id).await?))
}

pub async fn methods(
    app: App,
    caller: Caller,
    PathId(id): PathId<GroupId>,
) -> ApiResult<Json<GroupMethods>> {
    let script_sinks = app.identity.count_script_sinks(caller.user.id, id).await?;
    let methods = app.discovery.list_limited_to(id, &caller).await?;
    Ok(Json(GroupMethods {
        script_sinks,
        ..methods
    }))
}

pub async fn patch(
    app: App,
    caller: Caller,
    PathId(id): PathId<GroupId>,
    Json(GroupPatch { name }): Json<GroupPatch>,
) -> ApiResult<Json<Group>> {
    Ok(Json(match name {
        Some(name) => {
            app.identity
                .rename_group(&caller, id, GroupBody { name })
                .await?
        }
        None => app.identity.get_group(id).await?,
    }))
}

pub async fn delete(app: App, caller: Caller, PathId(id): PathId<GroupId>) -> ApiResult<NoContent> {
    app.identity.delete_group(&caller, id).await?;
    Ok(NoContent)
}

//! `/api/users`.

use svc_core::UserId;
use svc_pool::Cancelled;
use svc_protocol::api::{NewUser, User, UserAccess, UserPatch, Users};
use svc_store::PageRequest;

use super::{
    error::ApiResult,
    extract::{Created, Json, NoContent, PathId},
};
use crate::{app::App, identity::Caller, methods::discovery::Discovery};

pub async fn list(app: App, caller: Caller, page: PageRequest) -> ApiResult<Json<Users>> {
    let listing = app.identity.list_users(caller.user.id, page);
    Ok(Json(listing.await?))
}

pub async fn create(
    app: App,
    caller: Caller,
    Json(new): Json<NewUser>,
) -> ApiResult<Created<User>> {
    Ok(Created(app.identity.create_user(&caller, new).await?))
}

pub async fn get(app: App, PathId(id): PathId<UserId>) -> ApiResult<Json<User>> {
    Ok(Json(app.identity.get_user(id).await?))
}

pub async fn access(
    app: App,
    caller: Caller,
    PathId(id): PathId<UserId>,
) -> ApiResult<Json<UserAccess>> {
    let (user, permissions) = app.identity.access(id).await?;
    let (viewer, requester) = (user.clone(), caller.clone());
    let list =
        move |discovery: &Discovery, _: &Cancelled| discovery.shared_with(&viewer, &requester);
    let (methods, own_methods) = app
        .discovery
        .run_by_size(caller.user.id, &user, false, list)
        .await?;
    Ok(Json(UserAccess {
        user_id: user.id,
        username: user.name.clone(),
        active: user.active,
        roles: user.role_names.clone(),
        groups: user.group_names.clone(),
        permissions,
        methods,
        own_methods,
    }))
}

pub async fn patch(
    app: App,
    caller: Caller,
    PathId(id): PathId<UserId>,
    Json(patch): Json<UserPatch>,
) -> ApiResult<Json<User>> {
    Ok(Json(app.identity.update_user(&caller, id, patch).await?))
}

pub async fn delete(app: App, caller: Caller, PathId(id): PathId<UserId>) -> ApiResult<NoContent> {
    app.identity.delete_user(&caller, id).await?;
    Ok(NoContent)
}

//! `/api/users`.

use svc_core::UserId;
use svc_pool::Cancelled;
use svc_protocol::api::{NewUser, User, UserAccess, UserPatch, Users};

use super::handlers::handlers;
use crate::methods::discovery::Discovery;

handlers! {
    list(app, caller, page) -> Json<Users> = app.identity.list_users(caller.user.id, page).await?;
    create(app, caller, body: NewUser) -> Created<User> = app.identity.create_user(&caller, body).await?;
    get(app, id: UserId) -> Json<User> = app.identity.get_user(id).await?;
    access(app, caller, id: UserId) -> Json<UserAccess> = {
        let (user, permissions) = app.identity.access(id).await?;
        let (viewer, requester) = (user.clone(), caller.clone());
        let list =
            move |discovery: &Discovery, _: &Cancelled| discovery.shared_with(&viewer, &requester);
        let listing = app.discovery.run_by_size(caller.user.id, &user, false, list);
        let (methods, own_methods) = listing.await?;
        UserAccess {
            user_id: user.id,
            username: user.name.clone(),
            active: user.active,
            roles: user.role_names.clone(),
            groups: user.group_names.clone(),
            permissions,
            methods,
            own_methods,
        }
    };
    patch(app, caller, id: UserId, body: UserPatch) -> Json<User> =
        app.identity.update_user(&caller, id, body).await?;
    delete(app, caller, id: UserId) -> NoContent = app.identity.delete_user(&caller, id).await?;
}

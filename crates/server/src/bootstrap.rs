//! Creates the records that `svc up` needs on a running server: an administrator, a token and a
//! space.

use std::sync::Arc;

use svc_core::{SpaceId, permission::ROLE_ADMIN, space::Runtime};
use svc_protocol::api::NewSpace;
use svc_store::StoreError;
use thiserror::Error;

use crate::{
    app::App,
    identity::{Caller, User},
    records::RecordError,
};

/// The user that `svc up` acts as.
pub const USER: &str = "admin";
/// The name of the token that each start of `svc up` renews.
const TOKEN_NAME: &str = "svc up";

pub use crate::identity::SIGN_IN_LINK_LIFETIME;

pub struct UpRequest {
    /// The password of the administrator that is created if the server has no users.
    pub admin_password: String,
    pub space_name: String,
}

pub struct UpState {
    pub token: String,
    pub username: String,
    pub space_id: SpaceId,
    /// The working folder of the space's agent. The agent registers the file `methods.toml` of this
    /// folder.
    pub space_folder: std::path::PathBuf,
}

#[derive(Debug, Error)]
pub enum UpError {
    #[error("the user `{USER}` is missing or deactivated; use another data folder with --data-dir")]
    NoAdmin,
    #[error("the user `{0}` does not exist, is deactivated or is not an administrator")]
    NotAdmin(String),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Creates the administrator if the server has no users, and the space if it is missing. Renews the
/// token and starts the space. `prepare` writes files into the space's folder before the agent
/// starts.
pub async fn up(
    app: &App,
    request: UpRequest,
    prepare: impl FnOnce(&std::path::Path) -> std::io::Result<()>,
) -> Result<UpState, UpError> {
    app.identity.ensure_admin(request.admin_password).await?;
    let caller = Caller::process(find_admin(app)?);
    let token = app.identity.renew_token(&caller, TOKEN_NAME).await?;
    let space_id = find_or_create_space(app, &caller, &request.space_name).await?;
    let space_folder = app.local.folder_of(space_id);
    prepare(&space_folder).map_err(|error| {
        RecordError::new(
            "invalid",
            format!("cannot write into `{}`: {error}", space_folder.display()),
        )
    })?;
    app.spaces.start(&caller, space_id).await?;
    Ok(UpState {
        token: token.token.unwrap_or_default(),
        username: USER.to_owned(),
        space_id,
        space_folder,
    })
}

/// A link that signs the administrator in once, from a browser on this machine. The token is in the
/// fragment of the URL. Browsers do not send the fragment, so the token is in no access log and in
/// no `Referer` header.
pub async fn sign_in_link(app: &App, url: &str) -> Result<String, UpError> {
    link_for(app, url, &*find_admin(app)?).await
}

/// [`sign_in_link`] for any administrator, for use when passwords and providers do not work.
pub async fn sign_in_link_of(app: &App, url: &str, name: &str) -> Result<String, UpError> {
    let user = app.directory.find_user_by_name(name);
    let user = user.filter(|user| user.active && user.has_role(ROLE_ADMIN));
    let user = user.ok_or_else(|| UpError::NotAdmin(name.to_owned()))?;
    link_for(app, url, &user).await
}

async fn link_for(app: &App, url: &str, user: &User) -> Result<String, UpError> {
    let token = app.identity.sign_in_token(user.id).await?;
    Ok(format!("{url}/sign-in#{token}"))
}

fn find_admin(app: &App) -> Result<Arc<User>, UpError> {
    app.directory
        .find_user_by_name(USER)
        .filter(|user| user.active)
        .ok_or(UpError::NoAdmin)
}

async fn find_or_create_space(app: &App, caller: &Caller, name: &str) -> Result<SpaceId, UpError> {
    let (owner, wanted) = (caller.user.id, name.to_owned());
    let found = app
        .store
        .read(move |tx| svc_store::spaces::find_by_name(tx, owner, &wanted))
        .await?;
    if let Some(row) = found {
        return Ok(row.id);
    }
    let new = NewSpace {
        name: name.to_owned(),
        runtime: Some(Runtime::Local),
        ..NewSpace::default()
    };
    Ok(app.spaces.create(caller, new).await?.id)
}

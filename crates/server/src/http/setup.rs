//! `POST /api/auth/setup`: creates the first administrator, from the page of the one-time setup
//! link.

use svc_protocol::api::{Setup, User};

use super::{
    error::ApiResult,
    extract::{Created, Json},
};
use crate::app::App;

pub async fn complete(app: App, Json(setup): Json<Setup>) -> ApiResult<Created<User>> {
    Ok(Created(app.identity.set_up(setup).await?))
}

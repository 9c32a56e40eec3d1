//! `POST /api/auth/setup`: creates the first administrator, from the page of the one-time setup
//! link.

use svc_protocol::api::{Setup, User};

use super::handlers::handlers;

handlers! {
    complete(app, body: Setup) -> Created<User> = app.identity.set_up(body).await?;
}

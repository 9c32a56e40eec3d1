//! `/api/auth`: login, logout, and a user's own password and sessions.

use axum::extract::Extension;
use svc_core::SessionId;
use svc_protocol::api::{
    self, AuthState, ChangePassword, CredentialQuery, Login, LoginResult, Me, SecondFactorLogin,
    Sessions, SignIn,
};

use super::{
    client::Client,
    cookies::remove_sessions,
    error::ApiResult,
    extract::{Json, NoContent, WithCookies},
    handlers::handlers,
};
use crate::{app::App, identity::Caller, second_factors::LoginOutcome};

handlers! {
    // The second step of a login.
    complete_login(app, client, body: SecondFactorLogin) -> WithCookies<Json<api::User>> = {
        let session = app.second_factors.complete(body, client.details()).await?;
        client.logged_in(&app, &session)
    };
    // Opens a session with a sign-in link.
    sign_in(app, client, body: SignIn) -> WithCookies<Json<api::User>> = {
        let session = app.identity.sign_in(&body.token, client.details()).await?;
        client.logged_in(&app, &session)
    };
    change_password(app, client, caller, body: ChangePassword) -> NoContent =
        app.identity.change_password(&caller, body, client.address).await?;
    list(app, caller, query: CredentialQuery, page) -> Json<Sessions> =
        app.identity.list_sessions(&caller, query.user, page).await?;
    delete(app, caller, id: SessionId) -> NoContent = app.identity.delete_session(&caller, id).await?;
    delete_others(app, caller) -> NoContent = app.identity.delete_other_sessions(&caller).await?;
}

pub async fn login(
    app: App,
    client: Client,
    Json(login): Json<Login>,
) -> ApiResult<WithCookies<Json<LoginResult>>> {
    let outcome = app.second_factors.log_in(login, client.details()).await?;
    Ok(match outcome {
        LoginOutcome::Session(session) => {
            let WithCookies { cookies, answer } = client.logged_in(&app, &session);
            WithCookies {
                cookies,
                answer: Json(LoginResult::SignedIn(Box::new(answer.0))),
            }
        }
        LoginOutcome::Pending(second_factor) => WithCookies {
            cookies: Vec::new(),
            answer: Json(LoginResult::Pending { second_factor }),
        },
    })
}

pub async fn logout(app: App, caller: Caller) -> ApiResult<WithCookies<NoContent>> {
    app.identity.log_out(&caller).await?;
    Ok(WithCookies {
        cookies: remove_sessions(),
        answer: NoContent,
    })
}

/// The first request of the web interface, which asks whether its user is signed in. So a missing
/// credential is not an error.
pub async fn state(app: App, caller: Option<Extension<Caller>>) -> Json<AuthState> {
    let caller = caller.map(|Extension(caller)| caller);
    Json(AuthState {
        setup_needed: app.directory.is_empty(),
        local_spaces: caller
            .as_ref()
            .is_some_and(|caller| app.spaces.may_run_local(caller)),
        me: caller.map(|caller| caller.me(&app.quotas)),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

pub async fn me(app: App, caller: Caller) -> Json<Me> {
    Json(caller.me(&app.quotas))
}

//! `/api/oauth`: users answer apps and devices, and disconnect apps; administrators manage apps.

use svc_core::{ConsentId, GrantId, OAuthClientId};
use svc_protocol::api::{
    self, AppPatch, Apps, Consent, CredentialQuery, Decision, DecisionResult, DeviceLogin, Grants,
    NewApp,
};

use crate::http::handlers::handlers;

handlers! {
    find_consent(app, caller, id: ConsentId) -> Json<Consent> = app.oauth.find_consent(&caller, id).await?;
    decide(app, caller, id: ConsentId, body: Decision) -> Json<DecisionResult> = DecisionResult {
        redirect_to: app.oauth.decide(&caller, id, body.approve).await?,
    };
    find_device(app, caller, segment) -> Json<DeviceLogin> = app.oauth.find_device(&caller, &segment).await?;
    decide_device(app, caller, segment, body: Decision) -> NoContent =
        app.oauth.decide_device(&caller, &segment, body.approve).await?;
    list_grants(app, caller, query: CredentialQuery, page) -> Json<Grants> =
        app.oauth.list_grants(&caller, query.user, page).await?;
    delete_grant(app, caller, id: GrantId) -> NoContent = app.oauth.delete_grant(&caller, id).await?;
    list_clients(app, caller, page) -> Json<Apps> = app.oauth.list_clients(caller.user.id, page).await?;
    create_client(app, caller, body: NewApp) -> Created<api::App> =
        app.oauth.create_client(&caller, body).await?;
    get_client(app, caller, id: OAuthClientId) -> Json<api::App> =
        app.oauth.get_client(caller.user.id, id).await?;
    patch_client(app, caller, id: OAuthClientId, body: AppPatch) -> Json<api::App> =
        app.oauth.patch_client(&caller, id, body).await?;
    delete_client(app, caller, id: OAuthClientId) -> NoContent = app.oauth.delete_client(&caller, id).await?;
}

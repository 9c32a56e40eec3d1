//! `/api/oauth`: users answer apps and devices, and disconnect apps; administrators manage apps.

use axum::extract::Path;
use svc_core::{ConsentId, GrantId, OAuthClientId};
use svc_protocol::api::{
    self, AppPatch, Apps, Consent, CredentialQuery, Decision, DecisionResult, DeviceLogin, Grants,
    NewApp,
};
use svc_store::PageRequest;

use crate::{
    app::App,
    http::{
        error::ApiResult,
        extract::{Created, Json, NoContent, PathId, Query},
    },
    identity::Caller,
};

pub async fn find_consent(
    app: App,
    caller: Caller,
    PathId(id): PathId<ConsentId>,
) -> ApiResult<Json<Consent>> {
    Ok(Json(app.oauth.find_consent(&caller, id).await?))
}

pub async fn decide(
    app: App,
    caller: Caller,
    PathId(id): PathId<ConsentId>,
    Json(decision): Json<Decision>,
) -> ApiResult<Json<DecisionResult>> {
    let redirect_to = app.oauth.decide(&caller, id, decision.approve).await?;
    Ok(Json(DecisionResult { redirect_to }))
}

pub async fn find_device(
    app: App,
    caller: Caller,
    Path(code): Path<String>,
) -> ApiResult<Json<DeviceLogin>> {
    Ok(Json(app.oauth.find_device(&caller, &code).await?))
}

pub async fn decide_device(
    app: App,
    caller: Caller,
    Path(code): Path<String>,
    Json(decision): Json<Decision>,
) -> ApiResult<NoContent> {
    app.oauth
        .decide_device(&caller, &code, decision.approve)
        .await?;
    Ok(NoContent)
}

pub async fn list_grants(
    app: App,
    caller: Caller,
    Query(query): Query<CredentialQuery>,
    page: PageRequest,
) -> ApiResult<Json<Grants>> {
    let listing = app.oauth.list_grants(&caller, query.user, page);
    Ok(Json(listing.await?))
}

pub async fn delete_grant(
    app: App,
    caller: Caller,
    PathId(id): PathId<GrantId>,
) -> ApiResult<NoContent> {
    app.oauth.delete_grant(&caller, id).await?;
    Ok(NoContent)
}

pub async fn list_clients(app: App, caller: Caller, page: PageRequest) -> ApiResult<Json<Apps>> {
    let listing = app.oauth.list_clients(caller.user.id, page);
    Ok(Json(listing.await?))
}

pub async fn create_client(
    app: App,
    caller: Caller,
    Json(new): Json<NewApp>,
) -> ApiResult<Created<api::App>> {
    Ok(Created(app.oauth.create_client(&caller, new).await?))
}

pub async fn get_client(
    app: App,
    caller: Caller,
    PathId(id): PathId<OAuthClientId>,
) -> ApiResult<Json<api::App>> {
    Ok(Json(app.oauth.get_client(caller.user.id, id).await?))
}

pub async fn patch_client(
    app: App,
    caller: Caller,
    PathId(id): PathId<OAuthClientId>,
    Json(patch): Json<AppPatch>,
) -> ApiResult<Json<api::App>> {
    Ok(Json(app.oauth.patch_client(&caller, id, patch).await?))
}

pub async fn delete_client(
    app: App,
    caller: Caller,
    PathId(id): PathId<OAuthClientId>,
) -> ApiResult<NoContent> {
    app.oauth.delete_client(&caller, id).await?;
    Ok(NoContent)
}

//! `/api/auth/second-factor`, `/api/auth/totp` and `/api/auth/recovery-codes`: a user's own second
//! factors. The reset by an administrator is at `/api/users`.

use axum::extract::Extension;
use http::HeaderMap;
use svc_core::UserId;
use svc_protocol::api::{PasswordProof, RecoveryCodes, SecondFactors, TotpCode, TotpEnrolment};

use super::{
    error::ApiResult,
    extract::{Json, NoContent, PathId},
    listen::{Peer, client_address},
};
use crate::{app::App, identity::Caller};

pub async fn get(app: App, caller: Caller) -> ApiResult<Json<SecondFactors>> {
    Ok(Json(app.second_factors.find(&caller).await?))
}

pub async fn begin_totp(
    app: App,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    caller: Caller,
    Json(proof): Json<PasswordProof>,
) -> ApiResult<Json<TotpEnrolment>> {
    let address = client_address(peer, &headers, &app.trusted_proxies);
    let beginning = app.second_factors.begin_totp(&caller, proof, address);
    Ok(Json(beginning.await?))
}

pub async fn confirm_totp(
    app: App,
    caller: Caller,
    Json(code): Json<TotpCode>,
) -> ApiResult<Json<RecoveryCodes>> {
    Ok(Json(app.second_factors.confirm_totp(&caller, code).await?))
}

pub async fn remove_totp(
    app: App,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    caller: Caller,
    Json(proof): Json<PasswordProof>,
) -> ApiResult<NoContent> {
    let address = client_address(peer, &headers, &app.trusted_proxies);
    app.second_factors
        .remove_totp(&caller, proof, address)
        .await?;
    Ok(NoContent)
}

pub async fn renew_recovery_codes(
    app: App,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    caller: Caller,
    Json(proof): Json<PasswordProof>,
) -> ApiResult<Json<RecoveryCodes>> {
    let address = client_address(peer, &headers, &app.trusted_proxies);
    let renewing = app
        .second_factors
        .renew_recovery_codes(&caller, proof, address);
    Ok(Json(renewing.await?))
}

pub async fn reset(app: App, caller: Caller, PathId(id): PathId<UserId>) -> ApiResult<NoContent> {
    app.second_factors.reset(&caller, id).await?;
    Ok(NoContent)
}

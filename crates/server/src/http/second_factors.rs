//! `/api/auth/second-factor`, `/api/auth/totp` and `/api/auth/recovery-codes`: a user's own second
//! factors. The reset by an administrator is at `/api/users`.

use svc_core::UserId;
use svc_protocol::api::{PasswordProof, RecoveryCodes, SecondFactors, TotpCode, TotpEnrolment};

use super::{
    client::Client,
    error::ApiResult,
    extract::{Json, NoContent, PathId},
};
use crate::{app::App, identity::Caller};

pub async fn get(app: App, caller: Caller) -> ApiResult<Json<SecondFactors>> {
    Ok(Json(app.second_factors.find(&caller).await?))
}

pub async fn begin_totp(
    app: App,
    client: Client,
    caller: Caller,
    Json(proof): Json<PasswordProof>,
) -> ApiResult<Json<TotpEnrolment>> {
    let beginning = app
        .second_factors
        .begin_totp(&caller, proof, client.address);
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
    client: Client,
    caller: Caller,
    Json(proof): Json<PasswordProof>,
) -> ApiResult<NoContent> {
    app.second_factors
        .remove_totp(&caller, proof, client.address)
        .await?;
    Ok(NoContent)
}

pub async fn renew_recovery_codes(
    app: App,
    client: Client,
    caller: Caller,
    Json(proof): Json<PasswordProof>,
) -> ApiResult<Json<RecoveryCodes>> {
    let renewing = app
        .second_factors
        .renew_recovery_codes(&caller, proof, client.address);
    Ok(Json(renewing.await?))
}

pub async fn reset(app: App, caller: Caller, PathId(id): PathId<UserId>) -> ApiResult<NoContent> {
    app.second_factors.reset(&caller, id).await?;
    Ok(NoContent)
}

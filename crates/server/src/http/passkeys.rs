//! `/api/auth/passkeys`: logins with passkeys, and a user's own passkeys.

use svc_core::PasskeyId;
use svc_protocol::api::{
    self, CreatedPasskey, NewPasskey, Passkey, PasskeyChallenge, PasskeyCreation, PasskeyLogin,
    PasskeyPatch, PasskeyRequest, PasswordProof,
};

use super::{
    client::Client,
    error::ApiResult,
    extract::{Created, Json, NoContent, PathId, WithCookies},
};
use crate::{app::App, identity::Caller};

pub async fn challenge(
    app: App,
    client: Client,
    Json(asked): Json<PasskeyChallenge>,
) -> ApiResult<Json<PasskeyRequest>> {
    let asking = app
        .second_factors
        .challenge_passkey(asked, client.address, client.origin);
    Ok(Json(asking.await?))
}

pub async fn login(
    app: App,
    client: Client,
    Json(login): Json<PasskeyLogin>,
) -> ApiResult<WithCookies<Json<api::User>>> {
    let (details, origin) = (client.details(), client.origin.clone());
    let opening = app
        .second_factors
        .log_in_with_passkey(login, details, origin);
    Ok(client.logged_in(&app, &opening.await?))
}

pub async fn begin(
    app: App,
    client: Client,
    caller: Caller,
    Json(proof): Json<PasswordProof>,
) -> ApiResult<Json<PasskeyCreation>> {
    let beginning = app
        .second_factors
        .begin_passkey(&caller, proof, client.address, client.origin);
    Ok(Json(beginning.await?))
}

pub async fn create(
    app: App,
    client: Client,
    caller: Caller,
    Json(new): Json<NewPasskey>,
) -> ApiResult<Created<CreatedPasskey>> {
    let adding = app.second_factors.add_passkey(&caller, new, client.origin);
    Ok(Created(adding.await?))
}

pub async fn patch(
    app: App,
    caller: Caller,
    PathId(id): PathId<PasskeyId>,
    Json(patch): Json<PasskeyPatch>,
) -> ApiResult<Json<Passkey>> {
    let renaming = app.second_factors.rename_passkey(&caller, id, patch);
    Ok(Json(renaming.await?))
}

pub async fn remove(
    app: App,
    client: Client,
    caller: Caller,
    PathId(id): PathId<PasskeyId>,
    Json(proof): Json<PasswordProof>,
) -> ApiResult<NoContent> {
    app.second_factors
        .remove_passkey(&caller, id, proof, client.address)
        .await?;
    Ok(NoContent)
}

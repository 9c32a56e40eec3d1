//! `/api/auth/passkeys`: logins with passkeys, and a user's own passkeys.

use axum::extract::Extension;
use http::HeaderMap;
use svc_core::PasskeyId;
use svc_protocol::api::{
    self, CreatedPasskey, NewPasskey, Passkey, PasskeyChallenge, PasskeyCreation, PasskeyLogin,
    PasskeyPatch, PasskeyRequest, PasswordProof,
};

use super::{
    error::ApiResult,
    extract::{Created, Json, NoContent, PathId, WithCookies},
    listen::{Peer, client_address},
    oauth::own_origin,
    sessions::{client_details, logged_in},
};
use crate::{app::App, identity::Caller};

pub async fn challenge(
    app: App,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Json(asked): Json<PasskeyChallenge>,
) -> ApiResult<Json<PasskeyRequest>> {
    let address = client_address(peer, &headers, &app.trusted_proxies);
    let origin = own_origin(&app, Some(peer), &headers);
    let asking = app.second_factors.challenge_passkey(asked, address, origin);
    Ok(Json(asking.await?))
}

pub async fn login(
    app: App,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Json(login): Json<PasskeyLogin>,
) -> ApiResult<WithCookies<Json<api::User>>> {
    let client = client_details(&app, peer, &headers);
    let origin = own_origin(&app, Some(peer), &headers);
    let opening = app
        .second_factors
        .log_in_with_passkey(login, client, origin);
    Ok(logged_in(&app, peer, &headers, &opening.await?))
}

pub async fn begin(
    app: App,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    caller: Caller,
    Json(proof): Json<PasswordProof>,
) -> ApiResult<Json<PasskeyCreation>> {
    let address = client_address(peer, &headers, &app.trusted_proxies);
    let origin = own_origin(&app, Some(peer), &headers);
    let beginning = app
        .second_factors
        .begin_passkey(&caller, proof, address, origin);
    Ok(Json(beginning.await?))
}

pub async fn create(
    app: App,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    caller: Caller,
    Json(new): Json<NewPasskey>,
) -> ApiResult<Created<CreatedPasskey>> {
    let origin = own_origin(&app, Some(peer), &headers);
    let adding = app.second_factors.add_passkey(&caller, new, origin);
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
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    caller: Caller,
    PathId(id): PathId<PasskeyId>,
    Json(proof): Json<PasswordProof>,
) -> ApiResult<NoContent> {
    let address = client_address(peer, &headers, &app.trusted_proxies);
    app.second_factors
        .remove_passkey(&caller, id, proof, address)
        .await?;
    Ok(NoContent)
}

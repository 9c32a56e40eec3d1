//! `/api/sources`, and `/in`, to which other services send requests.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Extension, OriginalUri, Path, Request, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::header;
use serde_json::json;
use svc_core::{SourceId, source::request::BODY_BYTES_MAX};
use svc_protocol::api::{
    NewSource, RepeatedDelivery, RotateSource, Source, SourcePatch, SourceRequests, SourceRotation,
    SourceTest, SourceTestResult, Sources,
};

use super::{
    client::Client,
    error::ApiError,
    extract::{Accepted, Json, read_body},
    handlers::handlers,
    listen::{Peer, client_address},
    operations::path_not_found,
};
use crate::{
    app::App,
    identity::hash_secret,
    limits::Account,
    sources::{Inbound, ReceiveError, Received},
    tables::KnownSource,
};

handlers! {
    list(app, caller, page) -> Json<Sources> = app.sources.list(&caller, page).await?.into_list();
    create(app, caller, client, body: NewSource) -> Created<Source> = {
        let mut created = app.sources.create(&caller, body).await?;
        created.source.url = Some(inbound_url(&app, &client, &created.token));
        created.source
    };
    get(app, caller, id: SourceId) -> Json<Source> = app.sources.get(&caller, id).await?;
    patch(app, caller, id: SourceId, body: SourcePatch) -> Json<Source> =
        app.sources.patch(&caller, id, body).await?;
    delete(app, caller, id: SourceId) -> NoContent = app.sources.delete(&caller, id).await?;
    rotate(app, caller, id: SourceId, client, body: RotateSource) -> Json<SourceRotation> = {
        let mut rotation = app.sources.rotate(&caller, id, body).await?;
        rotation.url = rotation.url.map(|token| inbound_url(&app, &client, &token));
        rotation
    };
    requests(app, caller, id: SourceId) -> Json<SourceRequests> = app.sources.requests(&caller, id).await?;
    test(app, id: SourceId, request: SourceTest) -> Json<SourceTestResult> =
        app.sources.test(&request.caller, id, request.body).await?;
}

/// The path of inbound requests.
pub const INBOUND_PATH: &str = "/in/{token}";
/// Time for the body of an inbound request to arrive.
const BODY_TIME_MAX: Duration = Duration::from_secs(10);

/// An inbound request. Needs no credential: the path contains a secret, and the source verifies the
/// request.
pub async fn receive(
    app: App,
    Extension(peer): Extension<Peer>,
    OriginalUri(uri): OriginalUri,
    token: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let unknown = || path_not_found(&uri).into_response();
    // A path that is not UTF-8 contains no token of a source.
    let Ok(Path(token)) = token else {
        return unknown();
    };
    let Some(source) = find(&app, &token).await else {
        return unknown();
    };
    match handle(&app, &source, peer, request).await {
        Ok(Received::Event(event) | Received::Repeated(event)) => Accepted(event).into_response(),
        Ok(Received::SameBody(event)) => Json(RepeatedDelivery {
            event,
            repeated: true,
        })
        .into_response(),
        Ok(Received::Challenge(challenge)) => {
            Json(json!({ "challenge": challenge })).into_response()
        }
        Err(ReceiveError::Inactive) => unknown(),
        Err(error) => ApiError::from(error).into_response(),
    }
}

/// Finds the source of a token. If the token is unknown, a server of a zone first applies the
/// changes of the other servers: one of them may just have created the source.
async fn find(app: &App, token: &str) -> Option<Arc<KnownSource>> {
    let hash = hash_secret(token);
    let find = || {
        let found = app.sources.table.find(&hash)?;
        // A source whose owner is not active counts as unknown.
        let owner = app.directory.find_user(found.owner());
        owner.is_some_and(|owner| owner.active).then_some(found)
    };
    if let Some(found) = find() {
        return Some(found);
    }
    if !app.store.is_shared() || !is_source_token(token) {
        return None;
    }
    app.catch_up.now().await;
    find()
}

fn is_source_token(token: &str) -> bool {
    use svc_core::credential::CredentialKind;
    CredentialKind::recognise(token) == Some(CredentialKind::SourceUrl)
}

async fn handle(
    app: &App,
    source: &Arc<KnownSource>,
    peer: Peer,
    request: Request,
) -> Result<Received, ReceiveError> {
    let (parts, body) = request.into_parts();
    let address = client_address(peer, &parts.headers, &app.trusted_proxies);
    app.sources.admit(source, address)?;
    // The memory is counted for the owner, so that bodies for this URL do not delay the bodies of
    // other users.
    let account = Account::User(source.owner());
    let read = read_body(body, BODY_BYTES_MAX, BODY_TIME_MAX, (&app.bodies, account)).await;
    let body = read.map_err(|error| {
        let error = ReceiveError::Body {
            status: error.status(),
            detail: error.detail().to_owned(),
        };
        app.sources.note_unreadable(source, address, &error);
        error
    })?;
    let body = body.into_bytes_of(&parts.extensions);
    let inbound = Inbound {
        address,
        headers: parts.headers,
        body,
    };
    app.sources.receive(source, inbound).await
}

/// The URL of a source: with the public address of the server, or else with the address that the
/// caller used.
fn inbound_url(app: &App, client: &Client, token: &str) -> String {
    let origin = app.public_origin.clone().unwrap_or_else(|| {
        let host = client.headers.get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok());
        let scheme = match client.is_secure {
            true => "https",
            false => "http",
        };
        format!("{scheme}://{}", host.unwrap_or("localhost"))
    });
    format!("{origin}/in/{token}")
}

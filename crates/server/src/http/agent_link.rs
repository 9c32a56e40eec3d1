//! `GET /agent/link`: upgrades a connection to an agent's link.

use std::sync::Arc;

use axum::{
    Extension,
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};
use svc_core::SpaceId;
use svc_link::{SUBPROTOCOL, UpgradeError};
use tracing::debug;

use super::{
    connections::Slot,
    describe::{Answer, Operation},
    error::{ApiError, ApiResult},
    failures,
};
use crate::{
    app::App,
    identity::{Caller, Credential},
    links::Links,
};

/// `caller` is `None` if the user of the agent token is deactivated. Then the connection is
/// upgraded, and the link is refused with this reason, so that the agent retries.
pub async fn upgrade(
    app: App,
    caller: Option<Extension<Caller>>,
    mut request: Request,
) -> ApiResult<Upgrade> {
    let agent = caller
        .map(|Extension(caller)| agent_of(caller))
        .transpose()?;
    if app.shutdown.is_cancelled() {
        return Err(ApiError::new(failures::DRAINING, "the server is stopping"));
    }
    let accept = check_handshake(request.headers())?;
    if agent.is_some()
        && let Some(slot) = request.extensions().get::<Arc<Slot>>()
    {
        slot.note_link();
    }
    let upgrading = hyper::upgrade::on(&mut request);
    let links = app.links.clone();
    app.links.tasks.spawn(async move {
        let upgraded = match upgrading.await {
            Ok(upgraded) => upgraded,
            Err(error) => return debug!("link not opened: {error}"),
        };
        match agent {
            Some((caller, space)) => links.serve(upgraded, caller, space).await,
            // Boxed, so that this rare case does not enlarge the task of every open link.
            None => Box::pin(Links::refuse_inactive(upgraded)).await,
        }
    });
    Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::UPGRADE, "websocket")
        .header(header::CONNECTION, "upgrade")
        .header(header::SEC_WEBSOCKET_ACCEPT, accept)
        .header(header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL)
        .body(Body::empty())
        .map(Upgrade)
        .map_err(|error| ApiError::new(failures::INVALID_HANDSHAKE, error.to_string()))
}

fn agent_of(caller: Caller) -> ApiResult<(Caller, SpaceId)> {
    match caller.credential {
        Credential::Agent { space_id, .. } => Ok((caller, space_id)),
        _ => Err(ApiError::new(
            failures::AGENT_DENIED,
            "only an agent token opens a link",
        )),
    }
}

/// The answer to a WebSocket handshake.
pub struct Upgrade(Response);

impl IntoResponse for Upgrade {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answer for Upgrade {
    fn describe(operation: &mut Operation) {
        operation.answer(101, "The connection is a WebSocket now", None);
    }
}

fn check_handshake(headers: &HeaderMap) -> ApiResult<String> {
    svc_link::check_upgrade(headers).map_err(|error| match error {
        UpgradeError::NotWebSocket => ApiError::new(
            failures::UPGRADE_REQUIRED,
            "this is a WebSocket for agents; `svc agent start` opens it",
        ),
        UpgradeError::Subprotocol => {
            let detail = format!(
                "the agent does not offer `{SUBPROTOCOL}`; install the svc version of this server"
            );
            ApiError::new(failures::UNSUPPORTED_LINK, detail)
        }
        UpgradeError::NoKey => {
            ApiError::new(failures::INVALID_HANDSHAKE, "Sec-WebSocket-Key is missing")
        }
    })
}

//! The client of a request, for handlers of logins and of changes of how users sign in.

use std::net::IpAddr;

use axum::extract::{Extension, FromRequestParts, rejection::ExtensionRejection};
use http::{HeaderMap, header, request::Parts};
use svc_protocol::api;

use super::{
    cookies::set_session,
    extract::{Json, WithCookies},
    listen::{Peer, client_address, is_secure},
    oauth::own_origin,
};
use crate::{
    app::App,
    identity::{ClientDetails, NewSession},
};

pub struct Client {
    pub address: IpAddr,
    /// Whether the browser uses TLS: to this server, or to a trusted proxy in front of it.
    pub is_secure: bool,
    /// The address of this server: see [`own_origin`].
    pub origin: Option<String>,
    pub headers: HeaderMap,
}

impl FromRequestParts<App> for Client {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ExtensionRejection> {
        let Extension(peer) = Extension::<Peer>::from_request_parts(parts, app).await?;
        let headers = parts.headers.clone();
        Ok(Self {
            address: client_address(peer, &headers, &app.trusted_proxies),
            is_secure: is_secure(peer, &headers, &app.trusted_proxies),
            origin: own_origin(app, Some(peer), &headers),
            headers,
        })
    }
}

impl Client {
    pub fn details(&self) -> ClientDetails {
        let user_agent = self.headers.get(header::USER_AGENT);
        let user_agent = user_agent.and_then(|value| value.to_str().ok());
        ClientDetails {
            address: self.address,
            user_agent: user_agent.unwrap_or_default().to_owned(),
        }
    }

    /// The user, with the cookie of the new session.
    pub fn logged_in(&self, app: &App, session: &NewSession) -> WithCookies<Json<api::User>> {
        let age = session.expires_at.since(app.clock.now()).as_secs();
        WithCookies {
            cookies: set_session(&self.headers, &session.cookie, age, self.is_secure),
            answer: Json(api::User::from(&*session.user)),
        }
    }
}

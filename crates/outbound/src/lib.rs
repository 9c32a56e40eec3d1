//! HTTP requests to hosts that users chose: receivers of webhooks, providers of sign-ins, documents
//! of apps.
//!
//! Owns the check of addresses, the look-ups of names, the connections, the proxy of the operator,
//! and the limits of an answer. Never follows a redirect, never logs bodies, headers or secrets,
//! and never shows a user the address behind a name. What an answer means is decided by the caller.
//!
//! A lane keeps its connection for its next request. If the receiver closed the connection
//! meanwhile, the request is sent once more on a new connection.

use std::{net::SocketAddr, time::Duration};

use svc_client::TlsConfigs;

mod answer;
mod connection;
mod connections;
mod error;
mod fetch;
mod guard;
mod guarded;
mod lookups;
mod proxy;
mod reach;
mod request;
mod settings;
#[cfg(test)]
mod tests;
mod url;

pub use self::{
    answer::Answer,
    connections::LaneOwner,
    error::OutboundError,
    fetch::{FetchRequest, Fetched},
    guard::{AddressGuard, GuardError, LOOPBACK},
    lookups::{Lookups, ResolveFn},
    proxy::{Proxy, ProxyError},
    request::Request,
    url::{Location, UrlError, check_url, origin_of},
};
use self::{
    connection::Connection,
    connections::{Connections, IdleLimits},
    settings::ConnectionSettings,
};

/// The target of log records. The name is older than this crate. It is kept, because operators
/// filter by it.
const LOG_TARGET: &str = "svc_server::events::deliver::webhook::reach";

/// Sends requests to the addresses that its guard permits.
pub struct Outbound {
    guard: AddressGuard,
    lookups: Lookups,
    connections: Connections<Connection>,
    tls: TlsConfigs,
    proxy: Option<Proxy>,
}

/// The parts of a request that are known so far. Filled while the request is sent, so that the part
/// before a timeout is not lost.
#[derive(Default)]
pub struct Progress {
    pub answer: Answer,
    /// How long the look-up of the name took.
    pub dns: Option<Duration>,
    pub connect: Option<Duration>,
    /// How long the TLS handshake took.
    pub tls: Option<Duration>,
    /// The address of the receiver; `None` if the proxy resolves names.
    pub address: Option<SocketAddr>,
    pub is_http2: bool,
}

impl Outbound {
    pub fn new(guard: AddressGuard) -> Self {
        Self {
            guard,
            lookups: Lookups::of_system(),
            connections: Connections::new(IdleLimits::default()),
            tls: TlsConfigs::default(),
            proxy: None,
        }
    }

    pub fn with_lookups(mut self, lookups: Lookups) -> Self {
        self.lookups = lookups;
        self
    }

    /// With a proxy, all requests are sent through it.
    pub fn with_proxy(mut self, proxy: Option<Proxy>) -> Self {
        self.proxy = proxy;
        self
    }

    /// Sends a request and reads its answer. The caller limits the time.
    pub async fn send(
        &self,
        request: &Request<'_>,
        progress: &mut Progress,
    ) -> Result<(), OutboundError> {
        let settings = ConnectionSettings::new(request.url, request.tls);
        if let Some(kept) = self.take_kept(request, &settings).await {
            match self.exchange(kept, request, progress).await {
                // The receiver closed the kept connection, or refused the request, before it
                // answered: use a new connection.
                Err(OutboundError::NoAnswer {
                    may_repeat: true, ..
                }) => {}
                ended => return ended,
            }
        }
        let connection = self.connect(request, settings, progress).await?;
        self.exchange(connection, request, progress).await
    }

    /// Sends a request on a connection, and keeps the connection if it can be used again.
    async fn exchange(
        &self,
        mut connection: Connection,
        request: &Request<'_>,
        progress: &mut Progress,
    ) -> Result<(), OutboundError> {
        let can_be_used_again = connection.exchange(request, progress).await?;
        if let (Some(lane), true) = (request.lane, can_be_used_again) {
            self.connections.put(lane, connection);
        }
        Ok(())
    }

    /// The kept connection of a lane, if it can be used for a request with these settings.
    async fn take_kept(
        &self,
        request: &Request<'_>,
        settings: &ConnectionSettings,
    ) -> Option<Connection> {
        let mut kept = self.connections.take(request.lane?.lane)?;
        let permits = |at: SocketAddr| self.guard.permits(&request.location.host, at.ip());
        let is_permitted = kept.address.is_none_or(permits);
        (is_permitted && kept.can_send(settings).await).then_some(kept)
    }
}

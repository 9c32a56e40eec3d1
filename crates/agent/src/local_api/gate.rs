//! Decides which users of this machine a listener answers: the agent's user and root. Every other
//! user gets 403 for every request.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
};

use axum::Router;
use serde::Deserialize;
use svc_private::{is_own_or_root, own_uid};
use tokio::net::{TcpStream, UnixStream};

use super::{problem::Failure, tcp_peer::PeerLookup};

/// Who may use the agent's loopback port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoopbackAccess {
    /// The agent's user and root. An agent that runs as root answers every user of the machine.
    #[default]
    SameUser,
    /// Every user of the machine.
    Any,
    /// No user: the agent does not listen on TCP.
    Off,
}

/// Chooses the router of a new connection.
pub trait Gate<S>: Send + Sync + 'static {
    /// `Err` if the user has no access: a router that answers 403.
    fn admit(&self, stream: &S) -> impl Future<Output = Result<Router, Router>> + Send;
}

pub struct SocketGate {
    pub router: Router,
}

impl Gate<UnixStream> for SocketGate {
    async fn admit(&self, stream: &UnixStream) -> Result<Router, Router> {
        match stream.peer_cred() {
            Ok(peer) if is_own_or_root(peer.uid()) => Ok(self.router.clone()),
            Ok(peer) => {
                let uid = peer.uid();
                tracing::warn!(uid, "another user tried to use the agent's socket");
                refuse(
                    "foreign_user",
                    "this socket is for the user who runs the agent",
                )
            }
            Err(error) => {
                tracing::warn!(%error, "cannot determine the user of a local connection; it is refused");
                refuse(
                    "unknown_user",
                    "the system does not report the user of this connection",
                )
            }
        }
    }
}

pub struct LoopbackGate {
    pub router: Router,
    /// `None` answers every user.
    lookup: Option<PeerLookup>,
    /// Any user can connect as often as they like, so only the first refusal is a warning.
    has_warned: AtomicBool,
}

impl LoopbackGate {
    pub fn new(router: Router, access: LoopbackAccess, address: SocketAddr) -> Self {
        let is_open = access == LoopbackAccess::Any;
        if !is_open && own_uid() == 0 {
            tracing::info!(
                %address,
                "the agent runs as root, so its loopback port answers every user of this machine; `agent.loopback = \"off\"` closes the port"
            );
        }
        let lookup = (!is_open && own_uid() != 0).then(|| PeerLookup::for_listener(address));
        if lookup == Some(PeerLookup::Unavailable) {
            tracing::warn!(
                %address,
                "this system does not report which user opens a connection, so the agent's loopback port refuses every request; use the agent's socket, or set `agent.loopback = \"any\"`"
            );
        }
        Self {
            router,
            lookup,
            has_warned: AtomicBool::new(false),
        }
    }

    fn warn_once(&self, uid: Option<u32>) {
        if self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::debug!(uid, "another user tried to use the agent's loopback port");
        } else {
            tracing::warn!(
                uid,
                "another user tried to use the agent's loopback port; further refusals are not logged"
            );
        }
    }
}

impl Gate<TcpStream> for LoopbackGate {
    async fn admit(&self, stream: &TcpStream) -> Result<Router, Router> {
        let Some(lookup) = self.lookup else {
            return Ok(self.router.clone());
        };
        let user = lookup.user_of(stream).await;
        if user.is_some_and(is_own_or_root) {
            return Ok(self.router.clone());
        }
        self.warn_once(user);
        let own = own_uid();
        match user {
            Some(user) => refuse(
                "foreign_user",
                format!(
                    "this port answers only user id {own} (the agent's user) and root; this connection belongs to user id {user}; send the request as the agent's user, or set `agent.loopback = \"any\"` (SVC_AGENT_LOOPBACK) for the agent"
                ),
            ),
            None => refuse(
                "unknown_user",
                format!(
                    "this port answers only user id {own} (the agent's user) and root, and the system does not report the user of this connection; keep the connection open until the answer arrives, or use the agent's socket (SVC_AGENT_SOCKET)"
                ),
            ),
        }
    }
}

/// Answers every request with 403.
fn refuse(code: &'static str, detail: impl Into<String>) -> Result<Router, Router> {
    let detail = detail.into();
    Err(Router::new().fallback(move || {
        let failure = Failure::forbidden(code, detail.clone());
        std::future::ready(failure)
    }))
}

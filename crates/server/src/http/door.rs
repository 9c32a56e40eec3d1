//! Where requests come in: calls go straight to their handler, everything else to the router.
//!
//! A call is what this server does all day, and the router's layers (matching, boxed futures, what
//! they put into a request) cost more than the rest of it. The short way leaves nothing out: the
//! row of the route table is the same, `auth` decides by it, and the handler is the router's own.

use std::{
    convert::Infallible,
    future::ready,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
};

use axum::{
    Router,
    response::{IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, Request};
use hyper::body::Incoming;
use tower_service::Service;
use tracing::warn;

use super::{
    auth::CallGate,
    connections::Slot,
    error::ApiResult,
    extract::require_json,
    host::HostRule,
    listen::Peer,
    methods::{self, CALL_PATH},
};
use crate::{app::App, identity::Caller};

/// An answer on its way; dropped with its connection, it ends.
pub type Answering = BoxFuture<'static, Result<Response, Infallible>>;

#[derive(Clone)]
pub struct Door {
    router: Router,
    app: App,
    gate: CallGate,
    hosts: Arc<HostRule>,
}

impl Door {
    /// For a listener on this address.
    pub fn new(app: &App, router: Router, listener: SocketAddr) -> Self {
        Self {
            router,
            app: app.clone(),
            gate: CallGate::new(app),
            hosts: Arc::new(HostRule::new(app.allowed_hosts.clone(), listener)),
        }
    }

    /// All that is looked at before the body: the head is not kept while a call is under way.
    fn admit(&self, request: &Request<Incoming>, peer: Peer) -> ApiResult<Caller> {
        let caller = self.gate.admit(request, peer)?;
        require_json(request.headers())?;
        Ok(caller)
    }

    /// Answers a request that came over a connection.
    pub fn take(&self, mut request: Request<Incoming>, peer: Peer, slot: &Arc<Slot>) -> Answering {
        if let Err(refusal) = self.hosts.check(&request) {
            return Box::pin(ready(Ok(refusal.into_response())));
        }
        if request.method() == Method::POST && request.uri().path() == CALL_PATH {
            match self.admit(&request, peer) {
                Ok(caller) => {
                    slot.note_authenticated();
                    return Box::pin(call(self.app.clone(), caller, request));
                }
                // In a zone, whoever is refused may have become known a moment ago at another
                // server: the long way waits for that.
                Err(_) if self.app.store.is_shared() => {}
                Err(refusal) => return Box::pin(ready(Ok(refusal.into_response()))),
            }
        }
        self.warn_of_unknown_proxy(request.headers(), peer);
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(Arc::clone(slot));
        Box::pin(self.router.clone().call(request))
    }
}

impl Door {
    /// Behind a proxy that is not configured, all clients have the proxy's address: limits on
    /// logins and connections then apply to all of them together. Said once.
    fn warn_of_unknown_proxy(&self, headers: &HeaderMap, peer: Peer) {
        let warned = &self.app.warned_of_proxy;
        if !self.app.trusted_proxies.is_empty() || warned.load(Ordering::Relaxed) {
            return;
        }
        let name = ["x-forwarded-for", "forwarded"]
            .into_iter()
            .find(|name| headers.contains_key(*name));
        if let Some(name) = name
            && !warned.swap(true, Ordering::Relaxed)
        {
            warn!(
                peer = %peer.address.ip(),
                "a request has the header `{name}`, but `trusted_proxies` is empty: the header is ignored, and all clients of that proxy count as one address; if it is your proxy, add its address to `trusted_proxies`"
            );
        }
    }
}

/// A block and not an `async fn`, which would keep what it is given twice.
fn call(
    app: App,
    mut caller: Caller,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response, Infallible>> {
    let body = request.into_body();
    async move {
        let answer = methods::answer(&app, &mut caller, body).await;
        Ok(answer.into_response())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is larger takes the allocator's long way, on every call.
    const SMALL_BYTES: usize = 1_024;

    fn size_of_future<F>(_: fn(App, Caller, Request<Incoming>) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_call_under_way_is_small() {
        let size = size_of_future(call);
        assert!(size <= SMALL_BYTES, "{size} bytes");
    }
}

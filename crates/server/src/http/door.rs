//! The entry of all requests: calls go straight to their handler, everything else to the router.
//!
//! Calls are the most frequent requests, and the router's layers (matching, boxed futures, request
//! extensions) would add about 6,000 instructions to each call. The short path makes the same
//! decisions as the router: it uses the same row of the route table, the same `auth` and the same
//! handler.

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
use http::{HeaderMap, Method, Request, StatusCode, header};
use hyper::body::Incoming;
use tower_service::Service;
use tracing::warn;

use super::{
    auth::{CallGate, LastToken},
    connections::Slot,
    error::ApiResult,
    extract::{require_json, trace_of},
    host::HostRule,
    listen::Peer,
    methods::{self, CALL_PATH},
};
use crate::{app::App, identity::Caller};

/// An answer in progress; dropping it cancels the request.
pub type ResponseFuture = BoxFuture<'static, Result<Response, Infallible>>;

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

    /// Checks the access and the content type.
    fn admit(
        &self,
        request: &Request<Incoming>,
        peer: Peer,
        last_token: &LastToken,
    ) -> ApiResult<Caller> {
        let caller = self.gate.admit(request, peer, last_token)?;
        require_json(request.headers())?;
        Ok(caller)
    }

    /// Answers a request that came over a connection.
    pub fn handle(
        &self,
        mut request: Request<Incoming>,
        peer: Peer,
        slot: &Arc<Slot>,
        last_token: &LastToken,
    ) -> ResponseFuture {
        if let Err(refusal) = self.hosts.check(&request) {
            return Box::pin(ready(Ok(refusal.into_response())));
        }
        // A call with a query goes to the router, which limits the length of queries.
        let is_call = request
            .uri()
            .path_and_query()
            .is_some_and(|path| path == CALL_PATH);
        if request.method() == Method::POST && is_call {
            match self.admit(&request, peer, last_token) {
                Ok(caller) => {
                    slot.note_authenticated();
                    return Box::pin(call(self.app.clone(), caller, request));
                }
                // In a zone, another server may just have created the credential: the router waits
                // for such changes before it rejects.
                Err(_) if self.app.store.is_shared() => {}
                Err(refusal) => return Box::pin(ready(Ok(refusal.into_response()))),
            }
        }
        self.warn_of_unknown_proxy(request.headers(), peer);
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(Arc::clone(slot));
        let answering = self.router.clone().call(request);
        Box::pin(async move {
            let mut response = answering.await?;
            // A path that does not exist allows no methods. With `Allow`, the 404 for the URL of a
            // source would also differ from the 404 for other paths.
            if response.status() == StatusCode::NOT_FOUND {
                response.headers_mut().remove(header::ALLOW);
            }
            Ok(response)
        })
    }

    /// Warns once about a proxy that is not configured: all its clients have the proxy's address,
    /// so the limits on logins and connections apply to all of them together.
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

/// Not an `async fn`: that would store its arguments twice.
fn call(
    app: App,
    mut caller: Caller,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response, Infallible>> {
    caller.trace = trace_of(request.headers());
    let body = request.into_body();
    async move {
        let body = match methods::read(&app, &caller, body).await {
            Ok(body) => body,
            Err(refusal) => return Ok(refusal.into_response()),
        };
        let answer = methods::answer(&app, &mut caller, &body).await;
        Ok(answer.into_response())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Larger futures take a slower path of the allocator, on every call.
    const SMALL_BYTES: usize = 1_024;

    fn size_of_future<F>(_: fn(App, Caller, Request<Incoming>) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_future_of_a_call_is_small() {
        let size = size_of_future(call);
        assert!(size <= SMALL_BYTES, "{size} bytes");
    }
}

//! Where requests come in: calls go straight to their handler, everything else to the router.
//!
//! A call is what this server does all day, and the router's layers (matching, boxed futures, what
//! they put into a request) cost more than the rest of it. The short way leaves nothing out: the
//! row of the route table is the same, `auth` decides by it, and the handler is the router's own.

use std::{convert::Infallible, future::ready};

use axum::{
    Router,
    response::{IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use http::{Method, Request};
use hyper::body::Incoming;
use tower_service::Service;

use super::{
    auth::CallGate,
    error::ApiResult,
    extract::require_json,
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
}

impl Door {
    pub fn new(app: &App, router: Router) -> Self {
        Self {
            router,
            app: app.clone(),
            gate: CallGate::new(app),
        }
    }

    /// All that is looked at before the body: the head is not kept while a call is under way.
    fn admit(&self, request: &Request<Incoming>) -> ApiResult<Caller> {
        let caller = self.gate.admit(request)?;
        require_json(request.headers())?;
        Ok(caller)
    }

    /// Answers a request that came over a connection.
    pub fn take(&self, mut request: Request<Incoming>, peer: Peer) -> Answering {
        if request.method() == Method::POST && request.uri().path() == CALL_PATH {
            match self.admit(&request) {
                Ok(caller) => return Box::pin(call(self.app.clone(), caller, request)),
                // In a zone, whoever is refused may have become known a moment ago at another
                // server: the long way waits for that.
                Err(_) if self.app.store.is_shared() => {}
                Err(refusal) => return Box::pin(ready(Ok(refusal.into_response()))),
            }
        }
        request.extensions_mut().insert(peer);
        Box::pin(self.router.clone().call(request))
    }
}

/// A block and not an `async fn`, which would keep what it is given twice.
fn call(
    app: App,
    caller: Caller,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response, Infallible>> {
    let body = request.into_body();
    async move {
        let answer = methods::answer(&app, &caller, body).await;
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

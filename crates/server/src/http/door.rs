//! Where requests come in: calls go straight to their handler, everything else to the router.
//!
//! A call is what this server does all day, and the router's layers (matching, boxed futures, what
//! they put into a request) cost more than the rest of it. The short way leaves nothing out: the
//! row of the route table is the same, `auth` decides by it, and the handler is the router's own.

use std::convert::Infallible;

use axum::{
    Router,
    response::{IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use http::{Method, Request};
use hyper::body::Incoming;
use tower_service::Service;

use super::{
    auth::Gate,
    listen::Peer,
    methods::{self, CALL_PATH},
};
use crate::app::App;

/// An answer on its way; dropped with its connection, it ends.
pub type Answering = BoxFuture<'static, Result<Response, Infallible>>;

#[derive(Clone)]
pub struct Door {
    router: Router,
    app: App,
    gate: Gate,
}

impl Door {
    pub fn new(app: &App, router: Router) -> Self {
        Self {
            router,
            app: app.clone(),
            gate: Gate::new(app),
        }
    }

    /// Answers a request that came over a connection.
    pub fn take(&self, mut request: Request<Incoming>, peer: Peer) -> Answering {
        if request.method() == Method::POST && request.uri().path() == CALL_PATH {
            let admitted = self.gate.admit(&request);
            // In a zone, whoever is refused may have become known a moment ago at another server:
            // the long way waits for that.
            if admitted.is_ok() || !self.app.store.is_shared() {
                let app = self.app.clone();
                return Box::pin(async move {
                    let answer = async { methods::answer(&app, &admitted?, request).await };
                    Ok(answer.await.into_response())
                });
            }
        }
        request.extensions_mut().insert(peer);
        Box::pin(self.router.clone().call(request))
    }
}

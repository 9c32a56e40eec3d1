//! The authentication middleware: the only place that decides whether a caller may use a route.
//!
//! Requests of scripts that the server runs never leave the process, but they pass this middleware
//! too.
//!
//! The checks, in this order: the credential; for a session cookie, that one of our own pages sent
//! the request; the token's scopes (spec 5.5); whether the user must set up a second factor first;
//! whether the route is open to agent tokens and scripts; the user's permissions. No caller can
//! reach a route that is not in the table of `router`.
//!
//! A request is checked up to three times: before the handler runs; after the body was read, if
//! the server had to wait for the body ([`Admission`]); and, on routes that return data, before
//! the answer is sent. Changes are also checked in their transaction (`identity::authority`).

mod admit;
mod changes;
mod identify;
mod last_token;
mod origin;
mod query;

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{Extensions, HeaderMap, Method, Uri, request::Parts};

use self::{
    admit::admit,
    identify::{catch_up, identify, presents_agent_token},
    origin::reject_foreign_write,
    query::Parameters,
};
pub use self::{changes::is_limited, last_token::LastToken, origin::is_direct_loopback};
use super::{
    answers::Payer,
    connections::Slot,
    error::{ApiError, protect},
    extract::BodyMemory,
    failures,
    listen::Peer,
    methods::CALL_PATH,
    oauth,
    router::routes,
    rule::{Needs, Reply, Rule},
    unknown_credentials::UnknownCredentials,
    web,
};
use crate::{
    app::App,
    identity::{AccessDenied, Caller},
    limits::Account,
};

const MCP_PATH: &str = "/mcp";

#[derive(Clone)]
pub struct Gate {
    app: App,
    /// Rows by path.
    table: Arc<HashMap<&'static str, Vec<(Method, Rule)>>>,
    parameters: Arc<Parameters>,
    /// In a zone: credentials that no server knew when they were last presented.
    unknown: Arc<UnknownCredentials>,
}

/// The parts of a request that decide about access.
#[derive(Clone, Copy)]
struct Head<'a> {
    method: &'a Method,
    uri: &'a Uri,
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
    /// `None` for requests of scripts, which have no connection.
    peer: Option<Peer>,
    /// The token that the connection sent last. Only for calls that bypass the router.
    last_token: Option<&'a LastToken>,
}

impl<'a, B> From<&'a http::Request<B>> for Head<'a> {
    fn from(request: &'a http::Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
            peer: request.extensions().get().copied(),
            last_token: None,
        }
    }
}

impl<'a> From<&'a Parts> for Head<'a> {
    fn from(parts: &'a Parts) -> Self {
        Self {
            method: &parts.method,
            uri: &parts.uri,
            headers: &parts.headers,
            extensions: &parts.extensions,
            peer: parts.extensions.get().copied(),
            last_token: None,
        }
    }
}

/// Repeats the access check of a request. The middleware adds this value to the extensions of every
/// request that it admits.
#[derive(Clone)]
pub struct Admission {
    gate: Gate,
    rule: Option<Rule>,
}

impl Admission {
    /// Checks the request again after a wait and returns the caller with their current permissions.
    /// Rejects requests that did not pass the middleware.
    pub fn repeat(parts: &Parts) -> Result<Option<Caller>, ApiError> {
        let admission = parts.extensions.get::<Self>();
        let Self { gate, rule } = admission.ok_or_else(ApiError::no_credential)?;
        decide(gate, *rule, parts.into())
    }
}

/// The access check of calls, which bypass the router: their rule is looked up once.
#[derive(Clone)]
pub struct CallGate {
    gate: Gate,
    rule: Option<Rule>,
}

impl CallGate {
    pub fn new(app: &App) -> Self {
        let gate = Gate::new(app);
        let rule = gate.rule(&Method::POST, CALL_PATH);
        Self { gate, rule }
    }

    /// Checks a request to [`CALL_PATH`] like [`authenticate`].
    pub fn admit<B>(
        &self,
        request: &http::Request<B>,
        peer: Peer,
        last_token: &LastToken,
    ) -> Result<Caller, ApiError> {
        let head = Head {
            peer: Some(peer),
            last_token: Some(last_token),
            ..request.into()
        };
        decide(&self.gate, self.rule, head)?.ok_or_else(ApiError::no_credential)
    }
}

impl Gate {
    pub fn new(app: &App) -> Self {
        let mut table: HashMap<_, Vec<_>> = HashMap::new();
        for route in routes() {
            let rows = table.entry(route.path).or_default();
            rows.push((route.method, route.rule));
        }
        Self {
            app: app.clone(),
            table: Arc::new(table),
            parameters: Arc::new(Parameters::new()),
            unknown: Arc::default(),
        }
    }

    fn rule_of(&self, request: &Request) -> Option<Rule> {
        let path = request.extensions().get::<MatchedPath>()?.as_str();
        // The catch-all route serves pages only, and a path with a reserved prefix is never a page.
        if path == web::ANY_PATH && web::is_reserved(request.uri().path()) {
            return None;
        }
        self.rule(request.method(), path)
    }

    /// Finds the rule by the path as written in the table.
    fn rule(&self, method: &Method, path: &str) -> Option<Rule> {
        let method = match *method {
            Method::HEAD => &Method::GET,
            ref method => method,
        };
        let mut rows = self.table.get(path)?.iter();
        rows.find(|(allowed, _)| allowed == method)
            .map(|&(_, rule)| rule)
    }
}

pub async fn authenticate(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let is_api = is_api(request.uri().path());
    let mut response = handle(gate, request, next).await;
    if is_api {
        protect(response.headers_mut());
    }
    response
}

async fn handle(gate: Gate, mut request: Request, next: Next) -> Response {
    let rule = gate.rule_of(&request);
    let needs = rule.map(|rule| rule.needs);
    // An unknown path changes nothing.
    let reply = rule.map_or(Reply::Data, |rule| rule.reply);
    let open_to_all = matches!(needs, Some(Needs::Nothing | Needs::AnySite));
    if gate.app.store.is_shared()
        && !open_to_all
        && let Err(outage) = catch_up(&gate, (&request).into()).await
    {
        return ApiError::from(outage).into_response();
    }
    let caller = match decide(&gate, rule, (&request).into()) {
        Ok(caller) => caller,
        Err(error) => return error.into_response(),
    };
    if let Err(error) = gate.parameters.check(&request) {
        return error.into_response();
    }
    if let Some(caller) = &caller
        && let Some(rule) = rule
        && let Err(error) = changes::count(&gate, caller, rule, request.method())
    {
        return error.into_response();
    }
    // A link checks its agent itself: the agent of a stopped space is refused over the link.
    let is_link = matches!(needs, Some(Needs::Agent));
    let is_checked = !is_link && reply.is_data();
    let answer_check = caller.clone().filter(|_| is_checked);
    let payer = caller.as_ref().map(|caller| Payer {
        user: caller.user.id,
        may_be_refused: reply.is_data(),
    });
    // The answer to a change cannot be refused after the change, so it is refused before.
    if let Some(payer) = payer.filter(|payer| !payer.may_be_refused)
        && let Err(full) = gate.app.answers.check_share(Account::User(payer.user))
    {
        return ApiError::from(full).into_response();
    }
    if let Some(caller) = caller {
        if let Some(slot) = request.extensions().get::<Arc<Slot>>() {
            slot.note_authenticated();
        }
        request.extensions_mut().insert(caller);
    }
    request.extensions_mut().insert(Admission {
        gate: gate.clone(),
        rule,
    });
    let memory = BodyMemory::default();
    request.extensions_mut().insert(memory.clone());
    let running = async move {
        let response = next.run(request).await;
        drop(memory);
        response
    };
    let mut response = match reply {
        Reply::Data => running.await,
        Reply::Trial | Reply::Change => match tokio::spawn(running).await {
            Ok(response) => response,
            Err(error) => return ApiError::internal(&error).into_response(),
        },
    };
    if let Some(payer) = payer {
        response.extensions_mut().insert(payer);
    }
    let directory = &gate.app.directory;
    if let Some(caller) = answer_check
        && directory.has_changed_since(&caller)
        && let Err(refusal) = directory.readmit(&caller, gate.app.clock.now())
    {
        return ApiError::from(refusal).into_response();
    }
    response
}

fn decide(gate: &Gate, rule: Option<Rule>, head: Head<'_>) -> Result<Option<Caller>, ApiError> {
    let needs = rule.map(|rule| rule.needs);
    let path = head.uri.path();
    if matches!(needs, Some(Needs::AnySite)) {
        return Ok(None);
    }
    let is_loopback = || is_direct_loopback(&gate.app, head.peer, head.headers);
    if matches!(needs, Some(Needs::Loopback)) && !is_loopback() {
        return Err(ApiError::new(
            failures::LOOPBACK_ONLY,
            "this request is accepted only from the server's own machine, without a proxy",
        ));
    }
    let is_open = matches!(needs, Some(Needs::Nothing | Needs::Loopback));
    let caller = match identify(gate, head) {
        Ok(caller) => caller,
        Err(_) if is_open => None,
        // The link is opened and then refused with a reason, so that the agent retries.
        Err(AccessDenied::UserInactive)
            if matches!(needs, Some(Needs::Agent)) && presents_agent_token(gate, head) =>
        {
            return Ok(None);
        }
        Err(denied) => {
            let refusal = ApiError::unauthorized(denied.to_string());
            return Err(challenge(gate, head, refusal, Some("invalid_token")));
        }
    };
    let Some(caller) = caller else {
        return match needs {
            _ if is_open => reject_foreign_write(gate, head).map(|()| None),
            Some(Needs::LoopbackOrAudit) if is_loopback() => Ok(None),
            None if !is_api(path) => Ok(None),
            _ => {
                let refusal = ApiError::unauthorized(
                    "no credential; send `Authorization: Bearer <token>` (make one with `svc login` or `svc token create`)",
                );
                Err(challenge(gate, head, refusal, None))
            }
        };
    };
    if caller.session_id().is_some() {
        reject_foreign_write(gate, head)?;
    }
    admit(gate, caller, rule, head).map(Some)
}

/// Adds `WWW-Authenticate` to a refusal of `/mcp`. MCP clients read from this header how to get a
/// token, or a token with another scope.
fn challenge(gate: &Gate, head: Head<'_>, refusal: ApiError, error: Option<&str>) -> ApiError {
    if head.uri.path() != MCP_PATH {
        return refusal;
    }
    let request = (&gate.app, head.peer, head.headers);
    oauth::challenge(refusal, request, head.uri, error)
}

fn is_api(path: &str) -> bool {
    ["/api", "/mcp", "/agent"].iter().any(|root| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

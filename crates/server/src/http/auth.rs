//! The authentication middleware: the one place that decides who may do what on a route.
//!
//! A script that the server runs for a user asks in process, and passes here like anyone else.
//!
//! In this order: who is it, do the token's scopes reach the route (spec 5.5), is a cookie's
//! request our own page's, may an agent token do this, does the user hold a permission. Closed by
//! default: a route that is not in the table is reached by nobody.

use std::{collections::HashMap, net::IpAddr, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, Method, header};
use svc_core::{Permission, Scopes, credential::CredentialKind};

use super::{
    connections::Slot,
    error::{ApiError, protect},
    host::names_this_machine,
    internal::ActsFor,
    listen::Peer,
    methods::CALL_PATH,
    router::{Agents, Needs, routes},
    web,
};
use crate::{
    app::App,
    identity::{Caller, Credential, Denied},
    store::StoreError,
};

/// Where agents that speak MCP come in.
const MCP_PATH: &str = "/mcp";

/// Bytes of a query, whatever the route takes of it.
const QUERY_BYTES_MAX: usize = 8 * 1024;

/// Name of the session cookie.
pub const SESSION_COOKIE: &str = "svc_session";

#[derive(Clone)]
pub struct Gate {
    app: App,
    /// By path; a path has few methods.
    table: Arc<HashMap<&'static str, Vec<Rule>>>,
}

/// One row of the route table, as far as access goes.
type Rule = (Method, Needs, Agents);

/// The row of calls, which pass the router by: looked up once.
#[derive(Clone)]
pub struct CallGate {
    gate: Gate,
    rule: Option<(Needs, Agents)>,
}

impl CallGate {
    pub fn new(app: &App) -> Self {
        let gate = Gate::new(app);
        let rule = gate.rule(&Method::POST, CALL_PATH);
        Self { gate, rule }
    }

    /// [`authenticate`] for a request to [`CALL_PATH`].
    pub fn admit<B>(&self, request: &http::Request<B>) -> Result<Caller, ApiError> {
        decide(&self.gate, self.rule, request)?
            .ok_or_else(|| ApiError::unauthorized("this route needs a credential"))
    }
}

impl Gate {
    pub fn new(app: &App) -> Self {
        let mut table: HashMap<_, Vec<_>> = HashMap::new();
        for route in routes() {
            table
                .entry(route.path)
                .or_default()
                .push((route.method, route.needs, route.agents));
        }
        Self {
            app: app.clone(),
            table: Arc::new(table),
        }
    }

    fn rule_of(&self, request: &Request) -> Option<(Needs, Agents)> {
        let path = request.extensions().get::<MatchedPath>()?.as_str();
        // What no other route has taken is a page only where pages are.
        if path == web::ANY_PATH && web::is_reserved(request.uri().path()) {
            return None;
        }
        self.rule(request.method(), path)
    }

    /// The row for a path as the table writes it.
    fn rule(&self, method: &Method, path: &str) -> Option<(Needs, Agents)> {
        let method = match *method {
            Method::HEAD => &Method::GET,
            ref method => method,
        };
        let mut rows = self.table.get(path)?.iter();
        rows.find(|(allowed, ..)| allowed == method)
            .map(|&(_, needs, agents)| (needs, agents))
    }
}

pub async fn authenticate(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let is_api = is_api(request.uri().path());
    let mut response = answer(gate, request, next).await;
    if is_api {
        protect(response.headers_mut());
    }
    response
}

async fn answer(gate: Gate, mut request: Request, next: Next) -> Response {
    if let Err(error) = check_query(&request) {
        return error.into_response();
    }
    let rule = gate.rule_of(&request);
    let open_to_all = matches!(rule, Some((Needs::Nothing, _)));
    if gate.app.store.is_shared() && !open_to_all && is_unknown(&gate, &request) {
        // Made at another server a moment ago, perhaps: somebody who logs in there and goes on here.
        // A refusal is final for many programs, so that it is given only by who knows.
        if !gate.app.catch_up.now().await && is_unknown(&gate, &request) {
            let away = StoreError::Unavailable("other servers' changes are not known".to_owned());
            return ApiError::from(away).into_response();
        }
    }
    match decide(&gate, rule, &request) {
        Ok(caller) => {
            if let Some(caller) = caller {
                if let Some(slot) = request.extensions().get::<Arc<Slot>>() {
                    slot.note_authenticated();
                }
                request.extensions_mut().insert(caller);
            }
            if is_cancellable(&request) {
                return next.run(request).await;
            }
            // A change runs to its end even if its client goes away: what is committed must also
            // take effect.
            match tokio::spawn(next.run(request)).await {
                Ok(response) => response,
                Err(error) => ApiError::internal(&error).into_response(),
            }
        }
        Err(error) => error.into_response(),
    }
}

fn check_query(request: &Request) -> Result<(), ApiError> {
    let bytes = request.uri().query().map_or(0, str::len);
    if bytes <= QUERY_BYTES_MAX {
        return Ok(());
    }
    let detail = format!("the query has {bytes} bytes; at most {QUERY_BYTES_MAX} are allowed");
    Err(ApiError::bad_request("query_too_long", detail))
}

/// Whether a credential is presented that looks like one of ours and is not known.
fn is_unknown(gate: &Gate, request: &Request) -> bool {
    let presented = presented(request.headers()).ok().flatten();
    presented.is_some_and(|text| CredentialKind::recognise(text).is_some())
        && matches!(identify(gate, request), Err(Denied::Unknown))
}

/// Reads and calls end with their client; a call frees its place by that.
fn is_cancellable(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
        || matches!(request.uri().path(), CALL_PATH | MCP_PATH)
}

fn decide<B>(
    gate: &Gate,
    rule: Option<(Needs, Agents)>,
    request: &http::Request<B>,
) -> Result<Option<Caller>, ApiError> {
    let (needs, agents) = match rule {
        Some((needs, agents)) => (Some(needs), agents),
        None => (None, Agents::AsOwner),
    };
    let path = request.uri().path();
    let caller = match identify(gate, request) {
        Ok(caller) => caller,
        Err(_) if matches!(needs, Some(Needs::Nothing)) => None,
        Err(denied) => return Err(ApiError::unauthorized(denied.to_string())),
    };
    let Some(caller) = caller else {
        return match needs {
            Some(Needs::Nothing) => foreign_write(gate, request).map(|()| None),
            Some(Needs::LoopbackOrAudit) if is_direct_loopback(gate, request) => Ok(None),
            None if !is_api(path) => Ok(None),
            _ => Err(ApiError::unauthorized(
                "no credential; send `Authorization: Bearer <token>` (make one with `svc login` or `svc token create`)",
            )),
        };
    };
    check_scopes(&caller, request.method(), path).map_err(|error| challenge(error, path))?;
    if matches!(caller.credential, Credential::Session { .. }) {
        foreign_write(gate, request)?;
    }
    check_agent(&caller, needs, agents, path)?;
    check_permission(&caller, needs).map_err(|error| challenge(error, path))?;
    Ok(Some(caller))
}

/// MCP clients look at a header to learn that another token would do.
fn challenge(error: ApiError, path: &str) -> ApiError {
    if path == MCP_PATH {
        error.challenge(r#"Bearer realm="svc", error="insufficient_scope", scope="mcp""#)
    } else {
        error
    }
}

/// Who presents what: a bearer token wins over a cookie. A script presents nothing: that it acts
/// for a user is said by an extension that no request from outside can hold.
fn identify<B>(gate: &Gate, request: &http::Request<B>) -> Result<Option<Caller>, Denied> {
    if let Some(&ActsFor(user)) = request.extensions().get() {
        let user = gate.app.directory.find_user(user);
        let user = user
            .filter(|user| user.active)
            .ok_or(Denied::UserInactive)?;
        return Ok(Some(Caller::script(user)));
    }
    let Some(presented) = presented(request.headers())? else {
        return Ok(None);
    };
    gate.app
        .directory
        .authenticate(presented, gate.app.clock.now())
        .map(Some)
}

fn presented(headers: &HeaderMap) -> Result<Option<&str>, Denied> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, token) = value
            .as_bytes()
            .split_at_checked("bearer ".len())
            .ok_or(Denied::Unknown)?;
        // What is no ASCII is no credential, and is told so by its checksum.
        let token = str::from_utf8(token.trim_ascii()).map_err(|_| Denied::Unknown)?;
        if !scheme.eq_ignore_ascii_case(b"bearer ") || token.starts_with("svc_ses_") {
            return Err(Denied::Unknown);
        }
        return Ok(Some(token));
    }
    Ok(session_cookie(headers))
}

pub fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        // A cookie carries a session and nothing else: a token in it is no credential.
        .find(|(name, value)| *name == SESSION_COOKIE && value.starts_with("svc_ses_"))
        .map(|(_, value)| value)
}

fn check_scopes(caller: &Caller, method: &Method, path: &str) -> Result<(), ApiError> {
    let Credential::Token { scopes, .. } = &caller.credential else {
        return Ok(());
    };
    if scopes.permit(method.as_str(), path) {
        return Ok(());
    }
    let held = join_scopes(scopes);
    Err(ApiError::forbidden(
        "scope_denied",
        format!("this token is limited to {held} and does not reach {method} {path}"),
    ))
}

fn join_scopes(scopes: &Scopes) -> String {
    scopes
        .as_slice()
        .iter()
        .map(|scope| format!("`{scope}`"))
        .collect::<Vec<_>>()
        .join(" and ")
}

fn check_agent(
    caller: &Caller,
    needs: Option<Needs>,
    agents: Agents,
    path: &str,
) -> Result<(), ApiError> {
    let denied = |detail: &str| Err(ApiError::forbidden("agent_denied", detail));
    if caller.credential == Credential::Script && agents != Agents::AsOwner {
        return Err(ApiError::forbidden(
            "script_denied",
            "a script on the server does not reach this; use an API token",
        ));
    }
    match (&caller.credential, needs) {
        (Credential::Agent { .. }, Some(Needs::Agent)) => Ok(()),
        (_, Some(Needs::Agent)) => denied("only an agent token opens a link"),
        (Credential::Agent { space_id }, _) => match agents {
            Agents::AsOwner => Ok(()),
            Agents::Never => denied("an agent token does not reach this; use an API token"),
            Agents::OwnSpace if path.split('/').nth(3) == Some(&space_id.to_string()) => Ok(()),
            Agents::OwnSpace => denied("an agent token manages its own space only"),
        },
        _ => Ok(()),
    }
}

fn check_permission(caller: &Caller, needs: Option<Needs>) -> Result<(), ApiError> {
    let wanted: &[Permission] = match needs {
        Some(Needs::Any(permissions)) => permissions,
        Some(Needs::LoopbackOrAudit) => &[Permission::ViewAudit],
        Some(Needs::Nothing | Needs::Caller | Needs::Agent) | None => return Ok(()),
    };
    if caller.user.permissions.contains_any(wanted) {
        return Ok(());
    }
    let names: Vec<_> = wanted.iter().map(|p| format!("`{p}`")).collect();
    Err(ApiError::forbidden(
        "permission_denied",
        format!(
            "this needs the permission {}; ask an administrator for a role with it",
            names.join(" or ")
        ),
    ))
}

/// Refuses a writing request that another site made a browser send.
fn foreign_write<B>(gate: &Gate, request: &http::Request<B>) -> Result<(), ApiError> {
    if matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    ) {
        return Ok(());
    }
    let headers = request.headers();
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let site_is_foreign =
        text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let origin_is_foreign = text("origin").is_some_and(|origin| {
        let host = text("host").or_else(|| request.uri().authority().map(|a| a.as_str()));
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        // Behind a proxy that rewrites the host, the browser knows us by the public address.
        let public = gate.app.public_authority.as_deref();
        !authority.is_some_and(|authority| {
            [host, public]
                .into_iter()
                .flatten()
                .any(|own| authority.eq_ignore_ascii_case(own))
        })
    });
    if site_is_foreign || origin_is_foreign {
        return Err(ApiError::forbidden(
            "foreign_origin",
            "a browser sent this from another site; use this server's own pages or an API token",
        ));
    }
    Ok(())
}

/// The machine itself, not something it forwards for.
fn is_direct_loopback<B>(gate: &Gate, request: &http::Request<B>) -> bool {
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip"];
    let peer = request
        .extensions()
        .get::<Peer>()
        .map(|peer| peer.address.ip().to_canonical());
    let is_proxy = |peer: IpAddr| {
        gate.app
            .trusted_proxies
            .iter()
            .any(|net| net.contains(&peer))
    };
    // The listener may take other names than those of this machine; a foreign page could use one.
    peer.is_some_and(|peer| peer.is_loopback() && !is_proxy(peer))
        && names_this_machine(request.headers())
        && !forwarded
            .iter()
            .any(|name| request.headers().contains_key(*name))
}

fn is_api(path: &str) -> bool {
    ["/api", "/mcp", "/agent"].iter().any(|root| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

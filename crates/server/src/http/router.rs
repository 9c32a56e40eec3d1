//! Every route of the server, one line each, with the permission that it requires. The first word of
//! a line says what the route answers ([`Reply`]).

use axum::{
    Router,
    handler::Handler,
    middleware::from_fn_with_state,
    routing::{MethodFilter, MethodRouter, on},
};
use http::Method;
use serde::Serialize;
use svc_core::Permission::{
    ManageGroups, ManageOwnEventSinks, ManageRoles, ManageSpaces, ManageTemplates, ManageUsers,
    UseMcp, UseSpaces, ViewAudit,
};

use super::{
    agent_link, audit, auth, calls,
    describe::{Describe, Operation},
    diagnostics, event_sinks, events, groups, mcp, methods, oauth, oidc, openapi, operations,
    passkeys, roles,
    rule::{Agents, Needs, Reply, Rule, Scripts},
    schedules, scripts, second_factors, servers, sessions, setup, sources, spaces, stats,
    templates, tokens, users, web,
};
use crate::app::App;

pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub rule: Rule,
    /// Describes the inputs and answers of the handler. `None` for the routes of `page` and
    /// `any_site`.
    pub describe: Option<fn(&mut Operation)>,
    handler: MethodRouter<App>,
}

impl Route {
    /// Closes the route to scripts: they could start each other, or themselves, without end, and
    /// each would hold a worker while it waits for the next one.
    fn without_scripts(mut self) -> Self {
        self.rule.scripts = Scripts::Never;
        self
    }

    fn with_own_limit(mut self) -> Self {
        self.rule.has_own_limit = true;
        self
    }
}

const SPACES: Needs = Needs::Any(&[UseSpaces, ManageSpaces]);
const USERS: Needs = Needs::Any(&[ManageUsers]);
const GROUPS: Needs = Needs::Any(&[ManageGroups]);
const ROLES: Needs = Needs::Any(&[ManageRoles]);
const TEMPLATES: Needs = Needs::Any(&[ManageTemplates]);
/// This permission only opens the routes: `events::sinks` checks the permissions for each sink.
const SINKS: Needs = Needs::Any(&[ManageOwnEventSinks]);
const MCP: Needs = Needs::Any(&[UseMcp]);
const AUDIT: Needs = Needs::Any(&[ViewAudit]);

#[rustfmt::skip]
pub fn routes() -> Vec<Route> {
    use Agents::{AsOwner, Never, OwnRecords, OwnSpace};
    use Needs::{Agent, Caller, Enrolling, Loopback, LoopbackOrAudit, Nothing};
    vec![
        get("/healthz",                         Nothing,   AsOwner,  operations::healthz),
        get("/readyz",                          Nothing,   AsOwner,  operations::readyz),
        get("/metrics",                         LoopbackOrAudit, AsOwner, operations::metrics),
        get("/api/openapi.json",                Nothing,   AsOwner,  openapi::document),
        page("/",                               web::index),
        page("/api/docs",                       web::index),
        page("/web/{*path}",                    web::file),
        page(web::ANY_PATH,                     web::any_path),
        page("/authorize",                      oauth::authorize),
        any_site(Method::GET,  "/.well-known/oauth-protected-resource",       oauth::protected_resource),
        any_site(Method::GET,  "/.well-known/oauth-protected-resource/mcp",   oauth::protected_resource),
        any_site(Method::GET,  "/.well-known/oauth-authorization-server",     oauth::authorization_server),
        any_site(Method::GET,  "/.well-known/oauth-authorization-server/mcp", oauth::authorization_server),
        any_site(Method::POST, "/token",                oauth::token),
        any_site(Method::POST, "/register",             oauth::register),
        any_site(Method::POST, "/revoke",               oauth::revoke),
        any_site(Method::POST, "/device_authorization", oauth::device_authorization),
        any_site(Method::OPTIONS, "/.well-known/oauth-protected-resource",       oauth::preflight),
        any_site(Method::OPTIONS, "/.well-known/oauth-protected-resource/mcp",   oauth::preflight),
        any_site(Method::OPTIONS, "/.well-known/oauth-authorization-server",     oauth::preflight),
        any_site(Method::OPTIONS, "/.well-known/oauth-authorization-server/mcp", oauth::preflight),
        any_site(Method::OPTIONS, "/token",             oauth::preflight),
        any_site(Method::OPTIONS, "/register",          oauth::preflight),
        any_site(Method::OPTIONS, "/revoke",            oauth::preflight),
        any_site(Method::OPTIONS, "/device_authorization", oauth::preflight),
        page("/api/auth/oidc/{name}/start",     oidc::start),
        page("/api/auth/oidc/{name}/callback",  oidc::callback),
        any_site(Method::POST, "/api/auth/oidc/{name}/backchannel-logout", oidc::backchannel_logout),
        any_site(Method::POST, sources::INBOUND_PATH,   sources::receive),
        post("/api/auth/setup",                 Nothing,   Never,    setup::complete),
        post("/api/auth/login",                 Nothing,   Never,    sessions::login),
        post("/api/auth/sign-in",               Loopback,  Never,    sessions::sign_in),
        post("/api/auth/logout",                Enrolling, Never,    sessions::logout),
        get("/api/auth/me",                     Enrolling, AsOwner,  sessions::me),
        get("/api/auth/state",                  Nothing,   AsOwner,  sessions::state),
        post("/api/auth/password",              Caller,    Never,    sessions::change_password),
        post("/api/auth/second-factor",         Nothing,   Never,    sessions::complete_login),
        get("/api/auth/second-factor",          Enrolling, Never,    second_factors::get),
        post("/api/auth/totp",                  Enrolling, Never,    second_factors::begin_totp),
        post("/api/auth/totp/confirm",          Enrolling, Never,    second_factors::confirm_totp),
        post("/api/auth/totp/remove",           Caller,    Never,    second_factors::remove_totp),
        post("/api/auth/passkeys/challenge",    Nothing,   Never,    passkeys::challenge),
        post("/api/auth/passkeys/login",        Nothing,   Never,    passkeys::login),
        post("/api/auth/passkeys/begin",        Enrolling, Never,    passkeys::begin),
        post("/api/auth/passkeys",              Enrolling, Never,    passkeys::create),
        patch("/api/auth/passkeys/{id}",        Caller,    Never,    passkeys::patch),
        post("/api/auth/passkeys/{id}/remove",  Caller,    Never,    passkeys::remove),
        post("/api/auth/recovery-codes",        Caller,    Never,    second_factors::renew_recovery_codes),
        get("/api/auth/sessions",               Caller,    Never,    sessions::list),
        delete("/api/auth/sessions",            Caller,    Never,    sessions::delete_others),
        delete("/api/auth/sessions/{id}",       Caller,    Never,    sessions::delete),
        get("/api/auth/oidc",                   Nothing,   AsOwner,  oidc::options),
        post("/api/auth/oidc/{name}/link",      Caller,    Never,    oidc::link),
        get("/api/auth/identities",             Caller,    Never,    oidc::list_identities),
        post("/api/auth/identities/{id}/remove", Caller,   Never,    oidc::remove_identity),
        delete("/api/auth/identities/{id}",     Caller,    Never,    oidc::delete_identity),
        get("/api/users",                       USERS,     Never,    users::list),
        post("/api/users",                      USERS,     Never,    users::create),
        get("/api/users/{id}",                  USERS,     Never,    users::get),
        patch("/api/users/{id}",                USERS,     Never,    users::patch),
        delete("/api/users/{id}",               USERS,     Never,    users::delete),
        get("/api/users/{id}/access",           USERS,     Never,    users::access),
        delete("/api/users/{id}/second-factor", USERS,     Never,    second_factors::reset),
        get("/api/groups",                      GROUPS,    Never,    groups::list),
        post("/api/groups",                     GROUPS,    Never,    groups::create),
        get("/api/groups/{id}",                 GROUPS,    Never,    groups::get),
        get("/api/groups/{id}/methods",         GROUPS,    Never,    groups::methods),
        patch("/api/groups/{id}",               GROUPS,    Never,    groups::patch),
        delete("/api/groups/{id}",              GROUPS,    Never,    groups::delete),
        get("/api/roles",                       ROLES,     Never,    roles::list),
        post("/api/roles",                      ROLES,     Never,    roles::create),
        get("/api/roles/{id}",                  ROLES,     Never,    roles::get),
        patch("/api/roles/{id}",                ROLES,     Never,    roles::patch),
        delete("/api/roles/{id}",               ROLES,     Never,    roles::delete),
        get("/api/permissions",                 Caller,    Never,    roles::permissions),
        get("/api/tokens",                      Caller,    Never,    tokens::list),
        post("/api/tokens",                     Caller,    Never,    tokens::create),
        get("/api/tokens/{id}",                 Caller,    Never,    tokens::get),
        delete("/api/tokens/{id}",              Caller,    Never,    tokens::delete),
        get("/api/spaces",                      SPACES,    AsOwner,  spaces::list),
        post("/api/spaces",                     SPACES,    Never,    spaces::create),
        get("/api/spaces/{id}",                 SPACES,    AsOwner,  spaces::get),
        patch("/api/spaces/{id}",               SPACES,    OwnSpace, spaces::patch),
        delete("/api/spaces/{id}",              SPACES,    OwnSpace, spaces::delete),
        post("/api/spaces/{id}/start",          SPACES,    OwnSpace, spaces::start),
        post("/api/spaces/{id}/stop",           SPACES,    OwnSpace, spaces::stop),
        post("/api/spaces/{id}/agent-token",    SPACES,    OwnSpace, spaces::rotate_agent_token),
        get("/api/spaces/{id}/logs",            SPACES,    OwnSpace, spaces::logs),
        get("/api/templates",                   SPACES,    AsOwner,  templates::list),
        post("/api/templates",                  TEMPLATES, Never,    templates::create),
        get("/api/templates/{id}",              SPACES,    AsOwner,  templates::get),
        patch("/api/templates/{id}",            TEMPLATES, Never,    templates::patch),
        delete("/api/templates/{id}",           TEMPLATES, Never,    templates::delete),
        get("/api/scripts",                     Caller,    AsOwner,  scripts::list),
        post("/api/scripts",                    Caller,    OwnRecords, scripts::create),
        trial("/api/scripts/check",             Caller,    AsOwner,  scripts::check).without_scripts(),
        trial("/api/scripts/run",               Caller,    AsOwner,  scripts::run_new).without_scripts(),
        get("/api/scripts/{id}",                Caller,    AsOwner,  scripts::get),
        patch("/api/scripts/{id}",              Caller,    OwnRecords, scripts::patch),
        delete("/api/scripts/{id}",             Caller,    OwnRecords, scripts::delete),
        trial("/api/scripts/{id}/run",          Caller,    AsOwner,  scripts::run).without_scripts(),
        get("/api/servers",                     AUDIT,     AsOwner,  servers::list),
        get("/api/diagnostics",                 AUDIT,     AsOwner,  diagnostics::get),
        get("/api/stats",                       Caller,    AsOwner,  stats::get),
        get("/api/stats/activity",              Caller,    AsOwner,  stats::activity),
        get("/api/stats/calls",                 Caller,    AsOwner,  stats::calls),
        get("/api/stats/quotas",                Caller,    Never,    stats::quotas),
        get("/api/methods",                     Caller,    AsOwner,  methods::list),
        query("/api/methods/call",              Caller,    AsOwner,  methods::call),
        get("/api/methods/{name}/stats",        Caller,    AsOwner,  stats::method),
        get("/api/calls",                       Caller,    AsOwner,  calls::list),
        get("/api/calls/summary",               Caller,    AsOwner,  calls::summary),
        get("/api/calls/stream",                Caller,    AsOwner,  calls::stream),
        get("/api/calls/{id}",                  Caller,    AsOwner,  calls::get),
        get("/api/openrpc.json",                Caller,    AsOwner,  methods::openrpc),
        query("/mcp",                           MCP,       AsOwner,  mcp::post),
        get("/mcp",                             MCP,       AsOwner,  mcp::get),
        post("/api/events/emit",                SPACES,    AsOwner,  events::emit).with_own_limit(),
        get("/api/events",                      Caller,    AsOwner,  events::list),
        get("/api/events/stream",               Caller,    AsOwner,  events::stream),
        get("/api/events/histogram",            Caller,    AsOwner,  events::histogram),
        get("/api/events/{id}",                 Caller,    AsOwner,  events::get),
        get("/api/events/{id}/deliveries",      Caller,    AsOwner,  events::deliveries),
        get("/api/event-sinks",                 SINKS,     AsOwner,  event_sinks::list),
        post("/api/event-sinks",                SINKS,     OwnRecords, event_sinks::create),
        trial("/api/event-sinks/preview",       SINKS,     AsOwner,  event_sinks::preview),
        get("/api/event-sinks/{id}",            SINKS,     AsOwner,  event_sinks::get),
        patch("/api/event-sinks/{id}",          SINKS,     OwnRecords, event_sinks::patch),
        delete("/api/event-sinks/{id}",         SINKS,     OwnRecords, event_sinks::delete),
        trial("/api/event-sinks/{id}/test",     SINKS,     OwnRecords, event_sinks::test),
        post("/api/event-sinks/{id}/rotate-secret", SINKS, OwnRecords, event_sinks::rotate_secret),
        post("/api/event-sinks/{id}/replay",    SINKS,     OwnRecords, event_sinks::replay).without_scripts(),
        trial("/api/event-sinks/{id}/backtest", SINKS,     OwnRecords, event_sinks::backtest),
        post("/api/event-sinks/{id}/resend",    SINKS,     OwnRecords, event_sinks::resend_many).without_scripts(),
        get("/api/event-sinks/{id}/stats",      SINKS,     AsOwner,  stats::sink),
        get("/api/event-sinks/{id}/deliveries", SINKS,     AsOwner,  event_sinks::deliveries),
        post("/api/event-sinks/{id}/deliveries/{n}/resend", SINKS, OwnRecords, event_sinks::resend).without_scripts(),
        get("/api/sources",                     SPACES,    Never,    sources::list),
        post("/api/sources",                    SPACES,    Never,    sources::create),
        get("/api/sources/{id}",                SPACES,    Never,    sources::get),
        patch("/api/sources/{id}",              SPACES,    Never,    sources::patch),
        delete("/api/sources/{id}",             SPACES,    Never,    sources::delete),
        post("/api/sources/{id}/rotate",        SPACES,    Never,    sources::rotate),
        post("/api/sources/{id}/test",          SPACES,    Never,    sources::test),
        get("/api/sources/{id}/requests",       SPACES,    Never,    sources::requests),
        get("/api/schedules",                   SPACES,    Never,    schedules::list),
        post("/api/schedules",                  SPACES,    Never,    schedules::create),
        get("/api/schedules/preview",           SPACES,    Never,    schedules::preview),
        get("/api/schedules/{id}",              SPACES,    Never,    schedules::get),
        patch("/api/schedules/{id}",            SPACES,    Never,    schedules::patch),
        delete("/api/schedules/{id}",           SPACES,    Never,    schedules::delete),
        get("/api/schedules/{id}/next",         SPACES,    Never,    schedules::next),
        post("/api/schedules/{id}/run",         SPACES,    Never,    schedules::run),
        get("/api/oauth/requests/{id}",         Caller,    Never,    oauth::manage::find_consent),
        post("/api/oauth/requests/{id}",        Caller,    Never,    oauth::manage::decide),
        get("/api/oauth/devices/{user_code}",   Caller,    Never,    oauth::manage::find_device),
        post("/api/oauth/devices/{user_code}",  Caller,    Never,    oauth::manage::decide_device),
        get("/api/oauth/grants",                Caller,    Never,    oauth::manage::list_grants),
        delete("/api/oauth/grants/{id}",        Caller,    Never,    oauth::manage::delete_grant),
        get("/api/oauth/clients",               USERS,     Never,    oauth::manage::list_clients),
        post("/api/oauth/clients",              USERS,     Never,    oauth::manage::create_client),
        get("/api/oauth/clients/{id}",          USERS,     Never,    oauth::manage::get_client),
        patch("/api/oauth/clients/{id}",        USERS,     Never,    oauth::manage::patch_client),
        delete("/api/oauth/clients/{id}",       USERS,     Never,    oauth::manage::delete_client),
        get("/api/oidc/providers",              USERS,     Never,    oidc::list),
        post("/api/oidc/providers",             USERS,     Never,    oidc::create),
        get("/api/oidc/providers/{id}",         USERS,     Never,    oidc::get),
        patch("/api/oidc/providers/{id}",       USERS,     Never,    oidc::patch),
        delete("/api/oidc/providers/{id}",      USERS,     Never,    oidc::delete),
        get("/api/oidc/providers/{id}/check",   USERS,     Never,    oidc::check),
        get("/api/audit",                       AUDIT,     AsOwner,  audit::list),
        get("/agent/link",                      Agent,     AsOwner,  agent_link::upgrade),
    ]
}

/// The table above behind the authentication middleware.
pub fn router(app: &App) -> Router {
    router_without_auth()
        .fallback(operations::unknown_path)
        .method_not_allowed_fallback(operations::unknown_method)
        .layer(from_fn_with_state(auth::Gate::new(app), auth::authenticate))
        .with_state(app.clone())
}

/// The handlers without the middleware; tests use this to find out what handlers check themselves.
pub(super) fn router_without_auth() -> Router<App> {
    routes().into_iter().fold(Router::new(), |router, route| {
        router.route(route.path, route.handler)
    })
}

/// One row of the table, for tests and for `svc server routes`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RouteRow {
    pub method: String,
    pub path: String,
    pub needs: String,
}

pub fn route_table() -> Vec<RouteRow> {
    routes()
        .iter()
        .map(|route| RouteRow {
            method: route.method.to_string(),
            path: route.path.to_owned(),
            needs: route.rule.needs.to_string(),
        })
        .collect()
}

macro_rules! verbs {
    ($($name:ident $method:ident $reply:ident),*) => {$(
        fn $name<H: Handler<T, App> + Describe<T>, T: 'static>(
            path: &'static str,
            needs: Needs,
            agents: Agents,
            handler: H,
        ) -> Route {
            Route {
                describe: Some(H::describe),
                ..row(Method::$method, path, (needs, agents), Reply::$reply, handler)
            }
        }
    )*};
}

/// A route that browsers open: a page or a file of the web interface, or a step of a sign-in or of
/// the consent for an app.
fn page<H: Handler<T, App>, T: 'static>(path: &'static str, handler: H) -> Route {
    let rule = (Needs::Nothing, Agents::AsOwner);
    row(Method::GET, path, rule, Reply::Data, handler)
}

/// An endpoint of OAuth, of OpenID Connect or of sources. The OpenAPI document does not describe
/// it: standards define the endpoints of OAuth and OpenID Connect, and senders define the requests
/// to sources.
fn any_site<H: Handler<T, App>, T: 'static>(
    method: Method,
    path: &'static str,
    handler: H,
) -> Route {
    let reply = match method {
        Method::GET => Reply::Data,
        _ => Reply::Change,
    };
    let rule = (Needs::AnySite, Agents::AsOwner);
    row(method, path, rule, reply, handler)
}

/// A row that the OpenAPI document does not describe.
fn row<H: Handler<T, App>, T: 'static>(
    method: Method,
    path: &'static str,
    (needs, agents): (Needs, Agents),
    reply: Reply,
    handler: H,
) -> Route {
    let filter = MethodFilter::try_from(method.clone()).expect("a method that axum knows");
    Route {
        method,
        path,
        rule: Rule {
            needs,
            agents,
            scripts: agents.for_scripts(),
            reply,
            has_own_limit: false,
        },
        describe: None,
        handler: on(filter, handler),
    }
}

verbs!(
    get GET Data, query POST Data, trial POST Trial, post POST Change, patch PATCH Change,
    delete DELETE Change
);

#[cfg(test)]
mod tests;

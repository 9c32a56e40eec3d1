//! The rules for requests, written from the specification and the documentation, not from the code
//! of the server. No request may give any user more permissions than the caller holds.

mod changes;
mod code;
mod factors;

pub use changes::judge;

use crate::{
    model::{CredIx, Kind, Model, Perms, UserIx},
    world::Answer,
};

/// A rule that an answer broke.
#[derive(Debug, Clone)]
pub struct Violation {
    pub rule: &'static str,
    pub text: String,
}

/// The caller of a request.
pub struct Caller {
    /// The holder of the credential.
    pub person: UserIx,
    /// The user whom the credential authenticates.
    pub subject: UserIx,
    pub cred: Option<CredIx>,
    /// The permissions of the subject at the time of the request.
    pub perms: Perms,
}

/// The permissions that open a route. Any one of them is enough. An empty list means that every
/// authenticated caller may use the route.
pub fn needed(method: &str, path: &str) -> &'static [&'static str] {
    let starts = |prefix: &str| path == prefix || path.starts_with(&format!("{prefix}/"));
    if starts("/api/users") || starts("/api/oauth/clients") {
        &["manage_users"]
    } else if starts("/api/groups") {
        &["manage_groups"]
    } else if starts("/api/roles") {
        &["manage_roles"]
    } else if starts("/api/templates") && method != "GET" {
        &["manage_templates"]
    } else if starts("/api/spaces") || starts("/api/templates") || path == "/api/events/emit" {
        &["use_spaces", "manage_spaces"]
    } else if starts("/api/event-sinks") {
        &["manage_own_event_sinks"]
    } else if starts("/mcp") {
        &["use_mcp"]
    } else if starts("/api/audit")
        || starts("/api/servers")
        || starts("/api/diagnostics")
        || path == "/metrics"
    {
        &["view_audit"]
    } else {
        &[]
    }
}

/// Whether agent tokens may use a route at all.
pub fn is_for_agents(method: &str, path: &str) -> bool {
    let closed = [
        "/api/users",
        "/api/groups",
        "/api/roles",
        "/api/tokens",
        "/api/permissions",
        "/api/oauth",
    ];
    let is_session = path.starts_with("/api/auth/") && path != "/api/auth/me";
    let is_closed = closed.iter().any(|prefix| path.starts_with(prefix))
        || method != "GET" && path.starts_with("/api/templates");
    !is_closed && !is_session && (method, path) != ("POST", "/api/spaces")
}

/// An agent token may manage only its own space.
fn agent_may(model: &Model, space: usize, method: &str, path: &str) -> bool {
    let own = format!("/api/spaces/{}", model.spaces[space].id);
    let manages = path.starts_with("/api/spaces") && (method != "GET" || path.ends_with("/logs"));
    let is_own = path == own || path.starts_with(&format!("{own}/"));
    is_for_agents(method, path) && (!manages || is_own)
}

/// Routes that need no credential. All except `/device_authorization` check a secret in the body.
const OPEN: [&str; 6] = [
    "/api/auth/login",
    "/api/auth/setup",
    "/api/auth/sign-in",
    "/token",
    "/revoke",
    "/device_authorization",
];

/// Routes whose `POST` needs no credential: the steps of a login.
const OPEN_POSTS: [&str; 3] = [
    "/api/auth/second-factor",
    "/api/auth/passkeys/challenge",
    "/api/auth/passkeys/login",
];

/// Whether a session that must set up a second factor may use a route.
pub fn is_for_enrolling(method: &str, path: &str) -> bool {
    let reads = ["/api/auth/me", "/api/auth/second-factor"];
    let changes = [
        "/api/auth/logout",
        "/api/auth/totp",
        "/api/auth/totp/confirm",
        "/api/auth/passkeys/begin",
        "/api/auth/passkeys",
    ];
    match method {
        "GET" => reads.contains(&path),
        _ => method == "POST" && changes.contains(&path),
    }
}

/// Checks the rules of the route itself: ended credentials, permissions, scopes, agent tokens.
pub fn judge_route(
    model: &Model,
    caller: &Caller,
    (method, path): (&str, &str),
    answer: &Answer,
) -> Vec<Violation> {
    let is_open = OPEN.contains(&path) || method == "POST" && OPEN_POSTS.contains(&path);
    if !answer.is_success() || is_open {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut broken = |rule, text: String| found.push(Violation { rule, text });
    let Some(cred) = caller.cred else {
        broken(
            "route.no_credential",
            format!("{method} {path} without a credential"),
        );
        return found;
    };
    if !model.is_alive(cred) {
        let rule = ended_rule(model, cred);
        broken(
            rule,
            format!("{} has ended and was accepted", name_of(model, cred)),
        );
    }
    if model.creds[cred].enrolling && !is_for_enrolling(method, path) {
        broken(
            "route.enrolling",
            format!("{method} {path} with a session that lacks the required second factor"),
        );
    }
    if !caller.perms.has_any(needed(method, path)) {
        broken(
            "route.permission",
            format!("{method} {path} with {}", caller.perms),
        );
    }
    match &model.creds[cred].kind {
        Kind::Token { scopes, .. } | Kind::App { scopes, .. } if !scopes.is_empty() => {
            let methods = ["/api/methods", "/api/methods/call"].contains(&path);
            let reached = scopes.iter().any(|scope| match scope.as_str() {
                "methods" => methods,
                _ => path == "/mcp",
            });
            if !reached {
                broken(
                    "route.scope",
                    format!("{method} {path} with a token for {scopes:?}"),
                );
            }
        }
        Kind::App { .. } => broken("route.scope", "a token of an app without scopes".to_owned()),
        Kind::Code { .. } | Kind::Refresh { .. } => {
            broken(
                "route.scope",
                format!("{method} {path} with a code or a refresh token"),
            );
        }
        Kind::Agent { space } if !agent_may(model, *space, method, path) => {
            broken(
                "route.agent",
                format!("{method} {path} with an agent token"),
            );
        }
        _ => {}
    }
    found
}

/// The rule that a credential breaks if it is accepted after its end.
pub fn ended_rule(model: &Model, cred: CredIx) -> &'static str {
    match (model.is_of_stopped_space(cred), model.creds[cred].parent) {
        (true, _) => "credential.stopped_space",
        (_, Some(_)) => "credential.outlives_parent",
        _ => "credential.ended",
    }
}

/// A description such as `a token of user 3`.
pub fn name_of(model: &Model, cred: CredIx) -> String {
    let record = &model.creds[cred];
    let kind = match &record.kind {
        Kind::Session { .. } if record.enrolling => "an enrolling session",
        Kind::Session { .. } => "a session",
        Kind::Token { scopes, .. } if !scopes.is_empty() => "a scoped token",
        Kind::Token { .. } if record.expires_at.is_some() => "an expiring token",
        Kind::Token { .. } => "a token",
        Kind::Agent { .. } => "an agent token",
        Kind::App { .. } => "a token of an app",
        Kind::Code { .. } => "a code",
        Kind::Refresh { .. } => "a refresh token",
    };
    format!("{kind} of user {}", record.subject)
}

/// The earliest expiry of a token and of the tokens that created it, directly or indirectly.
pub fn end_of(model: &Model, cred: CredIx) -> Option<i64> {
    let record = &model.creds[cred];
    let own = match record.kind {
        Kind::Token { .. } => record.expires_at,
        _ => None,
    };
    let inherited = record.parent.and_then(|parent| end_of(model, parent));
    own.into_iter().chain(inherited).min()
}

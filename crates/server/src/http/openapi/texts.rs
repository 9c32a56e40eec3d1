//! The parts of the document that signatures do not contain: the summary of each operation, and
//! the failures of the service behind its handler. `describe` and `openapi` add the failures of
//! extractors and of access checks.

use http::Method;

use super::super::failures::*;

/// Summary and failures of an operation; `None` if the table lacks it, which fails a test.
pub fn find(method: &Method, path: &str) -> Option<(&'static str, &'static [Failure])> {
    TEXTS
        .iter()
        .find(|(verb, of, ..)| *verb == method.as_str() && *of == path)
        .map(|&(_, _, summary, failures)| (summary, failures))
}

/// The subject of the operations with a tag.
pub fn of_tag(tag: &str) -> &'static str {
    match tag {
        "agent" => "The link of agents",
        "audit" => "What users changed",
        "auth" => "Signing in, and the caller's own account",
        "event-sinks" => "Receivers of events, and their deliveries",
        "events" => "Emitting and reading events",
        "groups" => "Groups, with which methods are shared",
        "mcp" => "Methods as tools of the Model Context Protocol",
        "oauth" => "Connected apps",
        "oidc" => "OpenID Connect providers that users sign in with",
        "methods" => "Discovering and calling methods",
        "operations" => "Health, numbers and documents of the server",
        "roles" => "Roles, which give permissions to users",
        "scripts" => "Stored Python scripts",
        "spaces" => "Workspaces whose agents publish methods",
        "templates" => "Templates of spaces",
        "tokens" => "API tokens of the caller",
        "users" => "Users",
        _ => "",
    }
}

#[cfg(test)]
pub fn count() -> usize {
    TEXTS.len()
}

type Text = (&'static str, &'static str, &'static str, &'static [Failure]);

#[rustfmt::skip]
const SCRIPT_SOURCE: &[Failure] = &[
    INVALID_NAME, INVALID, INVALID_SCHEMA, INVALID_SCRIPT, NAME_TAKEN, QUOTA_EXCEEDED,
    EXCEEDS_OWN_POWER, SCRIPTS_UNAVAILABLE,
];
#[rustfmt::skip]
const SINK_FIELDS: &[Failure] = &[
    INVALID_NAME, INVALID, INVALID_PATTERN, INVALID_CONFIG, INVALID_URL, INVALID_HEADER,
    INVALID_TLS, INVALID_POLICY, INVALID_SECRET, INVALID_TEMPLATE, INVALID_EXPRESSION,
    UNKNOWN_SCRIPT, INVALID_SCRIPT,
    NAME_TAKEN, QUOTA_EXCEEDED, CONFLICT, EXCEEDS_OWN_POWER, SCRIPTS_UNAVAILABLE, BUSY, SERVER_BUSY,
];
const STREAM: &[Failure] = &[INVALID_PATTERN, TOO_MANY_STREAMS];
const COMPUTED: &[Failure] = &[BUSY, SERVER_BUSY];

#[rustfmt::skip]
const TEXTS: &[Text] = &[
    ("GET", "/healthz", "Whether the process is alive", &[]),
    ("GET", "/readyz", "Whether the server can work", &[]),
    ("GET", "/metrics", "Numbers for monitoring, as OpenMetrics", &[]),
    ("GET", "/api/openapi.json", "This document", &[]),
    ("POST", "/api/auth/setup", "Create the first administrator",
        &[INVALID_SETUP_TOKEN, INVALID_NAME, INVALID_PASSWORD, USER_EXISTS, TOO_MANY_ATTEMPTS]),
    ("POST", "/api/auth/login", "Sign in; sets the session cookie",
        &[INVALID_CREDENTIALS, TOO_MANY_ATTEMPTS, PASSWORD_LOGIN_OFF]),
    ("POST", "/api/auth/sign-in", "Sign in with the one-click link of `svc up`; sets the session cookie",
        &[INVALID_SIGN_IN_LINK, LOOPBACK_ONLY]),
    ("POST", "/api/auth/logout", "Sign out; ends the session", &[]),
    ("GET", "/api/auth/me", "The caller and the credential", &[]),
    ("GET", "/api/auth/state", "Whether the server is set up, and who the caller is", &[]),
    ("POST", "/api/auth/password", "Change the caller's own password",
        &[INVALID_PASSWORD, WRONG_PASSWORD, PASSWORD_CHANGED, TOO_MANY_ATTEMPTS]),
    ("GET", "/api/auth/sessions", "List own sessions", &[]),
    ("DELETE", "/api/auth/sessions", "End all own sessions except this one", &[]),
    ("DELETE", "/api/auth/sessions/{id}", "End a session", &[]),
    ("GET", "/api/auth/oidc", "List the OpenID Connect providers of the sign-in page", &[]),
    ("POST", "/api/auth/oidc/{name}/link", "Begin to link an account at a provider; the browser goes to the address of the answer",
        &[SESSION_REQUIRED, WRONG_PASSWORD, TOO_MANY_ATTEMPTS, CONFLICT, PROVIDER_UNUSABLE]),
    ("GET", "/api/auth/identities", "List own accounts at providers", &[]),
    ("DELETE", "/api/auth/identities/{id}", "Unlink an account at a provider; its sessions end", &[LAST_IDENTITY]),
    ("GET", "/api/users", "List users", &[]),
    ("POST", "/api/users", "Create a user",
        &[INVALID_NAME, INVALID_PASSWORD, UNKNOWN_ROLE, UNKNOWN_GROUP, USER_EXISTS, ALREADY_EXISTS,
          EXCEEDS_OWN_POWER, TOO_MANY_ATTEMPTS]),
    ("GET", "/api/users/{id}", "Read a user", &[]),
    ("PATCH", "/api/users/{id}", "Change a user",
        &[INVALID_PASSWORD, UNKNOWN_ROLE, UNKNOWN_GROUP, INVALID_QUOTA, OWN_PASSWORD, OWN_ACCOUNT,
          LAST_ADMIN, USER_RUNS_SINKS, EXCEEDS_OWN_POWER, TOO_MANY_ATTEMPTS]),
    ("DELETE", "/api/users/{id}", "Delete a user",
        &[OWN_ACCOUNT, LAST_ADMIN, USER_OWNS_SPACES, USER_RUNS_SINKS, EXCEEDS_OWN_POWER]),
    ("GET", "/api/users/{id}/access", "What a user may do, and through which roles and groups", COMPUTED),
    ("GET", "/api/groups", "List groups", &[]),
    ("POST", "/api/groups", "Create a group",
        &[INVALID_NAME, GROUP_EXISTS, TOO_MANY_GROUPS, ALREADY_EXISTS]),
    ("GET", "/api/groups/{id}", "Read a group", &[]),
    ("PATCH", "/api/groups/{id}", "Rename a group",
        &[INVALID_NAME, GROUP_EXISTS, ALREADY_EXISTS, EXCEEDS_OWN_POWER]),
    ("DELETE", "/api/groups/{id}", "Delete a group", &[EXCEEDS_OWN_POWER]),
    ("GET", "/api/roles", "List roles", &[]),
    ("POST", "/api/roles", "Create a role",
        &[INVALID_NAME, ROLE_EXISTS, TOO_MANY_ROLES, ALREADY_EXISTS, EXCEEDS_OWN_POWER]),
    ("GET", "/api/roles/{id}", "Read a role", &[]),
    ("PATCH", "/api/roles/{id}", "Change a role",
        &[INVALID_NAME, ROLE_EXISTS, ALREADY_EXISTS, BUILTIN_ROLE, LAST_ADMIN, EXCEEDS_OWN_POWER]),
    ("DELETE", "/api/roles/{id}", "Delete a role", &[BUILTIN_ROLE, LAST_ADMIN, EXCEEDS_OWN_POWER]),
    ("GET", "/api/permissions", "List all permissions", &[]),
    ("GET", "/api/tokens", "List own API tokens", &[]),
    ("POST", "/api/tokens", "Create an API token; the answer shows the secret once",
        &[INVALID_NAME, INVALID_SCOPE, INVALID_EXPIRY, OUTLIVES_PARENT, QUOTA_EXCEEDED]),
    ("DELETE", "/api/tokens/{id}", "Revoke an API token", &[]),
    ("GET", "/api/oauth/requests/{id}", "Read what an app asks", &[SESSION_REQUIRED]),
    ("POST", "/api/oauth/requests/{id}", "Answer an app; the browser goes to the address of the answer",
        &[SESSION_REQUIRED]),
    ("GET", "/api/oauth/devices/{user_code}", "Read about a machine that waits for a login",
        &[SESSION_REQUIRED, TOO_MANY_ATTEMPTS]),
    ("POST", "/api/oauth/devices/{user_code}", "Let a machine log in, or not",
        &[SESSION_REQUIRED, TOO_MANY_ATTEMPTS]),
    ("GET", "/api/oauth/grants", "List connected apps", &[NOT_FOUND]),
    ("DELETE", "/api/oauth/grants/{id}", "Disconnect an app", &[]),
    ("GET", "/api/oauth/clients", "List apps", &[]),
    ("POST", "/api/oauth/clients", "Add an app; the answer shows its secret once",
        &[INVALID_NAME, INVALID_REDIRECT]),
    ("PATCH", "/api/oauth/clients/{id}", "Block an app, which disconnects it from every user", &[]),
    ("DELETE", "/api/oauth/clients/{id}", "Delete an app with its connections", &[CONFLICT]),
    ("GET", "/api/oidc/providers", "List OpenID Connect providers", &[]),
    ("POST", "/api/oidc/providers", "Add an OpenID Connect provider",
        &[INVALID_NAME, INVALID, NAME_TAKEN, ALREADY_EXISTS, TOO_MANY_PROVIDERS, UNKNOWN_ROLE, UNKNOWN_GROUP,
          EXCEEDS_OWN_POWER]),
    ("GET", "/api/oidc/providers/{id}", "Read an OpenID Connect provider", &[]),
    ("PATCH", "/api/oidc/providers/{id}", "Change an OpenID Connect provider",
        &[INVALID_NAME, INVALID, CONFLICT, UNKNOWN_ROLE, UNKNOWN_GROUP, EXCEEDS_OWN_POWER]),
    ("DELETE", "/api/oidc/providers/{id}", "Delete an OpenID Connect provider; sessions that it opened end",
        &[EXCEEDS_OWN_POWER]),
    ("GET", "/api/oidc/providers/{id}/check", "Test an OpenID Connect provider step by step",
        &[TOO_MANY_ATTEMPTS]),
    ("GET", "/api/spaces", "List spaces", &[]),
    ("POST", "/api/spaces", "Create a space; the answer shows its agent token once",
        &[INVALID_NAME, INVALID, NAME_TAKEN, CONFLICT, QUOTA_EXCEEDED, EXPIRING_CREDENTIAL,
          LOCAL_DISABLED, EXCEEDS_OWN_POWER]),
    ("GET", "/api/spaces/{id}", "Read a space", &[]),
    ("PATCH", "/api/spaces/{id}", "Change a space", &[INVALID, CONFLICT, EXCEEDS_OWN_POWER]),
    ("DELETE", "/api/spaces/{id}", "Delete a space", &[CONFLICT, EXCEEDS_OWN_POWER]),
    ("POST", "/api/spaces/{id}/start", "Start a space: its agent may connect again",
        &[CONFLICT, LOCAL_DISABLED, EXPIRING_CREDENTIAL, EXCEEDS_OWN_POWER]),
    ("POST", "/api/spaces/{id}/stop", "Stop a space", &[CONFLICT, EXCEEDS_OWN_POWER]),
    ("POST", "/api/spaces/{id}/agent-token", "Replace the agent token of a space",
        &[CONFLICT, EXPIRING_CREDENTIAL, EXCEEDS_OWN_POWER]),
    ("GET", "/api/spaces/{id}/logs", "Read the log of a space", &[CONFLICT, LINKED_ELSEWHERE]),
    ("GET", "/api/templates", "List templates", &[]),
    ("POST", "/api/templates", "Create a template",
        &[INVALID_NAME, INVALID, CONFLICT, EXCEEDS_OWN_POWER]),
    ("GET", "/api/templates/{id}", "Read a template", &[]),
    ("PATCH", "/api/templates/{id}", "Change a template",
        &[INVALID_NAME, INVALID, CONFLICT, EXCEEDS_OWN_POWER]),
    ("DELETE", "/api/templates/{id}", "Delete a template", &[CONFLICT, EXCEEDS_OWN_POWER]),
    ("GET", "/api/scripts", "List scripts", &[]),
    ("POST", "/api/scripts", "Store a script", SCRIPT_SOURCE),
    ("GET", "/api/scripts/{id}", "Read a script", &[]),
    ("PATCH", "/api/scripts/{id}", "Change a script", SCRIPT_SOURCE),
    ("DELETE", "/api/scripts/{id}", "Delete a script", &[IN_USE, EXCEEDS_OWN_POWER]),
    ("POST", "/api/scripts/{id}/run", "Run a script once, as the caller",
        &[INVALID, INVALID_EVENT, INVALID_SCRIPT, NOT_RUNNABLE, RATE_LIMITED, SCRIPTS_UNAVAILABLE]),
    ("GET", "/api/servers", "List the servers of the zone", &[]),
    ("GET", "/api/stats", "Numbers of calls, spaces, sinks and events", COMPUTED),
    ("GET", "/api/methods", "List the methods that the caller sees",
        &[TOO_MANY_WORDS, INVALID_PAGE, BUSY, SERVER_BUSY]),
    ("POST", "/api/methods/call", "Call a method, or a batch of methods", &[RATE_LIMITED]),
    ("GET", "/api/openrpc.json", "The methods that the caller sees, as OpenRPC", COMPUTED),
    ("POST", "/mcp", "Messages of the Model Context Protocol",
        &[RATE_LIMITED, BUSY, SERVER_BUSY, TOO_MANY_STREAMS]),
    ("GET", "/mcp", "The stream of a client of an older version of MCP",
        &[METHOD_NOT_ALLOWED, NOT_ACCEPTABLE, TOO_MANY_STREAMS, BUSY, SERVER_BUSY]),
    ("POST", "/api/events/emit", "Emit an event",
        &[INVALID_EVENT, PAYLOAD_TOO_LARGE, RATE_LIMITED, QUOTA_EXCEEDED]),
    ("GET", "/api/events", "List events, newest first", &[INVALID_PATTERN]),
    ("GET", "/api/events/stream", "Events as they happen", STREAM),
    ("GET", "/api/events/{id}", "Read an event", &[]),
    ("GET", "/api/events/{id}/deliveries", "The receivers of an event", &[]),
    ("GET", "/api/event-sinks", "List sinks", &[]),
    ("POST", "/api/event-sinks", "Create a sink; the answer shows the secret of a webhook once", SINK_FIELDS),
    ("POST", "/api/event-sinks/preview", "Render a body template",
        &[INVALID, INVALID_EVENT, INVALID_PATTERN, INVALID_TEMPLATE, NOT_FOUND]),
    ("GET", "/api/event-sinks/{id}", "Read a sink", &[]),
    ("PATCH", "/api/event-sinks/{id}", "Change a sink", SINK_FIELDS),
    ("DELETE", "/api/event-sinks/{id}", "Delete a sink and its queue", &[EXCEEDS_OWN_POWER]),
    ("POST", "/api/event-sinks/{id}/test", "Send an event to a sink at once",
        &[INVALID, INVALID_EVENT, INVALID_TEMPLATE, CONFLICT, RATE_LIMITED, SCRIPTS_UNAVAILABLE]),
    ("POST", "/api/event-sinks/{id}/rotate-secret", "Replace the secret of a webhook",
        &[INVALID, EXCEEDS_OWN_POWER]),
    ("POST", "/api/event-sinks/{id}/replay", "Queue past events again",
        &[INVALID, CONFLICT, EXCEEDS_OWN_POWER]),
    ("POST", "/api/event-sinks/{id}/backtest", "Try a changed sink on past events; sends nothing",
        &[INVALID, INVALID_PATTERN, INVALID_TEMPLATE, INVALID_EXPRESSION, RATE_LIMITED]),
    ("POST", "/api/event-sinks/{id}/resend", "Send deliveries again as the queue drains",
        &[INVALID, CONFLICT, EXCEEDS_OWN_POWER]),
    ("GET", "/api/event-sinks/{id}/deliveries", "List the deliveries of a sink, newest first", &[INVALID_PAGE]),
    ("POST", "/api/event-sinks/{id}/deliveries/{n}/resend", "Queue a delivery again",
        &[CONFLICT, QUEUE_FULL, EXCEEDS_OWN_POWER]),
    ("GET", "/api/audit", "List audit entries, newest first", &[]),
    ("GET", "/agent/link", "The WebSocket of an agent",
        &[INVALID_HANDSHAKE, UNSUPPORTED_LINK, UPGRADE_REQUIRED, DRAINING]),
];

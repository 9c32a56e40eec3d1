//! Every `code` that an `ApiError` may have, with its status and its meaning: the only place that
//! says which status an error has. The OpenAPI document shows the table.

/// Status, code and meaning.
pub type Failure = (u16, &'static str, &'static str);

macro_rules! failures {
    ($($name:ident = $status:literal $code:literal, $meaning:literal;)*) => {
        $(pub const $name: Failure = ($status, $code, $meaning);)*

        pub const ALL: &[Failure] = &[$($name),*];
    };
}

failures! {
    // The request itself.
    INVALID_BODY = 400 "invalid_body", "The body is not JSON or does not have the required form";
    TOO_DEEP = 400 "too_deep", "The body nests too deep";
    INVALID_QUERY = 400 "invalid_query", "A query parameter has no valid value";
    INVALID_PAGE = 400 "invalid_page", "`limit` or `cursor` is not valid";
    QUERY_TOO_LONG = 400 "query_too_long", "The query has more than 8 KiB";
    INVALID_HOST = 400 "invalid_host", "The request names no host, or more than one";
    UNAUTHORIZED = 401 "unauthorized", "No valid credential";
    FOREIGN_HOST = 403 "foreign_host", "The `Host` is not a name of this server";
    LOOPBACK_ONLY = 403 "loopback_only", "The request must come from the machine of the server";
    FOREIGN_ORIGIN = 403 "foreign_origin", "A page of another site sent the request";
    SCOPE_DENIED = 403 "scope_denied", "The scopes of the token do not include this route";
    AGENT_DENIED = 403 "agent_denied", "An agent token may not do this, or only an agent token may";
    SCRIPT_DENIED = 403 "script_denied", "A script that the server runs may not do this";
    SPACE_STOPPED = 403 "space_stopped", "The space of the agent token is stopped";
    PERMISSION_DENIED = 403 "permission_denied", "The user lacks a permission";
    NOT_FOUND = 404 "not_found", "There is no such record, or the caller may not see it";
    METHOD_NOT_ALLOWED = 405 "method_not_allowed", "This path, or this version of MCP, does not support this HTTP method";
    NOT_ACCEPTABLE = 406 "not_acceptable", "The client does not accept a stream";
    BODY_TOO_SLOW = 408 "body_too_slow", "The body did not arrive in time";
    BODY_TOO_LARGE = 413 "body_too_large", "The body is too large";
    UNSUPPORTED_MEDIA_TYPE = 415 "unsupported_media_type", "The body is not `application/json`";
    RATE_LIMITED = 429 "rate_limited", "Too many requests; see `Retry-After`";
    BUSY = 429 "busy", "The caller has too many long computations in progress";
    INTERNAL = 500 "internal", "A fault of the server; its log has the reason";
    DATABASE_UNAVAILABLE = 503 "database_unavailable", "The database cannot be reached, or its disk fails, at the moment";
    DISK_FULL = 503 "disk_full", "The disk of the server is full: nothing was stored";
    TOO_MANY_UNFINISHED_BODIES = 503 "too_many_unfinished_bodies", "The requests of the caller, or of all callers together, hold too many bytes of bodies";
    TOO_MANY_UNREAD_ANSWERS = 503 "too_many_unread_answers", "The caller, or all callers together, have too many answers that were not read";
    SERVER_BUSY = 503 "busy", "The server has too many long computations in progress";

    // Records of every kind.
    INVALID = 400 "invalid", "A field has no valid value";
    INVALID_NAME = 400 "invalid_name", "The name is not valid";
    NAME_TAKEN = 409 "name_taken", "Another record has this name";
    CONFLICT = 409 "conflict", "The state of the record does not allow this";
    QUOTA_EXCEEDED = 409 "quota_exceeded", "The user's quota is used up; see `limit` and `setting`";
    TOO_MANY_STREAMS = 429 "quota_exceeded", "The user has too many open streams; see `limit` and `setting`";
    AUDIT_USED_UP = 429 "quota_exceeded", "The user has used up today's bytes of audit entries; see `limit` and `setting`";
    EXCEEDS_OWN_POWER = 403 "exceeds_own_power", "The caller lacks a permission of the user concerned";

    // Identity.
    INVALID_SETUP_TOKEN = 401 "invalid_setup_token", "The setup link is not valid or was used";
    INVALID_SIGN_IN_LINK = 401 "invalid_sign_in_link", "The sign-in link was used or has expired";
    INVALID_CREDENTIALS = 401 "invalid_credentials", "User name or password is wrong";
    TOO_MANY_ATTEMPTS = 429 "too_many_attempts", "Too many failed attempts; see `Retry-After`";
    INVALID_PASSWORD = 400 "invalid_password", "The new password is too short or too long";
    WRONG_PASSWORD = 403 "wrong_password", "The current password is wrong";
    PROOF_REQUIRED = 403 "proof_required", "The change needs the password of the caller or, for a user without a password, a sign-in with a provider within the last 10 minutes";
    NO_PASSWORD = 403 "no_password", "The caller signs in with a provider and has no password";
    PASSWORD_CHANGED = 409 "password_changed", "The password was changed at the same time";
    OWN_PASSWORD = 409 "own_password", "Own passwords are changed with `POST /api/auth/password`";
    OWN_ACCOUNT = 409 "own_account", "Users may not deactivate or delete themselves";
    LAST_ADMIN = 409 "last_admin", "This would leave no active administrator";
    SECOND_FACTOR_REQUIRED = 403 "second_factor_required", "A role of the user requires a second factor, which must be set up first";
    SECOND_FACTOR_ADDED = 409 "second_factor_added", "A second factor was set up during the login";
    LOGIN_ENDED = 401 "login_ended", "The login has expired, or too many codes were wrong";
    INVALID_CODE = 400 "invalid_code", "The code must be six digits or a recovery code";
    WRONG_CODE = 403 "wrong_code", "The code is wrong or was used already";
    SECOND_FACTOR_LOCKED = 409 "second_factor_locked", "Too many codes of the authenticator app were wrong";
    SECOND_FACTOR_UNREADABLE = 409 "second_factor_unreadable", "The server cannot read the secret of the authenticator app, because the key of the server was replaced";
    NO_ENROLMENT = 409 "no_enrolment", "No authenticator app is being set up";
    NO_SECOND_FACTOR = 409 "no_second_factor", "The caller has no authenticator app, or no second factor at all";
    LAST_SECOND_FACTOR = 409 "last_second_factor", "A role of the caller requires a second factor";
    USER_OWNS_SPACES = 409 "user_owns_spaces", "The user still owns spaces";
    USER_RUNS_SINKS = 409 "user_runs_sinks", "Global sinks still run as this user";
    UNKNOWN_ROLE = 400 "unknown_role", "A role does not exist";
    UNKNOWN_GROUP = 400 "unknown_group", "A group does not exist";
    INVALID_QUOTA = 400 "invalid_quota", "A quota is out of range";
    TOO_MANY_GROUPS = 409 "too_many_groups", "The server has the maximum number of groups";
    TOO_MANY_ROLES = 409 "too_many_roles", "The server has the maximum number of roles";
    BUILTIN_ROLE = 409 "builtin_role", "Built-in roles cannot be deleted, and their names and permissions cannot be changed";
    INVALID_SCOPE = 400 "invalid_scope", "A scope does not exist";
    INVALID_EXPIRY = 400 "invalid_expiry", "`expires_in_days` is out of range";
    OUTLIVES_PARENT = 403 "outlives_parent", "A token must not expire later than the token that created it";
    SESSION_REQUIRED = 403 "session_required", "Only a signed-in browser may do this";
    INVALID_REDIRECT = 400 "invalid_redirect", "A redirect address of the app is not allowed";

    INVALID_PASSKEY = 400 "invalid_passkey", "The answer of the passkey is malformed";
    PASSKEY_REFUSED = 403 "passkey_refused", "The answer of the passkey is for another site or another kind of request, lacks the confirmation of the user, or has an invalid signature";
    PASSKEY_CLONED = 403 "passkey_cloned", "The counter of the passkey went back, so the passkey may have been copied";
    UNKNOWN_PASSKEY = 403 "unknown_passkey", "The passkey belongs to no user who may sign in";
    CHALLENGE_ENDED = 409 "challenge_ended", "The challenge has expired, was used already or is for another user";
    PASSKEY_EXISTS = 409 "passkey_exists", "The passkey was added already";
    TOO_MANY_PASSKEYS = 409 "too_many_passkeys", "The user has the maximum number of passkeys";
    PASSKEYS_UNAVAILABLE = 409 "passkeys_unavailable", "The address of this server has no host name";

    PASSWORD_LOGIN_OFF = 403 "password_login_off", "This user signs in with a provider and not with a passkey";
    LAST_IDENTITY = 409 "last_identity", "The user has no password and could not sign in again";
    TOO_MANY_PROVIDERS = 409 "too_many_providers", "The server has the maximum number of providers";
    PROVIDER_UNUSABLE = 502 "provider_unusable", "The provider cannot be reached or is not set up correctly";

    // Spaces.
    LINKED_ELSEWHERE = 409 "linked_elsewhere", "Another server of the zone holds the link";
    EXPIRING_CREDENTIAL = 403 "expiring_credential", "A credential that expires cannot create a credential that never expires";
    LOCAL_DISABLED = 403 "local_disabled", "This server runs no local spaces";

    // Scripts.
    INVALID_SCHEMA = 400 "invalid_schema", "`params_schema` is not a valid JSON Schema of a tool";
    INVALID_SCRIPT = 422 "invalid_script", "The embedded engine rejects the source";
    NOT_RUNNABLE = 422 "not_runnable", "Scripts of this kind cannot be run";
    IN_USE = 409 "in_use", "The script or the template is still used";
    SCRIPTS_UNAVAILABLE = 503 "scripts_unavailable", "The server cannot run scripts at the moment";

    // Methods and events.
    TOO_MANY_WORDS = 400 "too_many_words", "The search has too many words";
    INVALID_EVENT = 400 "invalid_event", "The type or the data of the event is not valid";
    PAYLOAD_TOO_LARGE = 413 "payload_too_large", "The payload is larger than 256 KiB";
    INVALID_IDEMPOTENCY_KEY = 400 "invalid_idempotency_key", "`Idempotency-Key` is empty, too long or not ASCII";
    IDEMPOTENCY_CONFLICT = 409 "idempotency_conflict", "`Idempotency-Key` was used with another body";
    INVALID_PATTERN = 400 "invalid_pattern", "An event pattern is not valid";

    // Sources and schedules.
    VERIFICATION_FAILED = 401 "verification_failed", "The source could not verify the request";
    INVALID_SETTINGS = 400 "invalid_settings", "A setting of the source is not valid";
    INVALID_SCHEDULE = 400 "invalid_schedule", "The cron expression or the time zone is not valid";

    // Sinks.
    INVALID_CONFIG = 400 "invalid_config", "The configuration does not belong to a sink of this type";
    INVALID_URL = 400 "invalid_url", "The URL of the webhook is not valid";
    INVALID_HEADER = 400 "invalid_header", "A header of the webhook is not valid";
    INVALID_POLICY = 400 "invalid_policy", "A setting of the sink's delivery policy is not valid";
    INVALID_TLS = 400 "invalid_tls", "A certificate or key of the webhook is not valid";
    INVALID_SECRET = 400 "invalid_secret", "The secret of the webhook is not valid";
    SECRET_REQUIRED = 400 "secret_required", "The URL of the webhook gets another origin, so its stored secrets must be given again";
    INVALID_EXPRESSION = 400 "invalid_expression", "The filter or key of a sink cannot be used";
    INVALID_TEMPLATE = 400 "invalid_template", "The body template cannot be rendered";
    UNKNOWN_SCRIPT = 400 "unknown_script", "The script does not exist, or is not of the kind that is needed here";
    UNKNOWN_TEMPLATE = 400 "unknown_template", "The template does not exist";
    QUEUE_FULL = 409 "queue_full", "The queue of the sink is full";

    // The link of an agent.
    INVALID_HANDSHAKE = 400 "invalid_handshake", "The WebSocket handshake is not valid";
    UNSUPPORTED_LINK = 400 "unsupported_link", "The agent uses another version of the link protocol";
    UPGRADE_REQUIRED = 426 "upgrade_required", "The request is not a WebSocket handshake";
    DRAINING = 503 "draining", "The server is stopping";
}

/// The first failure with this code. Only `busy` and `quota_exceeded` have several.
pub fn of_code(code: &str) -> Failure {
    let found = ALL.iter().find(|(_, known, _)| *known == code);
    debug_assert!(
        found.is_some(),
        "`{code}` is not in `failures.rs`, so the OpenAPI document lacks it"
    );
    found.copied().unwrap_or(INTERNAL)
}

/// Failures of every request.
pub const OF_ANY: &[Failure] = &[QUERY_TOO_LONG, INVALID_QUERY, INVALID_HOST, FOREIGN_HOST];

/// Failures of every request that needs a credential.
#[rustfmt::skip]
pub const OF_CALLER: &[Failure] = &[
    UNAUTHORIZED, FOREIGN_ORIGIN, SCOPE_DENIED, SECOND_FACTOR_REQUIRED, AGENT_DENIED, SCRIPT_DENIED,
    SPACE_STOPPED, PERMISSION_DENIED, INTERNAL, DATABASE_UNAVAILABLE, DISK_FULL,
    TOO_MANY_UNREAD_ANSWERS,
];

/// Failures of every request that changes something, except those of administrators.
pub const OF_CHANGE: &[Failure] = &[RATE_LIMITED, AUDIT_USED_UP];

/// Failures of every request with a body.
#[rustfmt::skip]
pub const OF_BODY: &[Failure] = &[
    INVALID_BODY, BODY_TOO_SLOW, BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, TOO_MANY_UNFINISHED_BODIES,
];

/// Failures of every body that is parsed as a record.
#[rustfmt::skip]
pub const OF_RECORD: &[Failure] = &[
    INVALID_BODY, TOO_DEEP, BODY_TOO_SLOW, BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE,
    TOO_MANY_UNFINISHED_BODIES, BUSY, SERVER_BUSY,
];

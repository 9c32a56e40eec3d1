-- The schema: one part for each kind of records, each table with its indexes.
--
-- Ids are UUIDv7 as TEXT, so that their order is the order of time. Times are milliseconds since 1970. Booleans are 0
-- or 1. `owner_key` is the id of the owner, or 'global' for records of the whole server. A column whose name begins
-- with `sealed`, and every `secret`, is encrypted with the key of stored secrets; tokens and codes are stored only as
-- hashes.
--
-- Long texts and data are the last columns of a table: SQLite then finds the other columns without reading them.

-- Identity: users, groups, roles, and the credentials of users (spec 5).

-- `quotas`: quotas of this user that differ from the server's: a JSON object such as {"sinks": 500}. `last_seen_at`:
-- when the user last used a credential. The server writes it once a minute, and at a login.
CREATE TABLE users (
    id TEXT PRIMARY KEY,
    username TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    active BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    last_seen_at BIGINT,
    quotas TEXT
);

CREATE TABLE groups (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE user_groups (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    group_id TEXT NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, group_id)
);
CREATE INDEX user_groups_by_group ON user_groups (group_id);

-- Every start of a server inserts the built-in roles that are missing. Their permissions are defined in the program.
CREATE TABLE roles (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    permissions TEXT NOT NULL,
    require_second_factor BIGINT NOT NULL DEFAULT 0,
    builtin BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE user_roles (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role_id TEXT NOT NULL REFERENCES roles (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, role_id)
);
CREATE INDEX user_roles_by_role ON user_roles (role_id);

-- API tokens (spec 2.4). `parent_id`: the token that created this token. Revoking the parent revokes this token too.
-- Not a foreign key: one statement deletes a token with all its descendants.
CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    parent_id TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT
);
CREATE INDEX api_tokens_by_user ON api_tokens (user_id, id);
CREATE INDEX api_tokens_by_parent ON api_tokens (parent_id) WHERE parent_id IS NOT NULL;

-- `must_enrol`: 1 if a role of the user requires a second factor and the user has none. Such a session can do little
-- more than set up a second factor.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash BLOB NOT NULL UNIQUE,
    must_enrol BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    last_used_at BIGINT,
    address TEXT NOT NULL,
    user_agent TEXT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id, id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- The audit log is kept longer than spaces and users, so it has no foreign keys. `occurrences`: how many entries are
-- merged in this one. `event_id`: the event that a receiver dropped; a merged entry has the newest one.
CREATE TABLE audit (
    id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target_type TEXT NOT NULL,
    target_id TEXT NOT NULL,
    event_id TEXT,
    occurrences BIGINT NOT NULL DEFAULT 1,
    detail TEXT NOT NULL
);
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_actor ON audit (actor, id);
CREATE INDEX audit_by_action ON audit (action, id);
CREATE INDEX audit_by_target ON audit (target_type, target_id, id);
CREATE INDEX audit_by_target_id ON audit (target_id, id);
CREATE INDEX audit_by_target_type ON audit (target_type, id);
CREATE INDEX audit_by_event ON audit (event_id) WHERE event_id IS NOT NULL;

-- Bytes of the audit entries of one day. The key is the id of a user, for entries about the user's own changes, or
-- `system <owner of lanes and spaces>`, for entries of the server about records of this owner.
CREATE TABLE audit_usage (
    owner_key TEXT PRIMARY KEY,
    day BIGINT NOT NULL,
    bytes BIGINT NOT NULL
);

-- Spaces (spec 3).

-- `saved_power`: the permissions that the user who last saved the template held at that time. A JSON list, or NULL for
-- all permissions. Scripts and sinks have this column too.
CREATE TABLE templates (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    ports TEXT NOT NULL,
    startup_script_id TEXT,
    health_check TEXT,
    custom_fields TEXT NOT NULL,
    saved_power TEXT,
    created_at BIGINT NOT NULL
);

-- A space copies the values of its template when it is created. The template can be deleted later. `health_check_by`:
-- the user who set the health check; NULL if it was the owner. `node_id`: the server that holds the link.
-- `link_instance`: the agent process that is linked; distinguishes a reconnect from a second agent.
CREATE TABLE spaces (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    stop_reason TEXT,
    health TEXT NOT NULL,
    runtime TEXT NOT NULL,
    template_id TEXT REFERENCES templates (id) ON DELETE SET NULL,
    startup_script_id TEXT,
    node_id TEXT,
    link_instance TEXT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    stopped_at BIGINT,
    deleted_at BIGINT,
    health_check TEXT NOT NULL,
    health_check_by TEXT,
    space_urls TEXT NOT NULL
);
CREATE UNIQUE INDEX spaces_by_name ON spaces (owner_id, name) WHERE state <> 'deleted';
CREATE INDEX spaces_by_owner ON spaces (owner_id, id);
CREATE INDEX spaces_by_state ON spaces (state, id);
CREATE INDEX spaces_by_template ON spaces (template_id);
-- For the search for uses of a script before it is deleted.
CREATE INDEX spaces_by_startup_script ON spaces (startup_script_id) WHERE startup_script_id IS NOT NULL;
-- For the search for the spaces of a server that is gone.
CREATE INDEX spaces_by_node ON spaces (node_id) WHERE node_id IS NOT NULL;
CREATE INDEX spaces_by_health_check_by ON spaces (health_check_by) WHERE health_check_by IS NOT NULL;
-- Lists of spaces do not read deleted spaces.
CREATE INDEX spaces_present ON spaces (id) WHERE state <> 'deleted';
CREATE INDEX spaces_present_by_owner ON spaces (owner_id, id) WHERE state <> 'deleted';

-- `made_by`: the user who created the token; NULL if it was the owner of the space.
CREATE TABLE agent_tokens (
    id TEXT PRIMARY KEY,
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    hash BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    made_by TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX agent_tokens_by_space ON agent_tokens (space_id);
CREATE INDEX agent_tokens_by_made_by ON agent_tokens (made_by) WHERE made_by IS NOT NULL;

-- Events and lanes (spec 6).

-- Events are numbered (`seq`) in the order of commits. Ids are not in this order if servers of a zone have different
-- clocks. `charged_to`: 'global' if only global sinks need the event and its owner's quota is used up; NULL if the
-- owner is charged. `trace`: the W3C `traceparent`, then a blank and the `tracestate` if there is one; NULL for an
-- event without a trace.
CREATE TABLE events (
    id TEXT PRIMARY KEY,
    seq BIGINT NOT NULL,
    type TEXT NOT NULL,
    ts BIGINT NOT NULL,
    owner_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    actor TEXT NOT NULL,
    charged_to TEXT,
    trace TEXT,
    data TEXT NOT NULL
);
CREATE INDEX events_by_owner ON events (owner_id, id);
CREATE INDEX events_by_space ON events (space_id, id);
CREATE INDEX events_by_type ON events (type, id);
CREATE INDEX events_by_owner_and_type ON events (owner_id, type, id, space_id);
CREATE INDEX events_charged ON events (id) WHERE charged_to IS NOT NULL;
CREATE INDEX events_by_seq ON events (seq);
CREATE INDEX events_by_owner_and_seq ON events (owner_id, seq);

-- One row. `newest` is the last number: a number is never used again, even after its event was removed.
CREATE TABLE event_numbers (
    id BIGINT PRIMARY KEY,
    newest BIGINT NOT NULL
);

-- Bytes of the stored events of each owner, and of the texts of attempts; 'global' for events that are charged to the
-- server.
CREATE TABLE event_usage (
    owner_key TEXT PRIMARY KEY,
    bytes BIGINT NOT NULL
);

CREATE TABLE idempotency_keys (
    user_id TEXT NOT NULL,
    key TEXT NOT NULL,
    body_hash BLOB NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_keys_expired ON idempotency_keys (expires_at);

-- Sinks (spec 2.3). `config` has the names of custom headers, each with a mask in place of its value. `policy`: how the
-- sink delivers, as JSON; '{}' is the policy of the specification. `paused`: why the service paused the sink; NULL if
-- it did not. A paused sink is not active. Webhooks are also signed with the previous secret until `previous_until`.
CREATE TABLE event_sinks (
    id TEXT PRIMARY KEY,
    owner_key TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    patterns TEXT NOT NULL,
    type TEXT NOT NULL,
    active BIGINT NOT NULL,
    paused TEXT,
    policy TEXT NOT NULL DEFAULT '{}',
    secret BLOB,
    previous_secret BLOB,
    previous_until BIGINT,
    sealed_headers BLOB,
    sealed_client_key BLOB,
    saved_power TEXT,
    created_at BIGINT NOT NULL,
    config TEXT NOT NULL
);
CREATE UNIQUE INDEX event_sinks_by_name ON event_sinks (owner_key, name);

-- A lane is the queue of a webhook or script sink, or of a subscribed method of an owner.
CREATE TABLE lanes (
    id TEXT PRIMARY KEY,
    -- The kind of receiver: 'webhook', 'script' or 'method'. Each kind has delivery slots of its own.
    delivery_kind TEXT NOT NULL,
    owner_key TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    sink_id TEXT REFERENCES event_sinks (id) ON DELETE CASCADE,
    method TEXT,
    patterns TEXT NOT NULL,
    pattern_bytes BIGINT GENERATED ALWAYS AS (octet_length(patterns)) VIRTUAL,
    formatters TEXT NOT NULL,
    -- The expression of the sink's policy.
    filter TEXT,
    -- Whether the lane delivers several events at a time, ordered by a key. Then each delivery has its own failed
    -- attempts and its own time of the next attempt.
    keyed BIGINT NOT NULL DEFAULT 0,
    -- Whether events that do not fit into the queue, or that match while the lane is inactive, are read from the stored
    -- events later.
    holds BIGINT NOT NULL DEFAULT 0,
    -- 0 if the sink or its owner is deactivated. Then no event matches, and nothing is sent.
    active BIGINT NOT NULL,

    -- The queue: the number of the newest delivery, and the number of waiting deliveries, including the one in flight.
    tail BIGINT NOT NULL,
    depth BIGINT NOT NULL,
    -- Whether `depth` is greater than 0. Indexes use this column because `depth` changes with every delivery:
    -- PostgreSQL can update a row in place (HOT) only if no column of an index changes.
    waiting BIGINT GENERATED ALWAYS AS (CASE WHEN depth > 0 THEN 1 ELSE 0 END) VIRTUAL,
    next_at BIGINT NOT NULL,
    -- Of the delivery at the head.
    failures BIGINT NOT NULL,
    starts BIGINT NOT NULL,
    -- For a sink with a rate: when the next delivery would be due if deliveries came at exactly that rate.
    rate_until BIGINT NOT NULL DEFAULT 0,

    -- A server holds the lane while `lease_until` is in the future; 0 if no server holds it. Each claim increments
    -- `fence`.
    lease_owner TEXT,
    lease_until BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    -- For the lane of a method: the server that its spaces are linked to; 'several' if there are several servers, and
    -- NULL if no space is linked.
    server_id TEXT,

    -- Dropped events, and how many of these users have replayed. The other dropped events count as lost.
    dropped BIGINT NOT NULL,
    recovered BIGINT NOT NULL DEFAULT 0,
    -- Whether the lane dropped events since its queue was last empty.
    dropping BIGINT NOT NULL DEFAULT 0,

    -- The number of the first event that the lane has not checked; NULL if it has checked all events.
    refill_from BIGINT,
    -- The number of rows in `lane_feeds`.
    feeds BIGINT NOT NULL DEFAULT 0,
    -- 1 if `refill_from` is not NULL or the lane has feeds.
    refilling BIGINT NOT NULL DEFAULT 0,
    filter_errors BIGINT NOT NULL DEFAULT 0,
    filter_error TEXT,

    -- Failed attempts in a row, across deliveries, and since when.
    failed_in_row BIGINT NOT NULL DEFAULT 0,
    failing_since BIGINT,
    -- The state that the last `sink.*` event about this lane reported; NULL while deliveries succeed.
    reported TEXT,

    -- The former `owner_key` of a removed lane. Its deliveries, and then the lane, are removed in small steps; until
    -- then their texts count in `event_usage` of this key. NULL for all other lanes.
    removed_from TEXT
);
CREATE INDEX lanes_by_owner ON lanes (owner_key, active);
CREATE UNIQUE INDEX lanes_by_sink ON lanes (sink_id);
CREATE UNIQUE INDEX lanes_by_method ON lanes (owner_id, method);
CREATE INDEX lanes_refilling ON lanes (owner_key, id) WHERE refilling = 1;
-- Finds the first due lane of an owner quickly, however many lanes the owner has. `lease_until` is 0 for lanes that are
-- not held, and in the past for lanes whose lease has expired.
CREATE INDEX lanes_due_by_owner ON lanes (delivery_kind, owner_key, lease_until, next_at)
    WHERE waiting = 1 AND active = 1;
CREATE INDEX lanes_removed ON lanes (removed_from, id) WHERE removed_from IS NOT NULL;
-- Finds the lanes of an owner that still have to check an event.
CREATE INDEX lanes_by_refill_from ON lanes (owner_key, refill_from) WHERE refilling = 1;
-- Counts an owner's subscriptions and the bytes of their patterns.
CREATE INDEX lanes_of_methods ON lanes (owner_id, pattern_bytes) WHERE sink_id IS NULL;
-- Finds the lanes of methods that a server may deliver from.
CREATE INDEX lanes_due_by_server ON lanes (server_id, owner_key, lease_until, next_at)
    WHERE waiting = 1 AND active = 1 AND server_id IS NOT NULL;

-- The spaces whose registrations declare a method's subscription (spec 6.4). The lane is removed with the last
-- declaration. `server_id`: the server that the space is linked to (`spaces.node_id`).
CREATE TABLE lane_declarations (
    lane_id TEXT NOT NULL REFERENCES lanes (id) ON DELETE CASCADE,
    space_id TEXT NOT NULL,
    server_id TEXT,
    PRIMARY KEY (lane_id, space_id)
);
CREATE INDEX lane_declarations_by_space ON lane_declarations (space_id);
CREATE INDEX lane_declarations_by_server ON lane_declarations (lane_id, server_id);

-- The keys of a lane: an event can match the lane only if one of them matches, so other lanes of the same owner cost
-- nothing. `text` is an exact type (`chars` is -1), or the first `chars` characters of matching types.
-- `store::lanes::patterns` has the rule.
CREATE TABLE lane_patterns (
    lane_id TEXT NOT NULL REFERENCES lanes (id) ON DELETE CASCADE,
    owner_key TEXT NOT NULL,
    chars BIGINT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (lane_id, chars, text)
);
CREATE INDEX lane_patterns_by_text ON lane_patterns (owner_key, chars, text, lane_id);

-- Past events that a user sends again and that are queued as the lane drains. `selection` is JSON. `position`: the last
-- event or delivery that was handled. `total` and `queued`: how many past events the request selected, and how many
-- were queued.
CREATE TABLE lane_feeds (
    lane_id TEXT NOT NULL REFERENCES lanes (id) ON DELETE CASCADE,
    n BIGINT NOT NULL,
    selection TEXT NOT NULL,
    position TEXT NOT NULL,
    total BIGINT NOT NULL,
    queued BIGINT NOT NULL DEFAULT 0,
    started_at BIGINT NOT NULL,
    PRIMARY KEY (lane_id, n)
);

-- `failures` and `retry_at` are used only in a lane that is ordered by a key. `resent_as`: for a delivery that was sent
-- again, the number of the new delivery. `resend_of`: for the new delivery, the number of the old one.
-- `exchange_bytes`: bytes of all texts of the attempts. They count in `event_usage` of the lane's owner.
CREATE TABLE deliveries (
    lane_id TEXT NOT NULL REFERENCES lanes (id) ON DELETE CASCADE,
    n BIGINT NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    state TEXT NOT NULL,
    queued_at BIGINT NOT NULL,
    finished_at BIGINT,
    failures BIGINT NOT NULL DEFAULT 0,
    retry_at BIGINT NOT NULL DEFAULT 0,
    resent_as BIGINT,
    resend_of BIGINT,
    exchange_bytes BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (lane_id, n)
);
CREATE INDEX deliveries_waiting ON deliveries (lane_id, n) WHERE state = 'pending';
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX deliveries_by_event ON deliveries (event_id);
CREATE INDEX deliveries_with_exchanges ON deliveries (lane_id, n) WHERE exchange_bytes > 0;
-- A page of dead deliveries does not read the others.
CREATE INDEX deliveries_dead ON deliveries (lane_id, n) WHERE state = 'dead';

-- `exchange`: the request and the head of its response, as JSON; NULL unless the sink keeps them. `output_omitted`: 1
-- if the texts of the attempt (and earlier attempts of the delivery) were not kept, because the owner's stored bytes
-- are used up. Such an attempt does not count in `event_usage`.
CREATE TABLE attempts (
    lane_id TEXT NOT NULL,
    n BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    at BIGINT NOT NULL,
    status BIGINT,
    ms BIGINT NOT NULL,
    output_omitted BIGINT NOT NULL DEFAULT 0,
    error TEXT,
    output TEXT,
    exchange TEXT,
    PRIMARY KEY (lane_id, n, attempt),
    FOREIGN KEY (lane_id, n) REFERENCES deliveries (lane_id, n) ON DELETE CASCADE
);

-- Stored scripts. Kind and owner never change. `title` and `annotations` (as JSON) are those of a tool script.
CREATE TABLE scripts (
    id TEXT PRIMARY KEY,
    owner_key TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    title TEXT,
    description TEXT NOT NULL,
    saved_power TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    annotations TEXT,
    params_schema TEXT,
    source TEXT NOT NULL
);
CREATE UNIQUE INDEX scripts_by_name ON scripts (owner_key, kind, name);

-- A zone: the servers that share this database, and the changes that all of them must see.

-- `links` and `side_links`: the numbers of agents whose home is this server, and of links of other agents.
-- `advertise_url`: the address that the server announces to agents, or empty if it announces none. Agents of the zone
-- also link to announced servers other than their home server.
CREATE TABLE servers (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    advertise_url TEXT NOT NULL,
    svc_version TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    links BIGINT NOT NULL,
    side_links BIGINT NOT NULL,
    draining BIGINT NOT NULL
);

-- Changes of records that every server keeps in memory and must read again. Writers take turns, so the order of numbers
-- is the order of commits: a server that has read a number has missed no change before it.
CREATE TABLE zone_changes (
    id BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL
);
CREATE INDEX zone_changes_by_time ON zone_changes (at);

-- How much of their limits the users of a server use, as a JSON object. One row for each server.
CREATE TABLE limit_use (
    server_id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    uses TEXT NOT NULL
);

-- Counters of failed logins. A slot is a short hash of a name, an address or a pair of both, so the number of rows is
-- limited.
CREATE TABLE login_failures (
    slot BIGINT PRIMARY KEY,
    count BIGINT NOT NULL,
    last BIGINT NOT NULL
);

-- Requests of a server for the log of a space that is linked to another server, `server_id`. The other server writes
-- `lines`.
CREATE TABLE log_requests (
    id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    server_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    after_line BIGINT,
    line_limit BIGINT NOT NULL,
    lines TEXT
);

-- OAuth: apps that users connect to their accounts, and logins of machines without a browser.
--
-- `network`, here and in the tables of other unfinished logins: rows that a request without a credential causes have
-- the network of the client, an IPv6 /48 or an IPv4 /24. When there are too many rows, the network with the most rows
-- loses its oldest ones. With the index `…_by_network`, the rows are counted and ranked without reading them.

-- `client_id` is the id that the app presents. `fresh_until`: when the document of an app of the kind `metadata` is
-- read again.
CREATE TABLE oauth_clients (
    id TEXT PRIMARY KEY,
    client_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    secret_hash BLOB,
    fresh_until BIGINT NOT NULL,
    blocked BIGINT NOT NULL,
    network TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL,
    last_used_at BIGINT
);
-- Apps that no user has ever connected, for the limit of their number.
CREATE INDEX oauth_clients_never_used ON oauth_clients (network, fresh_until DESC, id DESC)
    WHERE last_used_at IS NULL AND blocked = 0 AND kind IN ('registered', 'metadata');

-- Requests of apps that the user has not answered yet. `session_id`: the session that opened the request first. Until
-- this session ends, no other session may answer the request.
CREATE TABLE oauth_consents (
    id TEXT PRIMARY KEY,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL,
    state TEXT,
    challenge TEXT NOT NULL,
    scopes TEXT NOT NULL CHECK (scopes <> ''),
    resource TEXT NOT NULL,
    issuer TEXT NOT NULL,
    session_id TEXT,
    network TEXT NOT NULL DEFAULT '',
    expires_at BIGINT NOT NULL
);
CREATE INDEX oauth_consents_by_expiry ON oauth_consents (expires_at);
CREATE INDEX oauth_consents_by_client ON oauth_consents (client_id);
CREATE INDEX oauth_consents_by_network ON oauth_consents (network, expires_at DESC, id DESC);

CREATE TABLE oauth_grants (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    scopes TEXT NOT NULL CHECK (scopes <> ''),
    resource TEXT NOT NULL,
    redirect_host TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    expires_at BIGINT NOT NULL
);
CREATE INDEX oauth_grants_by_user ON oauth_grants (user_id, id);
CREATE INDEX oauth_grants_by_client ON oauth_grants (client_id);
CREATE INDEX oauth_grants_by_expiry ON oauth_grants (expires_at);

-- `grant_id`, `token_id`: the grant, or the API token of a login, that the code was exchanged for. A second exchange of
-- the code ends this grant or token.
CREATE TABLE oauth_codes (
    hash BLOB PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL,
    scopes TEXT NOT NULL CHECK (scopes <> ''),
    resource TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    grant_id TEXT,
    token_id TEXT
);
CREATE INDEX oauth_codes_by_expiry ON oauth_codes (expires_at);
CREATE INDEX oauth_codes_by_user ON oauth_codes (user_id);
CREATE INDEX oauth_codes_by_client ON oauth_codes (client_id);

-- Access and refresh tokens. A token of an app always has a scope. `replaced_at`: when a refresh token was exchanged
-- for the next one.
CREATE TABLE oauth_tokens (
    id TEXT PRIMARY KEY,
    grant_id TEXT NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    scopes TEXT NOT NULL CHECK (scopes <> '' AND scopes <> 'cli'),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    replaced_at BIGINT
);
CREATE INDEX oauth_tokens_by_grant ON oauth_tokens (grant_id, id);
CREATE INDEX oauth_tokens_by_user ON oauth_tokens (user_id, id);
CREATE INDEX oauth_tokens_by_expiry ON oauth_tokens (expires_at);

-- Logins of machines without a browser. `user_id`: the user who approved the login.
CREATE TABLE oauth_devices (
    hash BLOB PRIMARY KEY,
    user_code TEXT NOT NULL UNIQUE,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    address TEXT NOT NULL,
    network TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL,
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    polled_at BIGINT,
    poll_seconds BIGINT NOT NULL
);
CREATE INDEX oauth_devices_by_expiry ON oauth_devices (expires_at);
CREATE INDEX oauth_devices_by_user ON oauth_devices (user_id);
CREATE INDEX oauth_devices_by_client ON oauth_devices (client_id);
CREATE INDEX oauth_devices_by_network ON oauth_devices (network, expires_at DESC, hash DESC);

-- Sign-in with OpenID Connect providers.

-- `required_claims`: accepted values by claim, for new users. `mappings`: which values of `groups_claim` mean which
-- group or role of this server.
CREATE TABLE oidc_providers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    issuer TEXT NOT NULL UNIQUE,
    client_id TEXT NOT NULL,
    sealed_secret BLOB,
    scopes TEXT NOT NULL,
    enabled BIGINT NOT NULL,
    create_users BIGINT NOT NULL,
    required_claims TEXT NOT NULL,
    groups_claim TEXT,
    mappings TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- Accounts at providers, and the users they belong to. `email` and `display_name` are only shown.
CREATE TABLE oidc_identities (
    id TEXT PRIMARY KEY,
    provider_id TEXT NOT NULL REFERENCES oidc_providers (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    email TEXT,
    display_name TEXT,
    created_at BIGINT NOT NULL,
    last_login_at BIGINT,
    UNIQUE (issuer, sub)
);
CREATE INDEX oidc_identities_by_user ON oidc_identities (user_id, id);
CREATE INDEX oidc_identities_by_provider ON oidc_identities (provider_id);

-- Groups and roles that users got from their provider. `kind`: `group` or `role`.
CREATE TABLE oidc_memberships (
    identity_id TEXT NOT NULL REFERENCES oidc_identities (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    target_id TEXT NOT NULL,
    PRIMARY KEY (identity_id, kind, target_id)
);

-- Sign-ins that the provider has not answered yet. `browser_hash`: the hash of the cookie of the browser that began the
-- sign-in. `link_session_id`: set if a user links an account instead of signing in; the session of this user.
CREATE TABLE oidc_logins (
    state_hash BLOB PRIMARY KEY,
    browser_hash BLOB NOT NULL,
    provider_id TEXT NOT NULL REFERENCES oidc_providers (id) ON DELETE CASCADE,
    nonce TEXT NOT NULL,
    verifier TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    return_to TEXT NOT NULL,
    link_session_id TEXT,
    network TEXT NOT NULL DEFAULT '',
    expires_at BIGINT NOT NULL
);
CREATE INDEX oidc_logins_by_expiry ON oidc_logins (expires_at);
CREATE INDEX oidc_logins_by_provider ON oidc_logins (provider_id);
CREATE INDEX oidc_logins_by_network ON oidc_logins (network, expires_at DESC, state_hash DESC);

-- The next three tables have what users created in sessions of a provider. `sid` is the id of the session at the
-- provider: a logout there ends the sessions, grants and tokens here.

CREATE TABLE oidc_sessions (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    identity_id TEXT NOT NULL REFERENCES oidc_identities (id) ON DELETE CASCADE,
    sid TEXT
);
CREATE INDEX oidc_sessions_by_identity ON oidc_sessions (identity_id, session_id);

-- Grants and API tokens, by their ids. `target_id` names a row of one of two tables, so it is not a foreign key.
CREATE TABLE oidc_grants (
    target_id TEXT PRIMARY KEY,
    identity_id TEXT NOT NULL REFERENCES oidc_identities (id) ON DELETE CASCADE,
    sid TEXT
);
CREATE INDEX oidc_grants_by_identity ON oidc_grants (identity_id);

-- Codes of apps and of devices that were not exchanged for tokens yet, by their hashes.
CREATE TABLE oidc_pending_grants (
    hash BLOB PRIMARY KEY,
    identity_id TEXT NOT NULL REFERENCES oidc_identities (id) ON DELETE CASCADE,
    sid TEXT,
    expires_at BIGINT NOT NULL
);
CREATE INDEX oidc_pending_grants_by_identity ON oidc_pending_grants (identity_id);
CREATE INDEX oidc_pending_grants_by_expiry ON oidc_pending_grants (expires_at);

-- Logout tokens that providers have sent, so that each is accepted only once.
CREATE TABLE oidc_logout_tokens (
    hash BLOB PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX oidc_logout_tokens_by_expiry ON oidc_logout_tokens (expires_at);

-- Second factors of logins with a password, and passkeys.

-- Authenticator apps. A code of `last_step` or an earlier step is not accepted again. `wrong_codes`: the number of
-- wrong codes since the last accepted code.
CREATE TABLE totp (
    user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret BLOB NOT NULL,
    last_step BIGINT NOT NULL,
    wrong_codes BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

-- Apps whose first code has not been entered yet.
CREATE TABLE totp_enrolments (
    user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret BLOB NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX totp_enrolments_by_expiry ON totp_enrolments (expires_at);

-- Unused recovery codes. The use of a code deletes its row.
CREATE TABLE recovery_codes (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash BLOB NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- Passkeys of users (WebAuthn). `public_key` is a COSE key. `counter`: the signature counter in the last accepted
-- answer; 0 for authenticators without a counter.
CREATE TABLE passkeys (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    credential_id BLOB NOT NULL UNIQUE,
    public_key BLOB NOT NULL,
    counter BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT
);
CREATE INDEX passkeys_by_user ON passkeys (user_id);

-- Challenges that no passkey has answered yet. `user_id` is NULL for logins without a password.
CREATE TABLE passkey_challenges (
    hash BLOB PRIMARY KEY,
    purpose TEXT NOT NULL,
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    network TEXT NOT NULL DEFAULT '',
    expires_at BIGINT NOT NULL
);
CREATE INDEX passkey_challenges_by_user ON passkey_challenges (user_id, expires_at);
CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires_at);
CREATE INDEX passkey_challenges_by_network ON passkey_challenges (network, expires_at DESC, hash DESC)
    WHERE user_id IS NULL;

-- Logins with the right password that still need the second factor. `proof` depends on the password, so a new password
-- ends these logins.
CREATE TABLE pending_logins (
    hash BLOB PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    proof BLOB NOT NULL,
    tries BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX pending_logins_by_user ON pending_logins (user_id, expires_at);
CREATE INDEX pending_logins_by_expiry ON pending_logins (expires_at);

-- Sources (inbound requests of other services) and schedules. Both emit events for their owner.

-- `token_hash`: the SHA-256 of the secret in the URL. Requests may also be signed with the previous secret until
-- `previous_until`.
CREATE TABLE sources (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    token_hash BLOB NOT NULL UNIQUE,
    verify TEXT NOT NULL,
    event_type TEXT NOT NULL,
    headers TEXT NOT NULL,
    active BIGINT NOT NULL,
    secret BLOB,
    previous_secret BLOB,
    previous_until BIGINT,
    created_at BIGINT NOT NULL,
    UNIQUE (owner_id, name)
);

-- `next_at`: the next run; NULL if the schedule is not active. The transaction that emits the event of a run also moves
-- `next_at`, so each run has at most one event. `failure`: why the last run made no event.
CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    cron TEXT NOT NULL,
    timezone TEXT NOT NULL,
    missed TEXT NOT NULL,
    active BIGINT NOT NULL,
    next_at BIGINT,
    last_at BIGINT,
    last_event_id TEXT,
    failure TEXT,
    created_at BIGINT NOT NULL,
    payload TEXT NOT NULL,
    UNIQUE (owner_id, name)
);
CREATE INDEX schedules_by_next ON schedules (next_at) WHERE next_at IS NOT NULL;

-- Calls and statistics. A row is a block: packed rows of many calls, or the counts of one period. A block is never
-- changed.

-- The call journal: calls to the methods of one owner. `kept`: 1 for a block of calls that were kept when the block
-- that held them was removed: see `core::journal::fair`.
CREATE TABLE call_blocks (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    kept BIGINT NOT NULL DEFAULT 0,
    data BLOB NOT NULL
);
CREATE INDEX call_blocks_by_owner ON call_blocks (owner_id, last_at, first_at);
CREATE INDEX call_blocks_by_time ON call_blocks (last_at, first_at);

-- The callers that occur in a block. The nil id means that there are too many to list them.
CREATE TABLE call_block_callers (
    user_id TEXT NOT NULL,
    last_at BIGINT NOT NULL,
    block_id TEXT NOT NULL REFERENCES call_blocks (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, last_at, block_id)
);
CREATE INDEX call_block_callers_by_block ON call_block_callers (block_id);

-- Recorded params and answers of calls to the methods of one owner. `call_blocks` has the other data of these calls.
CREATE TABLE call_payloads (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    byte_count BIGINT NOT NULL,
    kept BIGINT NOT NULL DEFAULT 0,
    data BLOB NOT NULL
);
CREATE INDEX call_payloads_by_owner ON call_payloads (owner_id, last_at, first_at);
CREATE INDEX call_payloads_by_time ON call_payloads (last_at);

-- The calls of all methods of one owner in one period. Several servers of a zone may write a block for the same period.
CREATE TABLE method_stats (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    starts_at BIGINT NOT NULL,
    period_ms BIGINT NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX method_stats_by_owner ON method_stats (owner_id, starts_at);
CREATE INDEX method_stats_by_period ON method_stats (period_ms, starts_at);

-- The calls that one user made in one period. Blocks of the owner 00000000-0000-0000-0000-000000000000 count the calls
-- of all users: this id belongs to no user, so there is no foreign key.
CREATE TABLE call_stats (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    period_ms BIGINT NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX call_stats_by_owner ON call_stats (owner_id, starts_at);
CREATE INDEX call_stats_by_period ON call_stats (period_ms, starts_at);

-- Single values, such as the id of the server and the version of svc.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

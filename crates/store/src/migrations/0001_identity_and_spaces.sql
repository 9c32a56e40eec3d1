-- Ids are UUIDv7 as TEXT, so that their order is the order of time; times are milliseconds since
-- 1970; booleans are 0 or 1; these tables hold secrets only as hashes.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE users (
    id TEXT PRIMARY KEY,
    username TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    active BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE groups (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

-- The permissions of built-in roles are defined in the program, not here.
CREATE TABLE roles (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    permissions TEXT NOT NULL,
    builtin BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE user_groups (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    group_id TEXT NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, group_id)
);
CREATE INDEX user_groups_by_group ON user_groups (group_id);

CREATE TABLE user_roles (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role_id TEXT NOT NULL REFERENCES roles (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, role_id)
);
CREATE INDEX user_roles_by_role ON user_roles (role_id);

CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT
);
CREATE INDEX api_tokens_by_user ON api_tokens (user_id, id);

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash BLOB NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    last_used_at BIGINT,
    address TEXT NOT NULL,
    user_agent TEXT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id, id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE templates (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    ports TEXT NOT NULL,
    startup_script_id TEXT,
    health_check TEXT,
    custom_fields TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- A space copies the values of its template when it is created. The template can be deleted later.
CREATE TABLE spaces (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    owner_id TEXT NOT NULL REFERENCES users (id),
    state TEXT NOT NULL,
    stop_reason TEXT,
    health TEXT NOT NULL,
    runtime TEXT NOT NULL,
    template_id TEXT REFERENCES templates (id) ON DELETE SET NULL,
    startup_script_id TEXT,
    health_check TEXT NOT NULL,
    node_id TEXT,
    space_urls TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    stopped_at BIGINT,
    deleted_at BIGINT
);
CREATE UNIQUE INDEX spaces_by_name ON spaces (owner_id, name) WHERE state <> 'deleted';
CREATE INDEX spaces_by_owner ON spaces (owner_id, id);
CREATE INDEX spaces_by_state ON spaces (state, id);
CREATE INDEX spaces_by_template ON spaces (template_id);

CREATE TABLE agent_tokens (
    id TEXT PRIMARY KEY,
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    hash BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX agent_tokens_by_space ON agent_tokens (space_id);

-- The audit log is kept longer than spaces and users, so it has no foreign keys.

CREATE TABLE audit (
    id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target_type TEXT NOT NULL,
    target_id TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_actor ON audit (actor, id);
CREATE INDEX audit_by_action ON audit (action, id);
CREATE INDEX audit_by_target ON audit (target_type, target_id, id);

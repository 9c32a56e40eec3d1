-- OAuth: apps that users connect to their accounts, and logins of machines without a browser.

-- `client_id` is the id that the app presents. `fresh_until`: when the document of an app of the
-- kind `metadata` is read again.
CREATE TABLE oauth_clients (
    id TEXT PRIMARY KEY,
    client_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    secret_hash BLOB,
    fresh_until BIGINT NOT NULL,
    blocked BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT
);

-- Requests of apps that the user has not answered yet. `session_id`: the session that opened the
-- request first. Until this session ends, no other session may answer the request.
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
    expires_at BIGINT NOT NULL
);
CREATE INDEX oauth_consents_by_expiry ON oauth_consents (expires_at);
CREATE INDEX oauth_consents_by_client ON oauth_consents (client_id);

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

-- `grant_id`, `token_id`: the grant, or the API token of a login, that the code was exchanged for.
-- A second exchange of the code ends this grant or token.
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

-- Access and refresh tokens. A token of an app always has a scope. `replaced_at`: when a refresh
-- token was exchanged for the next one.
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

-- Sign-in with OpenID Connect providers.

-- `sealed_secret`: the client secret, encrypted with the key of stored secrets. `required_claims`:
-- accepted values by claim, for new users. `mappings`: which values of `groups_claim` mean which group
-- or role of this server.
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

-- Sign-ins that the provider has not answered yet. `browser_hash`: the hash of the cookie of the
-- browser that began the sign-in. `link_session_id`: set if a user links an account instead of
-- signing in; the session of this user.
CREATE TABLE oidc_logins (
    state_hash BLOB PRIMARY KEY,
    browser_hash BLOB NOT NULL,
    provider_id TEXT NOT NULL REFERENCES oidc_providers (id) ON DELETE CASCADE,
    nonce TEXT NOT NULL,
    verifier TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    return_to TEXT NOT NULL,
    link_session_id TEXT,
    expires_at BIGINT NOT NULL
);
CREATE INDEX oidc_logins_by_expiry ON oidc_logins (expires_at);
CREATE INDEX oidc_logins_by_provider ON oidc_logins (provider_id);

-- Groups and roles that users got from their provider. `kind`: `group` or `role`.
CREATE TABLE oidc_memberships (
    identity_id TEXT NOT NULL REFERENCES oidc_identities (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    target_id TEXT NOT NULL,
    PRIMARY KEY (identity_id, kind, target_id)
);

-- Sessions that a provider opened. `sid`: the session at the provider.
CREATE TABLE oidc_sessions (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    identity_id TEXT NOT NULL REFERENCES oidc_identities (id) ON DELETE CASCADE,
    sid TEXT
);
CREATE INDEX oidc_sessions_by_identity ON oidc_sessions (identity_id, session_id);

-- Logout tokens that providers have sent, so that each is accepted only once.
CREATE TABLE oidc_logout_tokens (
    hash BLOB PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX oidc_logout_tokens_by_expiry ON oidc_logout_tokens (expires_at);

-- Grants and tokens that users created in sessions of an OpenID Connect provider. `sid` is the id of
-- the session at the provider.

-- Grants and API tokens, by their ids. `target_id` names a row of one of two tables, so it is not a
-- foreign key.
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

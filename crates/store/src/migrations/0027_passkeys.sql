-- Passkeys of users (WebAuthn). `public_key` is a COSE key. `counter`: the signature counter
-- in the last accepted answer; 0 for authenticators without a counter.
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

-- Challenges that no passkey has answered yet. `user_id` is null for logins without a password.
CREATE TABLE passkey_challenges (
    hash BLOB PRIMARY KEY,
    purpose TEXT NOT NULL,
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX passkey_challenges_by_user ON passkey_challenges (user_id, expires_at);
CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires_at);

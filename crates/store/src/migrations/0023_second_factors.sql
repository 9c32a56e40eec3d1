-- Second factors of logins with a password.

ALTER TABLE roles ADD COLUMN require_second_factor BIGINT NOT NULL DEFAULT 0;

-- Authenticator apps. `secret` is encrypted. A code of `last_step` or an earlier step is not accepted
-- again. `wrong_codes`: the number of wrong codes since the last accepted code.
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

-- Logins with the right password that still need the second factor. `proof` depends on the password,
-- so a new password ends these logins.
CREATE TABLE pending_logins (
    hash BLOB PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    proof BLOB NOT NULL,
    tries BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX pending_logins_by_user ON pending_logins (user_id, expires_at);
CREATE INDEX pending_logins_by_expiry ON pending_logins (expires_at);

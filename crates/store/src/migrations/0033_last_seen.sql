-- When a user last used a credential. The server writes it once a minute, and at a login.

ALTER TABLE users ADD COLUMN last_seen_at BIGINT;

-- Sources (inbound requests of other services) and schedules. Both emit events for their owner.

-- `token_hash`: the SHA-256 of the secret in the URL. `secret` and `previous_secret` are encrypted.
-- Requests may also be signed with the previous secret until `previous_until`.
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

-- `next_at`: the next run; null if the schedule is not active. The transaction that emits the event of a
-- run also moves `next_at`, so each run has at most one event. `failure`: why the last run made no event.
CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    cron TEXT NOT NULL,
    timezone TEXT NOT NULL,
    payload TEXT NOT NULL,
    missed TEXT NOT NULL,
    active BIGINT NOT NULL,
    next_at BIGINT,
    last_at BIGINT,
    last_event_id TEXT,
    failure TEXT,
    created_at BIGINT NOT NULL,
    UNIQUE (owner_id, name)
);
CREATE INDEX schedules_by_next ON schedules (next_at) WHERE next_at IS NOT NULL;

-- Events, lanes, deliveries and attempts.

CREATE TABLE events (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    ts BIGINT NOT NULL,
    owner_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    actor TEXT NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX events_by_owner ON events (owner_id, id);
CREATE INDEX events_by_space ON events (space_id, id);

-- `owner_key` is the owner's id, or 'global'.
CREATE TABLE event_sinks (
    id TEXT PRIMARY KEY,
    owner_key TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    patterns TEXT NOT NULL,
    type TEXT NOT NULL,
    active BIGINT NOT NULL,
    config TEXT NOT NULL,
    secret BLOB,
    previous_secret BLOB,
    previous_until BIGINT,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX event_sinks_by_name ON event_sinks (owner_key, name);

-- One queue per webhook or script sink, and per subscribed method of an owner. `tail` is the number
-- of the newest delivery, `depth` the number of waiting deliveries, including the one in flight.
-- `active` is false if the sink or its owner is deactivated. Then no event matches, and nothing is
-- sent. A server holds a lane while `lease_until` is in the future. Each claim increments `fence`.
CREATE TABLE lanes (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    owner_key TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    sink_id TEXT REFERENCES event_sinks (id) ON DELETE CASCADE,
    method TEXT,
    patterns TEXT NOT NULL,
    formatters TEXT NOT NULL,
    active BIGINT NOT NULL,
    tail BIGINT NOT NULL,
    depth BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    starts BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    dropped BIGINT NOT NULL
);
CREATE INDEX lanes_by_owner ON lanes (owner_key, active);
CREATE INDEX lanes_due ON lanes (next_at) WHERE depth > 0 AND active = 1;
CREATE UNIQUE INDEX lanes_by_sink ON lanes (sink_id);
CREATE UNIQUE INDEX lanes_by_method ON lanes (owner_id, method);

-- The spaces whose registrations declare a method's subscription. The lane is removed with the last
-- declaration.
CREATE TABLE lane_declarations (
    lane_id TEXT NOT NULL REFERENCES lanes (id) ON DELETE CASCADE,
    space_id TEXT NOT NULL,
    PRIMARY KEY (lane_id, space_id)
);
CREATE INDEX lane_declarations_by_space ON lane_declarations (space_id);

CREATE TABLE deliveries (
    lane_id TEXT NOT NULL REFERENCES lanes (id) ON DELETE CASCADE,
    n BIGINT NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    state TEXT NOT NULL,
    queued_at BIGINT NOT NULL,
    finished_at BIGINT,
    PRIMARY KEY (lane_id, n)
);
CREATE INDEX deliveries_waiting ON deliveries (lane_id, n) WHERE state = 'pending';
CREATE INDEX deliveries_by_event ON deliveries (event_id) WHERE state = 'pending';
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE attempts (
    lane_id TEXT NOT NULL,
    n BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    at BIGINT NOT NULL,
    status BIGINT,
    ms BIGINT NOT NULL,
    error TEXT,
    output TEXT,
    PRIMARY KEY (lane_id, n, attempt),
    FOREIGN KEY (lane_id, n) REFERENCES deliveries (lane_id, n) ON DELETE CASCADE
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

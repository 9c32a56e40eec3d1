-- Limits that hold for the whole zone, and logs that any server can read.

-- `uses`: how much of their limits the users of a server use, as a JSON object. One row for each server.
CREATE TABLE limit_use (
    server_id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    uses TEXT NOT NULL
);

-- Counters of failed logins. A slot is a short hash of a name, an address or a pair of both, so the
-- number of rows is limited.
CREATE TABLE login_failures (
    slot BIGINT PRIMARY KEY,
    count BIGINT NOT NULL,
    last BIGINT NOT NULL
);

-- Requests of a server for the log of a space that is linked to another server, `server_id`. The other
-- server writes `lines`.
CREATE TABLE log_requests (
    id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    server_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    after_line BIGINT,
    line_limit BIGINT NOT NULL,
    lines TEXT
);

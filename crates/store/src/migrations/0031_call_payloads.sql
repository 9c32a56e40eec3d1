-- Recorded params and answers of calls. A row is a block: it holds the params and answers of calls to the methods of
-- one owner, and is never changed. `call_blocks` has the other data of these calls.

CREATE TABLE call_payloads (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    byte_count BIGINT NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX call_payloads_by_owner ON call_payloads (owner_id, last_at, first_at);
CREATE INDEX call_payloads_by_time ON call_payloads (last_at);

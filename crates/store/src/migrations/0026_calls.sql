-- The call journal. A block holds packed rows of calls to the methods of one owner, and is never changed.

CREATE TABLE call_blocks (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX call_blocks_by_owner ON call_blocks (owner_id, last_at, first_at);
CREATE INDEX call_blocks_by_time ON call_blocks (last_at, first_at);

-- The callers that occur in a block. The nil id means that there are too many to list them.
CREATE TABLE call_block_callers (
    user_id TEXT NOT NULL,
    last_at BIGINT NOT NULL,
    block_id TEXT NOT NULL REFERENCES call_blocks (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, last_at, block_id)
);
CREATE INDEX call_block_callers_by_block ON call_block_callers (block_id);

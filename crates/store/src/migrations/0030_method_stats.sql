-- Statistics of methods. A row is a block: it counts the calls of all methods of one owner in one period. Several
-- servers of a zone may write a block for the same period.

CREATE TABLE method_stats (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    starts_at BIGINT NOT NULL,
    period_ms BIGINT NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX method_stats_by_owner ON method_stats (owner_id, starts_at);
CREATE INDEX method_stats_by_period ON method_stats (period_ms, starts_at);

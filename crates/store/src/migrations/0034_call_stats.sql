-- Statistics of calls. A row is a block: it counts the calls that one user made in one period. Blocks of the owner
-- 00000000-0000-0000-0000-000000000000 count the calls of all users: this id belongs to no user, so there is no foreign
-- key. Several servers of a zone may write a block for the same period.

CREATE TABLE call_stats (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    period_ms BIGINT NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX call_stats_by_owner ON call_stats (owner_id, starts_at);
CREATE INDEX call_stats_by_period ON call_stats (period_ms, starts_at);

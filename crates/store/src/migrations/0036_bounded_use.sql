-- What a user causes to be stored is counted and bounded: audit entries, attempts of deliveries, recorded calls.

-- Bytes of the audit entries of one day. The key is the id of a user, for entries about the user's own changes, or
-- `system <owner of lanes and spaces>`, for entries of the server about records of this owner.
CREATE TABLE audit_usage (
    owner_key TEXT PRIMARY KEY,
    day BIGINT NOT NULL,
    bytes BIGINT NOT NULL
);

-- How many entries are merged in this one.
ALTER TABLE audit ADD COLUMN occurrences BIGINT NOT NULL DEFAULT 1;

-- The event that a receiver dropped. A merged entry has the newest one.
ALTER TABLE audit ADD COLUMN event_id TEXT;
CREATE INDEX audit_by_event ON audit (event_id) WHERE event_id IS NOT NULL;

-- 1 if the texts of the attempt (and earlier attempts of the delivery) were not kept, because the owner's stored bytes
-- are used up. Such an attempt does not count in `event_usage`.
ALTER TABLE attempts ADD COLUMN output_omitted BIGINT NOT NULL DEFAULT 0;

-- `exchange_bytes` now counts all texts of the attempts of a delivery. Earlier attempts are counted here.
INSERT INTO event_usage (owner_key, bytes)
    SELECT DISTINCT l.owner_key, 0 FROM lanes l
    WHERE NOT EXISTS (SELECT 1 FROM event_usage u WHERE u.owner_key = l.owner_key);
UPDATE event_usage SET bytes = bytes - COALESCE((
    SELECT CAST(SUM(d.exchange_bytes) AS BIGINT) FROM lanes l JOIN deliveries d ON d.lane_id = l.id
    WHERE l.owner_key = event_usage.owner_key), 0);
UPDATE deliveries SET exchange_bytes = COALESCE((
    SELECT CAST(SUM(64 + COALESCE(octet_length(a.error), 0) + COALESCE(octet_length(a.output), 0)
        + COALESCE(octet_length(a.exchange), 0)) AS BIGINT)
    FROM attempts a WHERE a.lane_id = deliveries.lane_id AND a.n = deliveries.n
        AND (a.error IS NOT NULL OR a.output IS NOT NULL OR a.exchange IS NOT NULL)), 0);
UPDATE event_usage SET bytes = bytes + COALESCE((
    SELECT CAST(SUM(d.exchange_bytes) AS BIGINT) FROM lanes l JOIN deliveries d ON d.lane_id = l.id
    WHERE l.owner_key = event_usage.owner_key), 0);

-- 1 for a block of calls that were kept when the block that held them was removed: see `core::journal::fair`.
ALTER TABLE call_blocks ADD COLUMN kept BIGINT NOT NULL DEFAULT 0;
ALTER TABLE call_payloads ADD COLUMN kept BIGINT NOT NULL DEFAULT 0;

-- A page of dead deliveries does not read the others.
CREATE INDEX deliveries_dead ON deliveries (lane_id, n) WHERE state = 'dead';

-- Bytes of stored events, for each owner; 'global' for those the server is charged with.
CREATE TABLE event_usage (
    owner_key TEXT PRIMARY KEY,
    bytes BIGINT NOT NULL
);
INSERT INTO event_usage (owner_key, bytes)
    SELECT owner_id, CAST(SUM(octet_length(data) + 512) AS BIGINT) FROM events GROUP BY owner_id;

-- 'global' once only global sinks need the event and its owner has no bytes left.
ALTER TABLE events ADD COLUMN charged_to TEXT;
CREATE INDEX events_charged ON events (id) WHERE charged_to IS NOT NULL;

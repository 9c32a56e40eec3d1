-- Bytes of stored events of each owner; 'global' for events that are charged to the server.
CREATE TABLE event_usage (
    owner_key TEXT PRIMARY KEY,
    bytes BIGINT NOT NULL
);
INSERT INTO event_usage (owner_key, bytes)
    SELECT owner_id, CAST(SUM(octet_length(data) + 512) AS BIGINT) FROM events GROUP BY owner_id;

-- 'global' if only global sinks need the event and its owner's quota is used up; NULL if the owner is charged.
ALTER TABLE events ADD COLUMN charged_to TEXT;
CREATE INDEX events_charged ON events (id) WHERE charged_to IS NOT NULL;

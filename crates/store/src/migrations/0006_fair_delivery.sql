-- What a lane delivers to: 'webhook', 'script' or 'method'. Each kind has delivery slots of its own.
-- A server of the version before does not write this column; a new one corrects it when it starts.
ALTER TABLE lanes ADD COLUMN delivery_kind TEXT NOT NULL DEFAULT 'webhook';
UPDATE lanes SET delivery_kind = 'method' WHERE kind = 'method';
UPDATE lanes SET delivery_kind = 'script' WHERE sink_id IN (
    SELECT id FROM event_sinks WHERE type = 'script');

-- The first lane of an owner that is due, whatever else the owner has: lanes that are not held have
-- `lease_until` 0, those whose lease has run out a moment in the past.
CREATE INDEX lanes_due_by_owner ON lanes (delivery_kind, owner_key, lease_until, next_at)
    WHERE depth > 0 AND active = 1;

-- What lists are narrowed by.
CREATE INDEX events_by_type ON events (type, id);
CREATE INDEX events_by_owner_and_type ON events (owner_id, type, id, space_id);
CREATE INDEX audit_by_target_id ON audit (target_id, id);
CREATE INDEX audit_by_target_type ON audit (target_type, id);

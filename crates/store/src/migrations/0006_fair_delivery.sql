-- The kind of receiver: 'webhook', 'script' or 'method'. Each kind has delivery slots of its own.
-- A server of the previous version does not write this column; a newer server corrects it at its
-- start.
ALTER TABLE lanes ADD COLUMN delivery_kind TEXT NOT NULL DEFAULT 'webhook';
UPDATE lanes SET delivery_kind = 'method' WHERE kind = 'method';
UPDATE lanes SET delivery_kind = 'script' WHERE sink_id IN (
    SELECT id FROM event_sinks WHERE type = 'script');

-- Finds the first due lane of an owner quickly, however many lanes the owner has. `lease_until` is 0
-- for lanes that are not held, and in the past for lanes whose lease has expired.
CREATE INDEX lanes_due_by_owner ON lanes (delivery_kind, owner_key, lease_until, next_at)
    WHERE depth > 0 AND active = 1;

-- For the filters of lists.
CREATE INDEX events_by_type ON events (type, id);
CREATE INDEX events_by_owner_and_type ON events (owner_id, type, id, space_id);
CREATE INDEX audit_by_target_id ON audit (target_id, id);
CREATE INDEX audit_by_target_type ON audit (target_type, id);

-- How a sink delivers, as JSON; '{}' is the policy of the specification.
ALTER TABLE event_sinks ADD COLUMN policy TEXT NOT NULL DEFAULT '{}';
-- Why the service paused the sink; NULL unless it did. A paused sink is not active.
ALTER TABLE event_sinks ADD COLUMN paused TEXT;

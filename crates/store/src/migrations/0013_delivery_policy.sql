-- How a sink delivers, as JSON; '{}' is the policy of the specification.
ALTER TABLE event_sinks ADD COLUMN policy TEXT NOT NULL DEFAULT '{}';
-- Why the service paused the sink; NULL if it did not. A paused sink is not active.
ALTER TABLE event_sinks ADD COLUMN paused TEXT;

-- Failed attempts in a row, across deliveries, and since when. `reported` is the state that the last
-- `sink.*` event about this lane reported; NULL while deliveries succeed.
ALTER TABLE lanes ADD COLUMN failed_in_row BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN failing_since BIGINT;
ALTER TABLE lanes ADD COLUMN reported TEXT;
-- For a sink with a rate: when the next delivery would be due if deliveries came at exactly that rate.
ALTER TABLE lanes ADD COLUMN rate_until BIGINT NOT NULL DEFAULT 0;

-- Whether the lane delivers several events at a time, ordered by a key. Then each delivery has its
-- own failed attempts and its own time of the next attempt.
ALTER TABLE lanes ADD COLUMN keyed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN retry_at BIGINT NOT NULL DEFAULT 0;

-- Whether the lane dropped events since its queue was last empty.
ALTER TABLE lanes ADD COLUMN dropping BIGINT NOT NULL DEFAULT 0;

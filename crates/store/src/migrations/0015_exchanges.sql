-- The request of an attempt and the head of its response, as JSON; NULL unless the sink keeps them.
ALTER TABLE attempts ADD COLUMN exchange TEXT;
-- Bytes of the exchanges of a delivery's attempts. They count in `event_usage` of the lane's owner.
ALTER TABLE deliveries ADD COLUMN exchange_bytes BIGINT NOT NULL DEFAULT 0;
CREATE INDEX deliveries_with_exchanges ON deliveries (lane_id, n) WHERE exchange_bytes > 0;

-- Events are numbered (`seq`) in the order of commits. Ids are not in this order if servers of a zone have
-- different clocks. `newest` is the last number: a number is never used again, even after its event was removed.
CREATE TABLE event_numbers (
    id BIGINT PRIMARY KEY,
    newest BIGINT NOT NULL
);
ALTER TABLE events ADD COLUMN seq BIGINT;
UPDATE events SET seq = numbered.n FROM (
    SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS n FROM events) AS numbered
    WHERE numbered.id = events.id;
INSERT INTO event_numbers (id, newest)
    SELECT 1, last.n FROM (SELECT MAX(seq) AS n FROM events) AS last WHERE last.n IS NOT NULL;
CREATE INDEX events_by_seq ON events (seq);
CREATE INDEX events_by_owner_and_seq ON events (owner_id, seq);

-- A lane is the queue of a sink or of a subscribed method. `holds`: events that do not fit into the
-- queue, or that match while the lane is inactive, are read from the stored events later. `filter`:
-- the expression of the sink's policy. `refill_from`: the number of the first event that the lane
-- has not checked; NULL if it has checked all events. `feeds`: the number of rows in
-- `lane_feeds`. `refilling` is 1 if `refill_from` is not NULL or the lane has feeds.
ALTER TABLE lanes ADD COLUMN holds BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN filter TEXT;
ALTER TABLE lanes ADD COLUMN refill_from BIGINT;
ALTER TABLE lanes ADD COLUMN feeds BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN refilling BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN filter_errors BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN filter_error TEXT;
CREATE INDEX lanes_refilling ON lanes (owner_key, id) WHERE refilling = 1;

-- Past events that a user sends again and that are queued as the lane drains. `selection` is JSON,
-- `position` is the last event or delivery that was handled.
CREATE TABLE lane_feeds (
    lane_id TEXT NOT NULL REFERENCES lanes (id) ON DELETE CASCADE,
    n BIGINT NOT NULL,
    selection TEXT NOT NULL,
    position TEXT NOT NULL,
    PRIMARY KEY (lane_id, n)
);

-- For a delivery that was sent again: the number of the new delivery. For the new delivery: the number of the old one.
ALTER TABLE deliveries ADD COLUMN resent_as BIGINT;
ALTER TABLE deliveries ADD COLUMN resend_of BIGINT;

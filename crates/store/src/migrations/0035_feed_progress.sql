-- The progress of a feed: how many past events the request selected, how many of them were queued, and when the request
-- was made.
ALTER TABLE lane_feeds ADD COLUMN total BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lane_feeds ADD COLUMN queued BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lane_feeds ADD COLUMN started_at BIGINT NOT NULL DEFAULT 0;

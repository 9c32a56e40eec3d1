-- How many of the dropped events a user has replayed since. The other dropped events count as lost.
ALTER TABLE lanes ADD COLUMN recovered BIGINT NOT NULL DEFAULT 0;

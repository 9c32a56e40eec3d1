-- How many of the lane's dropped events users have replayed. The other dropped events count as lost.
ALTER TABLE lanes ADD COLUMN recovered BIGINT NOT NULL DEFAULT 0;

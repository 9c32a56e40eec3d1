-- How many of the dropped events a user has replayed since. The others are lost so far.
ALTER TABLE lanes ADD COLUMN recovered BIGINT NOT NULL DEFAULT 0;

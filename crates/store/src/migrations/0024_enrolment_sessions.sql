-- `must_enrol`: 1 if a role of the user requires a second factor and the user has none. Such a session
-- can do little more than set up a second factor.

ALTER TABLE sessions ADD COLUMN must_enrol BIGINT NOT NULL DEFAULT 0;

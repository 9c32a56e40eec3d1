-- Sessions of users whose role requires a second factor and who have none: they may only set one up.

ALTER TABLE sessions ADD COLUMN must_enrol BIGINT NOT NULL DEFAULT 0;

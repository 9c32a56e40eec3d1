-- Sessions of users who have no second factor although a role requires one. Such a session may only
-- set up a second factor.

ALTER TABLE sessions ADD COLUMN must_enrol BIGINT NOT NULL DEFAULT 0;

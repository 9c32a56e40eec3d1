-- The oldest schema version whose servers may use the database after the step of this row. NULL
-- means the version of that step.
ALTER TABLE schema_migrations ADD COLUMN compatible_since BIGINT;

-- The oldest schema version whose servers may use the database after this step. NULL: the version
-- of this step.
ALTER TABLE schema_migrations ADD COLUMN compatible_since BIGINT;

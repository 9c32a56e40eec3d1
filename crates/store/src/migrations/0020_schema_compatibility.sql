-- The oldest schema version whose servers may use the database after a step. NULL: the version of the
-- step itself.
ALTER TABLE schema_migrations ADD COLUMN compatible_since BIGINT;

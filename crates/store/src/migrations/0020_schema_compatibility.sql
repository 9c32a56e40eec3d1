-- The oldest schema version whose servers may use the database after this step. NULL: no other
-- version than that of the step, or a newer one.
ALTER TABLE schema_migrations ADD COLUMN compatible_since BIGINT;

-- `waiting`: whether a lane has waiting deliveries. The index uses `waiting` and not `depth`, because
-- `depth` changes with every delivery. PostgreSQL can update a row in place (HOT) only if no column of
-- an index changes. The column is generated, so that it is right even if a server of the previous
-- version writes the row.
ALTER TABLE lanes ADD COLUMN waiting BIGINT
    GENERATED ALWAYS AS (CASE WHEN depth > 0 THEN 1 ELSE 0 END) VIRTUAL;
DROP INDEX lanes_due;
DROP INDEX lanes_due_by_owner;
CREATE INDEX lanes_due_by_owner ON lanes (delivery_kind, owner_key, lease_until, next_at)
    WHERE waiting = 1 AND active = 1;

-- Whether a lane has waiting deliveries. Unlike `depth`, this rarely changes: PostgreSQL can update a
-- lane in place (HOT) as long as no column of an index changes. A generated column, so that a server
-- of the previous version keeps it right.
ALTER TABLE lanes ADD COLUMN waiting BIGINT
    GENERATED ALWAYS AS (CASE WHEN depth > 0 THEN 1 ELSE 0 END) VIRTUAL;
DROP INDEX lanes_due;
DROP INDEX lanes_due_by_owner;
CREATE INDEX lanes_due_by_owner ON lanes (delivery_kind, owner_key, lease_until, next_at)
    WHERE waiting = 1 AND active = 1;

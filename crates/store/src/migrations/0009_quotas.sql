-- Quotas of a single user that differ from the server's: a JSON object such as {"sinks": 500}.
-- NULL if there are none.
ALTER TABLE users ADD COLUMN quotas TEXT;

-- Lanes are found by what an event or a server asks for, so that other lanes of the same owner cost nothing.

-- The keys of a lane: an event can match the lane only if one of them matches. `text` is an exact type (`chars` is -1), or
-- the first `chars` characters of matching types. `store::lanes::patterns` has the rule.
CREATE TABLE lane_patterns (
    lane_id TEXT NOT NULL REFERENCES lanes (id) ON DELETE CASCADE,
    owner_key TEXT NOT NULL,
    chars BIGINT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (lane_id, chars, text)
);
CREATE INDEX lane_patterns_by_text ON lane_patterns (owner_key, chars, text, lane_id);

-- Walks through each list of patterns, which are separated by commas, character by character.
INSERT INTO lane_patterns (lane_id, owner_key, chars, text)
WITH RECURSIVE walk (lane_id, owner_key, rest, text, ended) AS (
    SELECT id, owner_key, patterns || ',', substr(patterns, 1, 0), 0 FROM lanes
    UNION ALL
    SELECT lane_id, owner_key, substr(rest, 2),
        CASE WHEN ended = 1 THEN '' ELSE text END || CASE WHEN rest LIKE ',%' THEN '' ELSE substr(rest, 1, 1) END,
        CASE WHEN rest LIKE ',%' THEN 1 ELSE 0 END
    FROM walk WHERE rest <> '')
SELECT DISTINCT lane_id, owner_key,
    CASE WHEN text LIKE '%*' THEN length(text) - 1 ELSE -1 END,
    CASE WHEN text LIKE '%*' THEN substr(text, 1, length(text) - 1) ELSE text END
FROM walk WHERE ended = 1;

-- Finds the lanes of an owner that still have to check an event.
CREATE INDEX lanes_by_refill_from ON lanes (owner_key, refill_from) WHERE refilling = 1;

-- Counts an owner's subscriptions and the bytes of their patterns.
ALTER TABLE lanes ADD COLUMN pattern_bytes BIGINT GENERATED ALWAYS AS (octet_length(patterns)) VIRTUAL;
CREATE INDEX lanes_of_methods ON lanes (owner_id, pattern_bytes) WHERE sink_id IS NULL;

-- The server that the space of a declaration is linked to (`spaces.node_id`).
ALTER TABLE lane_declarations ADD COLUMN server_id TEXT;
UPDATE lane_declarations SET server_id = (SELECT s.node_id FROM spaces s WHERE s.id = lane_declarations.space_id);
CREATE INDEX lane_declarations_by_server ON lane_declarations (lane_id, server_id);

-- For the lane of a method: the server that its spaces are linked to; 'several' if there are several servers, and NULL if no
-- space is linked.
ALTER TABLE lanes ADD COLUMN server_id TEXT;
UPDATE lanes SET server_id = (
    SELECT CASE WHEN MIN(d.server_id) <> MAX(d.server_id) THEN 'several' ELSE MIN(d.server_id) END
    FROM lane_declarations d WHERE d.lane_id = lanes.id);
CREATE INDEX lanes_due_by_server ON lanes (server_id, owner_key, lease_until, next_at)
    WHERE waiting = 1 AND active = 1 AND server_id IS NOT NULL;

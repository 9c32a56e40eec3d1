-- A zone: the servers that share this database, and the changes that all of them must see.

CREATE TABLE servers (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    svc_version TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    links BIGINT NOT NULL,
    draining BIGINT NOT NULL
);

-- Changes of records that every server keeps in memory and must read again. Writers take turns, so
-- the order of numbers is the order of commits: a server that has read a number has missed no change
-- before it.
CREATE TABLE zone_changes (
    id BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL
);
CREATE INDEX zone_changes_by_time ON zone_changes (at);

-- For the search for the spaces of a server that is gone.
CREATE INDEX spaces_by_node ON spaces (node_id) WHERE node_id IS NOT NULL;

-- The agent process that is linked. Distinguishes a reconnect from a second agent.
ALTER TABLE spaces ADD COLUMN link_instance TEXT;

-- A zone: the servers that share this database, and what they tell one another.

CREATE TABLE servers (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    svc_version TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    links BIGINT NOT NULL,
    draining BIGINT NOT NULL
);

-- What every server keeps in memory and must read again. Writers take turns, so that the order of
-- numbers is the order of commits: whoever has read up to one has missed nothing before it.
CREATE TABLE zone_changes (
    id BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL
);
CREATE INDEX zone_changes_by_time ON zone_changes (at);

-- Which spaces a server has, asked when it is gone.
CREATE INDEX spaces_by_node ON spaces (node_id) WHERE node_id IS NOT NULL;

-- Which agent process is linked: one that merely moved is not told that another took its place.
ALTER TABLE spaces ADD COLUMN link_instance TEXT;

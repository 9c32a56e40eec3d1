-- The address that a server announces to agents, or empty if it announces none. Agents of the zone
-- also link to announced servers other than their home server.
ALTER TABLE servers ADD COLUMN advertise_url TEXT NOT NULL DEFAULT '';

-- Number of side links: links of agents whose home link is to another server.
ALTER TABLE servers ADD COLUMN side_links BIGINT NOT NULL DEFAULT 0;

-- The address that a server announces to agents; empty if it announces none. Agents of the zone link
-- to every announced server.
ALTER TABLE servers ADD COLUMN advertise_url TEXT NOT NULL DEFAULT '';

-- Number of side links: links of agents whose home link is to another server.
ALTER TABLE servers ADD COLUMN side_links BIGINT NOT NULL DEFAULT 0;

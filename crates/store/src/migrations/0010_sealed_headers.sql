-- Values of custom webhook headers, encrypted like the signing secrets. `config` keeps the names,
-- each with a masked value. A plain value was written by an earlier version.
ALTER TABLE event_sinks ADD COLUMN sealed_headers BLOB;

-- Whether the server reads `sealed_headers`. Values stay plain as long as one server of the zone
-- does not read this column.
ALTER TABLE servers ADD COLUMN reads_sealed_headers BIGINT NOT NULL DEFAULT 0;

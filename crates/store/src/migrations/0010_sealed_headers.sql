-- Values of custom webhook headers, encrypted like the signing secrets. `config` keeps the names,
-- each with a mask in place of the value. Earlier versions wrote the plain values into `config`.
ALTER TABLE event_sinks ADD COLUMN sealed_headers BLOB;

-- Whether the server reads `sealed_headers`. Earlier versions wrote plain values as long as one
-- server of the zone did not read `sealed_headers`. Now servers always encrypt.
ALTER TABLE servers ADD COLUMN reads_sealed_headers BIGINT NOT NULL DEFAULT 0;

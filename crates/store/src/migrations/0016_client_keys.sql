-- The private key of a webhook's client certificate, encrypted like the signing secrets.
ALTER TABLE event_sinks ADD COLUMN sealed_client_key BLOB;

-- What became of an event: every delivery of it is found, not only those that wait.

DROP INDEX deliveries_by_event;
CREATE INDEX deliveries_by_event ON deliveries (event_id);

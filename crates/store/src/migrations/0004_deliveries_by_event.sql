-- For the list of all deliveries of an event, not only the waiting ones.

DROP INDEX deliveries_by_event;
CREATE INDEX deliveries_by_event ON deliveries (event_id);

-- For the list of all deliveries of an event. The old index has only the waiting deliveries.

DROP INDEX deliveries_by_event;
CREATE INDEX deliveries_by_event ON deliveries (event_id);

-- The trace of an event: its W3C `traceparent`, then a space and its `tracestate` if there is one. NULL
-- for an event without a trace.
ALTER TABLE events ADD COLUMN trace TEXT;

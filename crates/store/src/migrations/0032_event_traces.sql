-- The trace of an event: its W3C `traceparent`, then a blank and its `tracestate` if it has one. NULL
-- for an event without a trace.
ALTER TABLE events ADD COLUMN trace TEXT;

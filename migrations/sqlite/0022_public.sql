-- The status page asks, every few seconds, for what went on since a month ago: what of a monitor is open, or ended since. By
-- `incidents_of_monitor` that reads everything that ever happened to it. What is open ends after all that ended.
CREATE INDEX incidents_of_monitor_by_end ON incidents (monitor, COALESCE(resolved_at, 9223372036854775807));

-- Which beats are a monitor's own is known in memory until their hour is sealed (src/store/values/beat_rows.rs): more
-- than half of what a commit wrote were pages of this index, since each beat fell on another one.
DROP INDEX beats_of_monitor;

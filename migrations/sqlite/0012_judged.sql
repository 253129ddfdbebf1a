-- What a change of rules is tried on: everything that was judged, as it was judged.
--
-- Locks have no number yet, so nothing was ever written of one.
ALTER TABLE beats DROP COLUMN lock_hash;
ALTER TABLE beats ADD COLUMN lock INTEGER NOT NULL DEFAULT 0; -- the lock file in force, by its number; 0: none
ALTER TABLE beats ADD COLUMN signals TEXT NOT NULL DEFAULT ''; -- a letter for each signal's level, then the reasons of the elevated ones
ALTER TABLE beats ADD COLUMN source_count INTEGER;            -- where the list of sources was looked at
ALTER TABLE beats ADD COLUMN newest_source INTEGER;           -- when the newest of them was indexed, in microseconds
ALTER TABLE beats ADD COLUMN newest_known INTEGER;             -- whether that is the newest of all there are
ALTER TABLE asks ADD COLUMN cache TEXT NOT NULL DEFAULT 'unsaid';
ALTER TABLE asks ADD COLUMN self_reported TEXT;               -- what the answer admits of itself, a line each

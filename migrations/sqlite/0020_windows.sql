-- Time in maintenance is counted apart: whether a beat fell into a window that keeps its monitor's availability quiet, by the
-- file as it was then.
ALTER TABLE beats ADD COLUMN maintenance INTEGER NOT NULL DEFAULT 0;
ALTER TABLE beat_packs ADD COLUMN apart INTEGER NOT NULL DEFAULT 0; -- of those seen, beats in maintenance; none of them is in up

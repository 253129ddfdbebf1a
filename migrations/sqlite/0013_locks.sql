-- Which lock a beat was judged against: what is pinned of a monitor, by the number that beats and packs know it by.
--
-- A row comes with each `serin pin` that is in force for a beat, a few a year for a monitor. None is dropped, since packs
-- name them for as long as they are kept.
CREATE TABLE locks (
    number INTEGER PRIMARY KEY, -- beats.lock; 0 stands for no lock and has no row
    hash TEXT NOT NULL UNIQUE   -- changes exactly when something that is pinned of the monitor changes
) STRICT;

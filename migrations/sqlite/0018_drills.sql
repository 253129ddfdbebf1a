-- Drills of the file: since when each is known, when each was told, and what came of it at each receiver.
--
-- A drill is told once for each moment it is due at, whatever dies or is edited in between: the row of its run, its
-- messages and the promises to bring them are one transaction.
CREATE TABLE IF NOT EXISTS drills (
    drill TEXT NOT NULL PRIMARY KEY, -- a hash over when and whom it tells
    since INTEGER NOT NULL           -- what was due before is not told
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS drill_runs (
    id TEXT NOT NULL PRIMARY KEY,    -- UUIDv7
    drill TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    begun_at INTEGER NOT NULL,
    place TEXT NOT NULL,             -- the line of the file that it came by, such as monitors.yaml:12
    UNIQUE (drill, due_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS drill_runs_by_time ON drill_runs (begun_at);

-- A run that was missed has none.
CREATE TABLE IF NOT EXISTS drill_receipts (
    run TEXT NOT NULL,
    receiver TEXT NOT NULL,
    notification TEXT NOT NULL,
    begun_at INTEGER NOT NULL,       -- the run's
    timeout_us INTEGER NOT NULL,     -- how long the receiver may take
    ended_at INTEGER,                -- empty while it is awaited
    took_us INTEGER,                 -- from the promise to its yes; empty where it did not accept it in time
    answer TEXT NOT NULL DEFAULT '', -- what the last try was answered, where it did not
    PRIMARY KEY (run, receiver)
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS drill_receipts_awaited ON drill_receipts (begun_at) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS drill_receipts_of_receiver ON drill_receipts (receiver, begun_at);

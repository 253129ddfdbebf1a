-- How many transactions of each machine that shares a fleet on a server decided something: by this a machine knows after a
-- failover which of its decisions the new server lacks. A file is one machine's alone: there it stays empty.
CREATE TABLE decisions (
    node TEXT NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL, -- of the last one
    decided_at INTEGER NOT NULL -- by the server's clock, after which it is forgotten
) STRICT, WITHOUT ROWID;

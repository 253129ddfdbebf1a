-- Machines that share a fleet on a server, and which of them watches which shard. A file is one machine's alone: there both
-- stay empty.
DROP TABLE leases;
CREATE TABLE leases (
    role TEXT NOT NULL,
    location TEXT NOT NULL,
    shard INTEGER NOT NULL CHECK (shard BETWEEN 0 AND 255),
    node TEXT,
    epoch INTEGER NOT NULL,
    PRIMARY KEY (role, location, shard)
) STRICT, WITHOUT ROWID;
CREATE TABLE nodes (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    file TEXT NOT NULL,
    session INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

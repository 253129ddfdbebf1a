-- What probes learnt about a server, and what they cost it.

-- Without it every restart of Serin would ask `server/discover` of servers that die of it.
CREATE TABLE learnt (
    monitor TEXT NOT NULL PRIMARY KEY,
    address TEXT NOT NULL,       -- a hash; what was learnt of another address is worth nothing
    era TEXT,
    transport TEXT,
    found_at INTEGER,
    discover TEXT NOT NULL,      -- unchecked | harmless | harmful
    closing TEXT NOT NULL,
    certificate_until INTEGER,   -- of the chain seen last
    admits_strangers INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A row a monitor and day, written every few minutes: a kill -9 forgets that much of the day's count.
CREATE TABLE footprints (
    monitor TEXT NOT NULL,
    day INTEGER NOT NULL,        -- days since 1970-01-01, UTC
    beats INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    bytes_in INTEGER NOT NULL,
    connections INTEGER NOT NULL,
    sessions_opened INTEGER NOT NULL,
    sessions_closed INTEGER NOT NULL,
    tokens INTEGER NOT NULL,     -- of the answers; 0 where they were not counted
    PRIMARY KEY (monitor, day)
) STRICT, WITHOUT ROWID;

-- Keys of the API, and what was asked for with which right.

-- A key is a random secret that is shown once; only its hash is kept (SHA-256 of 256 random bits needs no salt).
CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL,
    made_by TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- Ended before its time.
    ended_at INTEGER,
    ended_by TEXT
) STRICT, WITHOUT ROWID;

-- One row an action that somebody with a right asked for, whatever came of it.
CREATE TABLE audit (
    id TEXT NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    -- Whose right it was: `token`, `key NAME`, `loopback`, `link RECEIVER`.
    who TEXT NOT NULL,
    -- The address it came from.
    source TEXT NOT NULL,
    -- Method and path, such as `POST /silences`.
    action TEXT NOT NULL,
    -- The HTTP status it was answered with.
    status INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Silences: somebody's word that nobody need be told of what matches, until a moment or until an incident is over.
-- The table of the first migration demanded an end in time; nothing ever wrote to it.
DROP TABLE silences;
CREATE TABLE silences (
    id TEXT PRIMARY KEY,
    matchers TEXT NOT NULL,      -- JSON: lists of slugs and ids, an object of labels; never empty
    author TEXT NOT NULL,
    comment TEXT NOT NULL,
    from_at INTEGER NOT NULL,
    until_at INTEGER,            -- empty where it ends with an incident
    until_incident TEXT,         -- which one; empty where it ends by itself
    ended_at INTEGER,            -- when it was ended before its time; empty while it holds, or where it ran out
    ended_by TEXT                -- by whom; serin where its incident was over
) STRICT, WITHOUT ROWID;

CREATE INDEX silences_open ON silences (until_at) WHERE ended_at IS NULL;
CREATE INDEX silences_of_incident ON silences (until_incident) WHERE until_incident IS NOT NULL AND ended_at IS NULL;

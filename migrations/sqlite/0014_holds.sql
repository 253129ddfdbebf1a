-- What holds the telling of an incident, and what held it: why people were not told of it, or later.
--
-- Only telling is held. The incident itself opened, is counted and shown all the same.
CREATE TABLE holds (
    incident TEXT NOT NULL,      -- the one that is held
    kind TEXT NOT NULL,          -- cause: another incident of the same monitor explains it
    by TEXT NOT NULL,            -- which one: of a cause, the incident that explains
    since INTEGER NOT NULL,
    until INTEGER,               -- when it ends by itself; empty where it ends with what holds
    ended_at INTEGER,            -- empty while it holds
    PRIMARY KEY (incident, kind, by, since)
) STRICT, WITHOUT ROWID;

-- What an incident explains stands on its own page.
CREATE INDEX holds_by ON holds (by);

-- What the machine that watches a monitor publishes of it, so that each can show the whole fleet.
CREATE TABLE standings (
    monitor TEXT NOT NULL PRIMARY KEY,
    shard INTEGER NOT NULL, -- the first byte of SHA-256 of the id
    version INTEGER NOT NULL, -- of its shard, when it was written
    node TEXT NOT NULL, -- who wrote it
    standing TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX standings_by_version ON standings (shard, version);

-- A version is given out under a lock that lasts until its rows are seen: who has read one has missed none before it, as by a
-- time of day they might. Apart from `shards`, whose rows are locked by whoever decides.
CREATE TABLE standing_versions (
    shard INTEGER NOT NULL PRIMARY KEY CHECK (shard BETWEEN 0 AND 255),
    version INTEGER NOT NULL
) STRICT;
INSERT INTO standing_versions (shard, version)
SELECT shard, 0 FROM shards;

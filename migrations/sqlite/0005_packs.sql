-- A year of memory in little space: beats of an hour that is over become one pack, beats of a day one row.

-- Every stage has its histogram; tools_elapsed was there already.
ALTER TABLE beats ADD COLUMN connect_elapsed INTEGER;
ALTER TABLE beats ADD COLUMN handshake_elapsed INTEGER;
ALTER TABLE beats ADD COLUMN health_elapsed INTEGER;

-- Nothing was ever written into these; what took their place follows.
DROP TABLE beat_packs;
DROP TABLE day_counts;
DROP TABLE histograms;

-- One monitor as seen from one place, by a number: the key of a pack is then one integer, which is appended in
-- order, so pages are filled to the brim and no index of texts is kept beside the packs.
CREATE TABLE pack_owners (
    number INTEGER NOT NULL PRIMARY KEY,
    monitor TEXT NOT NULL,
    location TEXT NOT NULL,
    UNIQUE (monitor, location)
) STRICT;

CREATE TABLE beat_packs (
    slot INTEGER NOT NULL PRIMARY KEY, -- hours since 1970 × 2^32 + pack_owners.number
    due INTEGER NOT NULL,              -- beats of the schedule; these three are read for thousands of packs at a start
    seen INTEGER NOT NULL,
    up INTEGER NOT NULL,
    data BLOB NOT NULL                 -- src/store/pack/hour.rs
) STRICT;

CREATE TABLE days (
    slot INTEGER NOT NULL PRIMARY KEY, -- days since 1970 × 2^32 + pack_owners.number
    up INTEGER NOT NULL,               -- seconds
    down INTEGER NOT NULL,
    unknown INTEGER NOT NULL,
    maintenance INTEGER NOT NULL,
    latencies BLOB NOT NULL            -- src/store/pack/day.rs
) STRICT;

-- Canaries and answers that packs name by a number.
CREATE TABLE canary_names (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE answers (
    id INTEGER NOT NULL PRIMARY KEY,
    list INTEGER NOT NULL,             -- ranked_lists.id
    data BLOB NOT NULL,                -- src/store/pack/answer.rs; list, scores and lengths
    used_until INTEGER NOT NULL        -- the latest day (since 1970) a pack names it
) STRICT;

CREATE INDEX answers_of_list ON answers (list);

-- Lists and sources are forgotten when no pack can name them any more. A doomed one is dropped a day later, unless
-- somebody used it meanwhile.
ALTER TABLE ranked_lists ADD COLUMN used_until INTEGER NOT NULL DEFAULT 0; -- the latest day (since 1970); 0 while it is young
ALTER TABLE ranked_lists ADD COLUMN doomed_at INTEGER;
ALTER TABLE sources ADD COLUMN doomed_at INTEGER;

-- Beats that came after their hour's sealing had begun: they join their pack later.
CREATE TABLE late_beats (
    started_at INTEGER NOT NULL,
    monitor TEXT NOT NULL,
    location TEXT NOT NULL,
    PRIMARY KEY (started_at, monitor, location)
) STRICT, WITHOUT ROWID;

-- How far the janitor is; one row. Moments are the first microsecond of an hour or a day.
CREATE TABLE sealing (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    begun_until INTEGER NOT NULL,  -- beats from before this that come now are late
    sealed_until INTEGER NOT NULL, -- before this packs are the truth, and rows are late or left over
    swept_until INTEGER NOT NULL,  -- before this no row is left over
    rolled_until INTEGER NOT NULL  -- before this every day has its row
) STRICT;

INSERT INTO sealing (one, begun_until, sealed_until, swept_until, rolled_until) VALUES (1, 0, 0, 0, 0);

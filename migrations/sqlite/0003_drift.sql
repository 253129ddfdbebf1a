-- Every list of tools that a monitor's server ever gave, and how it differed from what was accepted then.
--
-- A baseline is a row of monitor_tools as before; this is what was seen, accepted or not. The newest few of a monitor
-- are kept: a server that changes its list with every answer must not fill the disk.
CREATE TABLE tools_seen (
    monitor TEXT NOT NULL,
    hash TEXT NOT NULL,          -- blobs.hash, kind tools
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,  -- written when another list comes and once an hour, not with every beat
    era TEXT NOT NULL,           -- '' where it is not known
    tools INTEGER NOT NULL,      -- how many
    tokens INTEGER,              -- of the whole list; a list has one figure, so beats do not repeat it
    against TEXT NOT NULL,       -- the accepted list it was first held against; '' where there was none yet
    changes TEXT NOT NULL,       -- JSON: [[class, tool, what], …], bounded; of a first list the texts that instruct
    PRIMARY KEY (monitor, hash)
) STRICT, WITHOUT ROWID;

-- A blob may be dropped once nobody refers to it.
CREATE INDEX tools_seen_by_hash ON tools_seen (hash);
CREATE INDEX monitor_tools_by_hash ON monitor_tools (hash);

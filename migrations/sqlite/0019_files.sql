-- Files as they were, one by one: "why was I not paged?" is answered by what stood in them then, and the text of a file that
-- includes others says nothing without these. A text is kept once, however many versions of the fleet it is part of.
CREATE TABLE IF NOT EXISTS config_texts (
    hash TEXT NOT NULL PRIMARY KEY, -- SHA-256 of the text, lowercase hex
    text BLOB NOT NULL              -- zlib; secrets unresolved
) STRICT;

CREATE TABLE IF NOT EXISTS config_files (
    config INTEGER NOT NULL,        -- config_versions.number
    place INTEGER NOT NULL,         -- 0 is the first file
    name TEXT NOT NULL,
    kind TEXT NOT NULL,             -- yaml, golden or lock
    of TEXT NOT NULL,               -- JSON: places of the file that brings it in, or of those that a lock stands beside
    hash TEXT NOT NULL,
    PRIMARY KEY (config, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS config_files_of_text ON config_files (hash);

-- Golden sets by the words that a file names them with: these start from that file, and one set may be named by several.
CREATE TABLE IF NOT EXISTS config_golden (
    config INTEGER NOT NULL,
    named_by INTEGER NOT NULL,
    name TEXT NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (config, named_by, name)
) STRICT, WITHOUT ROWID;

-- Each time a file came into force: config_versions knows the latest of a file that returned.
CREATE TABLE IF NOT EXISTS config_loads (
    loaded_at INTEGER NOT NULL,
    config INTEGER NOT NULL,
    PRIMARY KEY (loaded_at, config)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO config_loads (loaded_at, config) SELECT loaded_at, number FROM config_versions WHERE loaded_at > 0;

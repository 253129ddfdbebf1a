-- What is watched because of each list, as it was kept last: a start takes no other text for it.
CREATE TABLE kept_lists (
    source TEXT NOT NULL PRIMARY KEY,
    -- The text of its file, packed.
    text BLOB NOT NULL,
    kept_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

DROP TABLE leases;
CREATE TABLE leases (
    role TEXT COLLATE "C" NOT NULL,
    location TEXT COLLATE "C" NOT NULL,
    shard BIGINT NOT NULL CHECK (shard BETWEEN 0 AND 255),
    node TEXT COLLATE "C",
    epoch BIGINT NOT NULL,
    PRIMARY KEY (role, location, shard)
);
INSERT INTO leases SELECT 'decide', 'local', number, NULL, 0 FROM generate_series(0, 255) AS number;
CREATE TABLE nodes (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL,
    file TEXT COLLATE "C" NOT NULL,
    session BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL
);

-- Where a monitor's rows stand is in the memory of whoever watches it, and pages are drawn by all.
CREATE INDEX beats_of_monitor ON beats (monitor, started_at);
CREATE INDEX late_beats_of_monitor ON late_beats (monitor);

DELETE FROM meta WHERE key = 'turn';

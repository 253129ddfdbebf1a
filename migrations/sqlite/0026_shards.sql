-- How far the hours of each 256th of the fleet are sealed: each is watched by one machine at a time, and goes on at its own
-- pace. A monitor's is the first byte of SHA-256 of its id.
CREATE TABLE shards (
    shard INTEGER NOT NULL PRIMARY KEY CHECK (shard BETWEEN 0 AND 255),
    begun_until INTEGER NOT NULL, -- beats from before this that come now are late
    sealed_until INTEGER NOT NULL -- before this packs are the truth, and rows are late or left over
) STRICT;

INSERT INTO shards (shard, begun_until, sealed_until)
WITH RECURSIVE numbers (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM numbers WHERE n < 255)
SELECT n, begun_until, sealed_until FROM numbers CROSS JOIN sealing;

-- What is left over is swept, and days are rolled up, for the whole fleet at once.
ALTER TABLE sealing DROP COLUMN begun_until;
ALTER TABLE sealing DROP COLUMN sealed_until;

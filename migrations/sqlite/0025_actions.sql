-- What people ask of whoever watches a monitor: a row before anybody does it, so that it outlives whoever was asked.
ALTER TABLE actions ADD COLUMN monitor TEXT NOT NULL DEFAULT '';
-- Null: it waits.
ALTER TABLE actions ADD COLUMN applied_at INTEGER;
UPDATE actions SET applied_at = at;
CREATE INDEX actions_waiting ON actions (id) WHERE applied_at IS NULL;

-- Servers that die of a closed session or of `server/discover`: how they are known, and the session that probes share.
ALTER TABLE learnt ADD COLUMN answered TEXT;          -- the legacy version that `initialize` was answered with
ALTER TABLE learnt ADD COLUMN session TEXT;           -- NULL: none is kept
ALTER TABLE learnt ADD COLUMN session_version TEXT;   -- agreed on in it; later sessions may be of another
ALTER TABLE learnt ADD COLUMN session_opened_at INTEGER;

-- Who lent a promise out: what a node had lent when it died is free again when it starts, and what others have is theirs.
ALTER TABLE deliveries ADD COLUMN lease_by TEXT NOT NULL DEFAULT 'local';

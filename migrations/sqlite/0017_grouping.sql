-- What goes to people in one message: the key under which a promise waits for others, and the message that it went in.
ALTER TABLE deliveries ADD COLUMN group_key TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN batch TEXT;
CREATE INDEX deliveries_gathering ON deliveries (receiver, group_key, next_at) WHERE state = 'pending' AND group_key <> '';
CREATE INDEX deliveries_gathered ON deliveries (receiver, group_key, sent_at) WHERE group_key <> '';
CREATE INDEX deliveries_together ON deliveries (batch) WHERE batch IS NOT NULL;
CREATE INDEX deliveries_sent ON deliveries (receiver, sent_at) WHERE sent_at IS NOT NULL;

-- The ledger is looked into by receiver, and counted by what was given up: neither may read all that was ever delivered,
-- and no more may a fallback that is woken, which takes over what its receiver was still to hear.
CREATE INDEX IF NOT EXISTS deliveries_of_receiver ON deliveries (receiver, created_at);
CREATE INDEX IF NOT EXISTS deliveries_dead ON deliveries (created_at) WHERE state = 'dead';
CREATE INDEX IF NOT EXISTS deliveries_unsent ON deliveries (order_key, sequence) WHERE state <> 'sent';

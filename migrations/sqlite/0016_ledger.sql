-- The ledger is looked into by receiver, and counted by what was given up: neither may read all that was ever delivered.
CREATE INDEX IF NOT EXISTS deliveries_of_receiver ON deliveries (receiver, created_at);
CREATE INDEX IF NOT EXISTS deliveries_dead ON deliveries (created_at) WHERE state = 'dead';

-- What canaries of the schedule were asked on a day and how often they were right: what stands beside uptime.
-- NULL: rolled up before they were counted.
ALTER TABLE days ADD COLUMN asked INTEGER;
ALTER TABLE days ADD COLUMN right_answers INTEGER;

-- Each hour of a day, as the heat map shows it, so that weeks of them are read without a single pack.
ALTER TABLE days ADD COLUMN hours BLOB; -- src/store/pack/heat.rs; NULL: rolled up before there were any

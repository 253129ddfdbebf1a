-- What an open incident was last told with and when, since when its fault is there, and what it was at its worst, so
-- that what is told next follows from it also after a restart.
ALTER TABLE incidents ADD COLUMN course TEXT; -- JSON, src/store/course.rs; NULL: of an older version

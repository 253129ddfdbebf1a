CREATE TABLE decisions (
    node TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL,
    decided_at BIGINT NOT NULL
);

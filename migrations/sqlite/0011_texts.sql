-- What tools answered that give a text and no list of results.
--
-- Such an answer is a ranked list with one source, whose name is `text:` and the first 32 hexadecimal digits of the
-- text's SHA-256: packs, seals and exports know no second layout. Here stands what that name stands for, each distinct
-- text once. A row goes with its source.
CREATE TABLE texts (
    source INTEGER NOT NULL PRIMARY KEY, -- sources.id
    bytes INTEGER NOT NULL,              -- of the whole text
    begins TEXT NOT NULL                 -- its first 8 kB, harmless to show and without our own secrets
) STRICT;

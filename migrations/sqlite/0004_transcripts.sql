-- Which failing probes' transcripts are kept, and of which incident; the texts are in `blobs`, each once.

-- A beat that opens two incidents has two rows.
CREATE TABLE transcripts (
    monitor TEXT NOT NULL,
    started_at INTEGER NOT NULL, -- the beat's
    incident TEXT NOT NULL,      -- '' while there is none, since NULLs never collide
    hash TEXT NOT NULL,          -- blobs.hash, kind transcript
    reason TEXT NOT NULL,        -- the beat's leading cause
    PRIMARY KEY (monitor, started_at, incident)
) STRICT, WITHOUT ROWID;

CREATE INDEX transcripts_of_incident ON transcripts (incident, started_at) WHERE incident <> '';
-- Both for forgetting, which must not scan what is kept.
CREATE INDEX transcripts_by_start ON transcripts (started_at);
CREATE INDEX blobs_by_end ON blobs (expires_at) WHERE expires_at IS NOT NULL;

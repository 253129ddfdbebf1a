-- Everything Serin remembers, from the first day; DESIGN §8 says what for.
--
-- Moments are UTC microseconds, durations microseconds, flags 0 or 1, ids text. Where a number
-- stands for a text ("interned") the writer hands it out, so that PostgreSQL needs no sequence.
-- Words are those of the code (`slug`), kept as text: a table must be readable without a program.

-- Which monitors there ever were. History outlives the file, so nothing below refers here by force.
CREATE TABLE monitors (
    id TEXT NOT NULL PRIMARY KEY,
    first_seen INTEGER NOT NULL,
    removed_at INTEGER -- empty while it is in the file
) STRICT, WITHOUT ROWID;

-- Which files were ever in force. A beat names its file by `number`, not by 64 characters of hash.
CREATE TABLE config_versions (
    number INTEGER NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    "commit" TEXT,
    file TEXT NOT NULL,
    loaded_at INTEGER NOT NULL, -- the latest time it came into force; the same file may return
    source TEXT NOT NULL        -- with secrets unresolved; empty where only a beat told us of the hash
) STRICT;

-- Where beats are made. Only `local` so far, yet a key already, since keys cannot be added to packs later.
CREATE TABLE locations (
    id TEXT NOT NULL PRIMARY KEY,
    first_seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The current hours, a row a beat, in order of time so that writing is appending.
CREATE TABLE beats (
    started_at INTEGER NOT NULL,
    monitor TEXT NOT NULL,
    location TEXT NOT NULL,
    scheduled_at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    era TEXT,
    transport TEXT NOT NULL,     -- `http` so far; `sse` and `stdio` come with their own work
    fresh_connection INTEGER NOT NULL,
    seen TEXT NOT NULL,          -- seen | missed | internal | uplink: only the first counts for or against a monitor
    outcome TEXT NOT NULL,
    reason TEXT,
    stage TEXT,
    elapsed INTEGER NOT NULL,
    tools_elapsed INTEGER,       -- the latency sample of a monitor without canaries
    config INTEGER NOT NULL,     -- config_versions.number
    lock_hash TEXT,              -- empty until there are lock files
    PRIMARY KEY (started_at, monitor, location)
) STRICT, WITHOUT ROWID;

-- A monitor's own past: the page of one monitor must not read everybody's hours. To be dropped
-- once hours are sealed into packs soon enough for a scan to be short.
CREATE INDEX beats_of_monitor ON beats (monitor, started_at);

-- Sealed hours, for 35 days, so that a change of rules can be tried on the past.
CREATE TABLE beat_packs (
    monitor TEXT NOT NULL,
    location TEXT NOT NULL,
    hour INTEGER NOT NULL,       -- its first microsecond
    codec TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (monitor, location, hour)
) STRICT;

-- Seconds of each day, for 400 days.
CREATE TABLE day_counts (
    monitor TEXT NOT NULL,
    location TEXT NOT NULL,
    day INTEGER NOT NULL,        -- its first microsecond, UTC
    up INTEGER NOT NULL,
    down INTEGER NOT NULL,
    unknown INTEGER NOT NULL,
    maintenance INTEGER NOT NULL,
    PRIMARY KEY (monitor, location, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE canaries (
    monitor TEXT NOT NULL,
    id TEXT NOT NULL,
    definition_hash TEXT NOT NULL, -- an answer can only be compared with answers to the same question
    first_seen INTEGER NOT NULL,
    removed_at INTEGER,
    PRIMARY KEY (monitor, id)
) STRICT, WITHOUT ROWID;

-- Names of sources and whole ranked lists repeat day after day, so each is kept once.
CREATE TABLE sources (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE ranked_lists (
    id INTEGER NOT NULL PRIMARY KEY,
    sources TEXT NOT NULL UNIQUE -- ids of sources in the order given, joined by commas
) STRICT;

-- A row a canary of a beat.
CREATE TABLE asks (
    started_at INTEGER NOT NULL, -- the beat's
    monitor TEXT NOT NULL,
    location TEXT NOT NULL,
    position INTEGER NOT NULL,   -- within the beat, from 0: one beat may ask a canary twice, plain and fresh
    canary TEXT NOT NULL,
    variant TEXT NOT NULL,
    turn TEXT NOT NULL,          -- scheduled | re-ask | not_asked
    elapsed INTEGER NOT NULL,
    fresh_connection INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT,
    rank INTEGER,
    list INTEGER,                -- ranked_lists.id; empty where there was no answer
    scores BLOB,                 -- little-endian f32 for each place, NaN for none: seven digits are past any embedding's jitter
    lengths BLOB,                -- little-endian u32 characters for each place
    bytes INTEGER NOT NULL,
    tokens INTEGER,              -- where the server says so; nobody reads it off yet
    PRIMARY KEY (started_at, monitor, location, position)
) STRICT, WITHOUT ROWID;

-- Mergeable histograms, built when an hour is sealed or a page asks.
CREATE TABLE histograms (
    monitor TEXT NOT NULL,
    location TEXT NOT NULL,
    stage TEXT NOT NULL,
    variant TEXT NOT NULL,       -- '' where the stage has none
    fresh INTEGER NOT NULL,      -- whether its connections were fresh: reused ones can be 40 ms apart
    span TEXT NOT NULL,          -- hour | day
    starts_at INTEGER NOT NULL,
    codec TEXT NOT NULL,
    unit TEXT NOT NULL,
    censored INTEGER NOT NULL,   -- calls that ran into the timeout: how long they would have taken nobody knows
    data BLOB NOT NULL,
    PRIMARY KEY (monitor, location, stage, variant, fresh, span, starts_at)
) STRICT;

-- Large things by their hash: tool snapshots, transcripts of failures.
CREATE TABLE blobs (
    hash TEXT NOT NULL,
    kind TEXT NOT NULL,          -- tools | transcript
    codec TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,          -- transcripts are forgotten after 30 days
    data BLOB NOT NULL,
    PRIMARY KEY (hash, kind)
) STRICT;

-- Which tools were the accepted baseline, and since when.
CREATE TABLE monitor_tools (
    monitor TEXT NOT NULL,
    from_at INTEGER NOT NULL,
    era TEXT NOT NULL,           -- '' where it is not known
    hash TEXT NOT NULL,          -- blobs.hash, kind tools
    to_at INTEGER,               -- empty while it is the baseline
    accepted_by TEXT NOT NULL,
    search_tool TEXT,
    invalid_call TEXT,
    PRIMARY KEY (monitor, from_at)
) STRICT, WITHOUT ROWID;

-- By what a restart of a server is recognised.
CREATE TABLE marks (
    monitor TEXT NOT NULL PRIMARY KEY,
    instance TEXT,
    version TEXT,
    process_started_at INTEGER,
    restarted_at INTEGER
) STRICT, WITHOUT ROWID;

-- Where each signal stands; a quiet one with nothing to remember has no row.
CREATE TABLE signal_state (
    monitor TEXT NOT NULL,
    location TEXT NOT NULL,
    signal TEXT NOT NULL,
    subject TEXT NOT NULL,       -- '' where the signal has no parts, since NULLs never collide
    phase TEXT NOT NULL,
    since INTEGER NOT NULL,
    streak INTEGER NOT NULL,
    covered INTEGER NOT NULL,    -- microseconds seen, not microseconds passed
    held_by TEXT,
    rule_hash TEXT NOT NULL,
    detector_version INTEGER NOT NULL, -- a state of another detector's making is not read as ours
    detector BLOB,               -- what a detector with a memory of its own keeps
    suppressed_by TEXT,          -- the parent that is down, once there is depends_on
    PRIMARY KEY (monitor, location, signal, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE incidents (
    id TEXT NOT NULL PRIMARY KEY,
    monitor TEXT NOT NULL,
    signal TEXT NOT NULL,
    subject TEXT NOT NULL,
    severity TEXT NOT NULL,
    reason TEXT NOT NULL,
    stage TEXT NOT NULL,
    summary TEXT NOT NULL,
    evidence TEXT NOT NULL,      -- JSON: [[key, value], …], in order
    rule_file TEXT NOT NULL,
    rule_line INTEGER NOT NULL,
    rule_commit TEXT,
    opened_at INTEGER NOT NULL,
    resolved_at INTEGER,
    resolve_cause TEXT,
    absorbed_into TEXT,          -- the newer incident, where the cause is `absorbed`
    acknowledged_by TEXT,
    acknowledged_at INTEGER,
    escalation_step INTEGER NOT NULL DEFAULT 0,
    group_key TEXT,
    drill INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL    -- of its latest notification
) STRICT;

-- One unresolved incident a monitor, signal and subject, whatever a loop believes.
CREATE UNIQUE INDEX incidents_unresolved ON incidents (monitor, signal, subject) WHERE resolved_at IS NULL;
CREATE INDEX incidents_by_opening ON incidents (opened_at);
CREATE INDEX incidents_of_monitor ON incidents (monitor, opened_at);

-- `seq` runs over all incidents, so that a reader can ask for everything since.
CREATE TABLE incident_events (
    seq INTEGER NOT NULL PRIMARY KEY,
    incident TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE INDEX incident_events_of_incident ON incident_events (incident, seq);

CREATE TABLE notifications (
    id TEXT NOT NULL PRIMARY KEY,
    incident TEXT,               -- empty for what is no incident, such as a restart
    sequence INTEGER NOT NULL,
    event TEXT NOT NULL,
    at INTEGER NOT NULL,
    monitor TEXT NOT NULL,
    severity TEXT NOT NULL,
    reason TEXT,
    summary TEXT NOT NULL,
    payload TEXT NOT NULL        -- frozen: every receiver gets these bytes on every attempt
) STRICT;

CREATE INDEX notifications_of_incident ON notifications (incident, sequence);

-- A channel for people may one day say several incidents in one message.
CREATE TABLE notification_incidents (
    notification TEXT NOT NULL,
    incident TEXT NOT NULL,
    PRIMARY KEY (notification, incident)
) STRICT, WITHOUT ROWID;

-- The promises. One receiver gets one notification once, as itself or as somebody's fallback.
CREATE TABLE deliveries (
    id TEXT NOT NULL PRIMARY KEY,
    notification TEXT NOT NULL,
    incident TEXT,               -- the notification's, repeated here because the courier asks by it
    receiver TEXT NOT NULL,
    receiver_hash TEXT NOT NULL, -- its definition when it was promised; '' where it was not in the file
    order_key TEXT NOT NULL,     -- incident (else notification) and receiver: within it, strict order
    sequence INTEGER NOT NULL,
    severity TEXT NOT NULL,
    state TEXT NOT NULL,         -- pending | sent | dead
    created_at INTEGER NOT NULL,
    promised_at INTEGER NOT NULL, -- age counts from here: created_at, or the last replay
    next_at INTEGER NOT NULL,
    lease TEXT,                  -- who is trying; empty when nobody is
    lease_until INTEGER NOT NULL DEFAULT 0, -- after this, a try whose trier died is anybody's again
    attempts INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0, -- attempts since promised_at, by which the gaps grow
    fallback TEXT,               -- who hears of it where this receiver cannot be reached
    fallback_at INTEGER,         -- when that one is woken; empty where it never is, or was already
    fallback_of TEXT,            -- the receiver this one stands in for
    external_ref TEXT,           -- what the receiver calls it: a thread, a ticket
    sent_at INTEGER,
    UNIQUE (notification, receiver)
) STRICT;

-- By receiver first: a receiver with thousands waiting must cost the others nothing.
CREATE INDEX deliveries_due ON deliveries (receiver, next_at) WHERE state = 'pending';
CREATE INDEX deliveries_lent ON deliveries (lease_until) WHERE state = 'pending' AND lease_until > 0;
CREATE INDEX deliveries_in_order ON deliveries (order_key, sequence, notification) WHERE state = 'pending';
CREATE INDEX deliveries_to_fall_back ON deliveries (fallback_at) WHERE state = 'pending' AND fallback_at IS NOT NULL;
CREATE INDEX deliveries_of_incident ON deliveries (incident);
CREATE INDEX deliveries_by_creation ON deliveries (created_at);

CREATE TABLE attempts (
    delivery TEXT NOT NULL,
    number INTEGER NOT NULL,     -- from 1
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    ended TEXT NOT NULL,         -- accepted | failed | refused
    note TEXT NOT NULL,          -- one bounded line: why not
    PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE silences (
    id TEXT NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    starts_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    matches TEXT NOT NULL,       -- JSON, the parts of a route's match
    comment TEXT NOT NULL,
    ended_at INTEGER,            -- ended early by a person
    ended_by TEXT
) STRICT, WITHOUT ROWID;

-- What people did: acknowledge, replay, silence, accept.
CREATE TABLE actions (
    id TEXT NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Work that only one of several processes may do at a time, once there are several.
CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO locations (id, first_seen) VALUES ('local', 0);

//! What survives: the real binary, a database file, reference servers and receivers, and everything taken away in turn.
//!
//! Each journey waits on what a receiver got, on what the database holds or on what a page says,
//! never on time alone; [`stage::PATIENCE`] only turns a hang into a failure. Read: `stage` (what a
//! journey plays on), `process` (the binary as a child), then the journeys: `kills`,
//! `kills_held`, `outage`,
//! `edits`, `trouble`, `reload`, `start`, `waiting`, `moved`, `truth`, `clock`, `clock_telling`, `hanging`, `volume`,
//! `backup`, `status`, `heartbeat`, `logs`, `export`, `hardened`, `files`, `ending`, `lists`, `discovery`,
//! and the forms in which it is installed: `systemd`, `image`, `examples`.

mod stage;
mod process;
mod kills;
mod kills_held;
mod outage;
mod edits;
mod trouble;
mod reload;
mod start;
mod waiting;
mod moved;
mod truth;
mod clock;
mod clock_telling;
mod hanging;
mod volume;
mod asked;
mod backup;
mod status;
mod heartbeat;
mod logs;
mod export;
mod hardened;
mod files;
mod ending;
mod lists;
mod discovery;
mod systemd;
mod image;
mod examples;

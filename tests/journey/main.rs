//! Whole journeys: the real binary watches real servers, something breaks inside one, and the right
//! words reach a real webhook receiver and a real mailbox; later the resolve does.
//!
//! Everything is waited for as an event; the only time in here is the guard after which a journey
//! that stands still is called failed. Read: `stage` (what a journey has), then a file a kind of trouble.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

#[path = "../common/databases.rs"]
mod databases;
mod stage;
mod small_server;
mod demo;
mod retrieval;
mod leaks;
mod machines;
mod caches;
mod ways;
mod harvest;
mod canaries;
mod texts;
mod together;
mod extent;
mod slowness;
mod quiet;
mod why;
mod parents;
mod follow_ups;
mod reach;
mod replicas;
mod drift;
mod pins;
mod causes;
mod hostile;
mod keys;
mod endings;
mod manners;
mod recheck;
mod proof;
mod drills;
mod forms;
mod silence;
mod alertmanager;
mod transcripts;
mod uplink;
mod programs;
mod terminal;
mod agents;
mod public;

//! The loops. They alone read the clock, once a turn; each may die anywhere and goes on where it stood.
//!
//! Read: `loop_context` (what they work with), `clock` (is it set), `runtime` (one monitor's state in memory) on
//! `beat_history`, `spending` and `kept_probe`, `view` (as pages show it), `watch`
//! (one beat, whole) with `rows` (what is written of it), `changes` (what else changes a monitor's state),
//! `transcript_policy` and `answer_texts` (which transcripts and texts stay) on `day_bytes`, `decided` and `notify`
//! (from a decision to what is written down and queued), `batch_window` (how many start together), `permits` (who may be in flight), `scheduler` (who is
//! due) on `dues` and `beat_task`, `actions` (what people ask for), `delivery_worker` (claim, send, record), `firing_alerts` (what fires elsewhere until it ends), `resume` (where the last run stood), `startup`
//! (the database, open), `sharing` (which part of the fleet is ours), `publish` (how our monitors stand, for other machines) and `follow` (how theirs do), `reload` (the file, whenever it changes), `quiet_loop` (what silences and windows keep quiet), `drills` (that a page would be heard), `discovery` (lists of servers that others keep), `kept_lists` (their files), `queue_metrics` (what nobody else would notice),
//! `heartbeat` (that we are well, to somebody outside), `janitor` (forgets what is over).

pub(crate) mod loop_context;
pub(crate) mod clock;
pub(crate) mod strip;
pub(crate) mod beat_history;
pub(crate) mod spending;
pub(crate) mod kept_probe;
pub(crate) mod day_bytes;
pub(crate) mod runtime;
pub(crate) mod view;
pub(crate) mod rows;
pub(crate) mod changes;
pub(crate) mod beat_task;
pub(crate) mod uplink;
pub(crate) mod connectivity;
pub(crate) mod failure_confirmation;
pub(crate) mod parents;
pub(crate) mod listing;
pub(crate) mod watch;
pub(crate) mod accept_baseline;
pub(crate) mod transcript_policy;
pub(crate) mod answer_texts;
pub(crate) mod notify;
pub(crate) mod decided;
pub(crate) mod batch_window;
pub(crate) mod permits;
pub(crate) mod dues;
pub(crate) mod scheduler;
pub(crate) mod publish;
pub(crate) mod actions;
pub mod delivery_worker;
pub(crate) mod firing_alerts;
pub(crate) mod resume;
pub(crate) mod follow;
pub(crate) mod sharing;
pub(crate) mod startup;
pub(crate) mod reload;
pub(crate) mod quiet_loop;
pub(crate) mod drills;
pub(crate) mod queue_metrics;
pub(crate) mod heartbeat;
pub(crate) mod kept_lists;
pub(crate) mod discovery;
pub mod janitor;

//! What starts, pages, the API and `serin export` ask for. Every query is bounded and takes a reading connection.
//!
//! Read `readers` (the connections), `pages` and `ledger` (deliveries and their tries), then `latency` and `history` (over hours, days and months), `cells` (days and hours of many monitors), `asked` (canaries and their ranks), `resume` and `recent` (what a start needs),
//! `unsealed` (rows whose hour is not packed yet), `owners` (whose packs they are), `export` (the past as a stream), `beside` (of a database that others write), `figures` (how large it is), `backlog` (what of
//! the outbox waits), `drills` (what came of each), `holds` and `silences` (why people were not told), `firing` (what they were told that is still open), `circumstances` and `files` (by
//! what beats were judged), `keys` (who may do what, and did), `actions` (what was asked for and is not done), `why` (who was told of it, and what kept it from them), `public` (what everybody may hear of), `standings` (what other machines publish of the monitors they watch).

pub(in crate::store) mod unsealed;
pub(crate) mod readers;
pub(in crate::store) mod beside;
pub(in crate::store::read) mod owners;
pub(crate) mod resume;
pub(crate) mod recent;
pub(crate) mod latency;
pub mod history;
pub mod cells;
pub(crate) mod asked;
pub(crate) mod export;
pub(crate) mod figures;
pub(crate) mod backlog;
pub(crate) mod holds;
pub(crate) mod silences;
pub mod drills;
pub mod firing;
pub(crate) mod circumstances;
pub(crate) mod files;
pub(crate) mod why;
pub(crate) mod keys;
pub(crate) mod actions;
pub mod pages;
pub mod public;
pub mod ledger;
pub mod standings;

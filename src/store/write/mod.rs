//! Everything that changes the database: what the writer does in its transactions, and how it is asked to.
//!
//! Read `handle` (the open database), `writer` (the one that writes), `home` (where to), `moving` (all of it, into another), `work` and `ask` (what it can be asked), `gather`
//! (how long it waits, so that many share a commit); `append` the beats,
//! `intern` what repeats, `probe_memory` what was learnt and spent, `transcript` what was said over the wire, `listing`
//! the lists of tools, `decide` the incidents, `enqueue` who is told, `outbox` how that goes and `together` what goes
//! in one message, `drill` that it would go, `silence` what nobody wants to hear of, `key` who may do what, `actions` what people ask for, `standing` what other machines are to know, `config_history` what
//! people and files say (`config_files` each file); `seal` (an hour's rows become packs), `retain` (forgetting), `maintenance` (the janitor's
//! steps in the writer; `maintenance_requests` asks for them). What was decided of late stays in `journal`, as far as `again` says, and is written once
//! more where a server that took over lacks it (`writer/recovery`).

pub(in crate::store) mod home;
pub(crate) mod moving;
pub(in crate::store) mod append;
pub(in crate::store) mod intern;
pub(in crate::store) mod silence;
pub(in crate::store) mod standing;
pub(in crate::store) mod key;
pub(in crate::store) mod actions;
pub(in crate::store) mod decide;
pub(in crate::store) mod enqueue;
pub(in crate::store) mod drill;
pub(in crate::store) mod config_files;
pub(crate) mod config_history;
pub mod probe_memory;
pub(crate) mod listing;
pub(crate) mod transcript;
pub mod together;
pub mod outbox;
pub(crate) mod seal;
pub(crate) mod retain;
pub(in crate::store) mod maintenance;
pub(in crate::store) mod work;
pub(in crate::store) mod again;
pub(in crate::store) mod journal;
pub(in crate::store) mod gather;
pub(in crate::store) mod writer;
pub(crate) mod handle;
pub(in crate::store) mod ask;
pub(in crate::store) mod maintenance_requests;

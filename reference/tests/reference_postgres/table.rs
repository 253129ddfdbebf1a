//! What every store keeps, as sentences; each is shown of two stores on one database.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serin_reference::store::contract::Store;

use crate::{contract, learning, searching};

/// Two stores on one new database, as two servers have them.
pub(crate) struct Two {
    pub(crate) one: Arc<dyn Store>,
    pub(crate) other: Arc<dyn Store>,
    /// Its name, where one of these sentences is not so.
    pub(crate) name: &'static str,
    /// Whether its vectors are found by HNSW, which need not find every one.
    pub(crate) is_approximate: bool,
    /// Whether it gives vectors back to the last bit.
    pub(crate) keeps_bits: bool,
}

/// What shows that a sentence is so.
pub(crate) type Shows = fn(Arc<Two>) -> Pin<Box<dyn Future<Output = ()> + Send>>;
pub(crate) type Row = (&'static str, Shows);

/// A sentence and the function that shows it.
macro_rules! rows {
    ($($says:literal => $shows:path,)+) => { &[$(($says, |two| Box::pin($shows(two)))),+] };
}

pub(crate) const CONTRACT: &[Row] = rows![
    "a source is added, unchanged, changed and removed, and every change is counted" => contract::a_source_lives,
    "the same text with another fact is a change" => contract::a_fact_is_a_change,
    "a source comes back as it was given" => contract::a_source_comes_back,
    "facts are written, overwritten and forgotten" => contract::facts_are_kept,
    "a wipe leaves nothing, and no key is used again" => contract::a_wipe_leaves_nothing,
    "a full pool says so, and serves again" => contract::a_full_pool_says_so,
    "two servers write at once and nothing is lost" => contract::two_write_at_once,
    "filters narrow both arms" => searching::filters_narrow,
    "words are ranked by BM25" => searching::words_are_ranked,
    "what was written over and over weighs what it weighed at first" => searching::weights_stay,
    "terms have holders" => searching::terms_have_holders,
    "terms that are looked for alike are told" => searching::like_terms_are_told,
    "what has no vector is found by its words and names" => searching::words_need_no_vectors,
    "the nearest of 2,000 vectors are those of an exact scan" => searching::the_nearest_are_found,
    "what a fault strikes is not found, and the rest is" => searching::faults_strike,
    "an answer is kept until the index changes" => learning::answers_are_kept,
    "a conversation remembers what it was shown" => learning::conversations_remember,
    "the oldest vectors and answers make room" => learning::the_oldest_make_room,
];

pub(crate) async fn check(says: &str, two: Two, shows: Shows) {
    let two = Arc::new(two);
    let ended = tokio::spawn(shows(Arc::clone(&two))).await;
    assert!(ended.is_ok(), "not so in {}: {says}", two.name);
    two.one.close().await;
    two.other.close().await;
}

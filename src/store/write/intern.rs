//! Texts that repeat day after day (sources, ranked lists, hashes of files), kept once and named by a number.
//!
//! The database hands the numbers out, to however many that write; each remembers the ones it uses, and asks the table
//! for the rest.

use std::collections::HashMap;

use crate::store::sql::connection::Connection;
use crate::store::sql::rows::Rows;

/// Texts remembered of one kind. Beyond, all are forgotten at once, since looking a text up costs
/// a statement and no correctness; 20,000 of some 60 bytes are 2 MB.
const REMEMBERED_MAX: usize = 20_000;

/// The numbers of one kind of text.
#[derive(Debug)]
pub(in crate::store) struct Interned {
    insert: &'static Rows,
    known: HashMap<String, i64>,
    /// Of the running transaction: on disk only once it is committed.
    fresh: HashMap<String, i64>,
}

impl Interned {
    /// `insert` writes a text, where it is not there, and answers with its number and itself.
    pub(in crate::store) fn by(insert: &'static Rows) -> Self {
        Self { insert, known: HashMap::new(), fresh: HashMap::new() }
    }

    /// Sees to it that every text has a number.
    pub(in crate::store) async fn learn(
        &mut self,
        connection: &mut Connection,
        texts: impl Iterator<Item = &str>,
    ) -> Result<(), sqlx::Error> {
        let mut unknown: Vec<&str> = texts.filter(|text| self.get(text).is_none()).collect();
        // In one order for all who write: two that wait for each other's rows would wait for ever.
        unknown.sort_unstable();
        unknown.dedup();
        let rows = self.insert.fetch(connection, &unknown, |query, text| query.bind(*text)).await?;
        for row in rows {
            self.fresh.insert(row.try_get(1)?, row.try_get(0)?);
        }
        Ok(())
    }

    /// The number of a text that was learnt.
    pub(in crate::store) fn get(&self, text: &str) -> Option<i64> {
        self.known.get(text).or_else(|| self.fresh.get(text)).copied()
    }

    /// The transaction is on disk.
    pub(in crate::store) fn keep(&mut self) {
        if self.known.len() + self.fresh.len() > REMEMBERED_MAX {
            self.known.clear();
        }
        self.known.extend(self.fresh.drain());
    }

    /// Every text is asked for again.
    pub(in crate::store) fn forget_all(&mut self) {
        self.known.clear();
        self.fresh.clear();
    }

    /// The transaction, or a part of it, was taken back.
    pub(in crate::store) fn forget(&mut self) {
        self.fresh.clear();
    }
}

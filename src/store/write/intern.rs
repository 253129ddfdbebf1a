//! Texts that repeat day after day (sources, ranked lists, hashes of files), kept once and named by a number.
//!
//! The writer hands the numbers out and remembers the ones in use; what it does not remember it
//! asks the table for. Numbers may have gaps: one handed out in a commit that failed is not used again.

use std::collections::{HashMap, HashSet};

use sqlx::{Row, SqliteConnection};

use crate::store::values::rows::Rows;

/// Texts remembered of one kind. Beyond, all are forgotten at once, since looking a text up costs
/// a statement and no correctness; 20,000 of some 60 bytes are 2 MB.
const REMEMBERED_MAX: usize = 20_000;

/// The numbers of one kind of text.
#[derive(Debug)]
pub(in crate::store) struct Interned {
    insert: &'static Rows,
    next: i64,
    known: HashMap<String, i64>,
    /// Of the running transaction: on disk only once it is committed.
    fresh: HashMap<String, i64>,
}

impl Interned {
    /// Numbers go on from the greatest one in use, which `greatest` selects; `insert` writes a row of number and text.
    pub(in crate::store) async fn load(
        connection: &mut SqliteConnection,
        greatest: &'static str,
        insert: &'static Rows,
    ) -> Result<Self, sqlx::Error> {
        let greatest: i64 = sqlx::query(greatest).fetch_one(connection).await?.try_get(0)?;
        Ok(Self { insert, next: greatest + 1, known: HashMap::new(), fresh: HashMap::new() })
    }

    /// Sees to it that every text has a number.
    pub(in crate::store) async fn learn(
        &mut self,
        connection: &mut SqliteConnection,
        texts: impl Iterator<Item = &str>,
    ) -> Result<(), sqlx::Error> {
        let unknown: HashSet<&str> = texts.filter(|text| self.get(text).is_none()).collect();
        let missing: Vec<(i64, &str)> = (self.next..).zip(unknown).collect();
        self.next += i64::try_from(missing.len()).unwrap_or_default();
        if missing.is_empty() {
            return Ok(());
        }
        let rows =
            self.insert.fetch(connection, &missing, |query, (number, text)| query.bind(*number).bind(*text)).await?;
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

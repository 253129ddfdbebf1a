//! Appending beats and asks: the rows that every turn brings, many to a statement.

use std::sync::{Arc, OnceLock};

use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};

use crate::store::column::micros;
use crate::store::intern::Interned;
use crate::store::record::{AskRow, BeatRecord, BeatRow, LOCAL};

/// Characters kept of a source's name; a hostile server must not fill our disk with one answer.
const SOURCE_CHARS_MAX: usize = 200;
/// The greatest number of rows in one statement is 2^(SIZES-1) = 32: beyond, a row gets no cheaper.
const SIZES: usize = 6;

static BEATS: Rows = Rows::new(
    "INSERT INTO beats (started_at, monitor, location, scheduled_at, kind, era, transport, fresh_connection, seen, \
     outcome, reason, stage, elapsed, tools_elapsed, config) VALUES ",
    15,
    " ON CONFLICT (started_at, monitor, location) DO NOTHING",
);
static ASKS: Rows = Rows::new(
    "INSERT INTO asks (started_at, monitor, location, position, canary, variant, turn, elapsed, fresh_connection, \
     verdict, reason, rank, list, scores, lengths, bytes) VALUES ",
    16,
    " ON CONFLICT (started_at, monitor, location, position) DO NOTHING",
);
static SOURCES: Rows = Rows::new(
    "INSERT INTO sources (id, name) VALUES ",
    2,
    " ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id, name",
);
static LISTS: Rows = Rows::new(
    "INSERT INTO ranked_lists (id, sources) VALUES ",
    2,
    " ON CONFLICT (sources) DO UPDATE SET sources = excluded.sources RETURNING id, sources",
);
static CONFIGS: Rows = Rows::new(
    "INSERT INTO config_versions (number, hash, file, loaded_at, source) VALUES ",
    2,
    " ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash RETURNING number, hash",
)
.with_row("(?, ?, '', 0, '')");

/// What the writer remembers of interned texts.
#[derive(Debug)]
pub(in crate::store) struct Names {
    sources: Interned,
    lists: Interned,
    configs: Interned,
}

impl Names {
    /// Reads where the numbers go on.
    pub(in crate::store) async fn load(connection: &mut SqliteConnection) -> Result<Self, sqlx::Error> {
        let sources = Interned::load(connection, "SELECT COALESCE(MAX(id), 0) FROM sources", &SOURCES).await?;
        let lists = Interned::load(connection, "SELECT COALESCE(MAX(id), 0) FROM ranked_lists", &LISTS).await?;
        let configs =
            Interned::load(connection, "SELECT COALESCE(MAX(number), 0) FROM config_versions", &CONFIGS).await?;
        Ok(Self { sources, lists, configs })
    }

    /// The number of a file's hash.
    pub(in crate::store) async fn config(
        &mut self,
        connection: &mut SqliteConnection,
        hash: &str,
    ) -> Result<i64, sqlx::Error> {
        self.configs.learn(connection, std::iter::once(hash)).await?;
        Ok(self.configs.get(hash).unwrap_or_default())
    }

    /// The transaction is on disk.
    pub(in crate::store) fn keep(&mut self) {
        self.sources.keep();
        self.lists.keep();
        self.configs.keep();
    }

    /// The transaction, or a part of it, was taken back.
    pub(in crate::store) fn forget(&mut self) {
        self.sources.forget();
        self.lists.forget();
        self.configs.forget();
    }
}

/// Appends the beats and asks of many records.
pub(in crate::store) async fn append(
    connection: &mut SqliteConnection,
    names: &mut Names,
    records: &[&BeatRecord],
) -> Result<(), sqlx::Error> {
    let beats: Vec<&BeatRow> = records.iter().filter_map(|record| record.beat.as_ref()).collect();
    names.configs.learn(connection, beats.iter().map(|beat| beat.config_hash.as_str())).await?;
    let configs = &names.configs;
    BEATS.run(connection, &beats, |query, beat| bind_beat(query, beat, configs)).await?;

    let asks: Vec<PlacedAsk<'_>> = records.iter().flat_map(|record| placed(record)).collect();
    let shown = asks.iter().flat_map(|placed| placed.ask.sources.iter()).map(|source| bounded(source));
    names.sources.learn(connection, shown).await?;
    let lists: Vec<Option<String>> = asks.iter().map(|placed| list_text(placed.ask, &names.sources)).collect();
    names.lists.learn(connection, lists.iter().flatten().map(String::as_str)).await?;
    let asks: Vec<(PlacedAsk<'_>, Option<i64>)> = asks
        .into_iter()
        .zip(&lists)
        .map(|(placed, list)| (placed, list.as_deref().and_then(|list| names.lists.get(list))))
        .collect();
    ASKS.run(connection, &asks, |query, (placed, list)| bind_ask(query, placed, *list)).await
}

/// An ask with the beat it belongs to and its place in it.
struct PlacedAsk<'a> {
    beat: &'a BeatRow,
    position: i64,
    ask: &'a AskRow,
}

fn placed(record: &BeatRecord) -> impl Iterator<Item = PlacedAsk<'_>> {
    record
        .beat
        .iter()
        .flat_map(|beat| (0..).zip(&record.asks).map(move |(position, ask)| PlacedAsk { beat, position, ask }))
}

/// The list as the ids of its sources; none where there was no answer, which is not an empty one.
fn list_text(ask: &AskRow, sources: &Interned) -> Option<String> {
    if !matches!(ask.verdict, "right" | "wrong") {
        return None;
    }
    let ids = ask.sources.iter().map(|source| sources.get(bounded(source)).unwrap_or_default().to_string());
    Some(ids.collect::<Vec<_>>().join(","))
}

fn bounded(source: &str) -> &str {
    source.char_indices().nth(SOURCE_CHARS_MAX).map_or(source, |(end, _)| &source[..end])
}

fn bind_beat(query: Bound, beat: &BeatRow, configs: &Interned) -> Bound {
    query
        .bind(beat.started_at.timestamp_micros())
        .bind(beat.monitor.as_str())
        .bind(LOCAL)
        .bind(beat.scheduled_at.timestamp_micros())
        .bind(beat.kind.slug())
        .bind(beat.era.map(|era| era.slug()))
        .bind("http")
        .bind(beat.fresh_connection)
        .bind(beat.seen.slug())
        .bind(beat.verdict.slug())
        .bind(beat.reason.map(|reason| reason.slug()))
        .bind(beat.stage.map(|stage| stage.slug()))
        .bind(micros(beat.elapsed))
        .bind(beat.tools_elapsed.map(micros))
        .bind(configs.get(&beat.config_hash))
}

fn bind_ask(query: Bound, placed: &PlacedAsk<'_>, list: Option<i64>) -> Bound {
    let PlacedAsk { beat, position, ask } = placed;
    let scores = ask.scores.iter().flat_map(|score| packed_score(*score));
    let lengths = ask.lengths.iter().flat_map(|length| length.to_le_bytes());
    query
        .bind(beat.started_at.timestamp_micros())
        .bind(beat.monitor.as_str())
        .bind(LOCAL)
        .bind(*position)
        .bind(ask.canary.as_str())
        .bind(ask.variant.slug())
        .bind(ask.turn.slug())
        .bind(micros(ask.elapsed))
        .bind(ask.fresh_connection)
        .bind(ask.verdict)
        .bind(ask.reason.map(|reason| reason.slug()))
        .bind(ask.rank)
        .bind(list)
        .bind(list.map(|_| scores.collect::<Vec<u8>>()))
        .bind(list.map(|_| lengths.collect::<Vec<u8>>()))
        .bind(i64::try_from(ask.bytes).unwrap_or(i64::MAX))
}

#[expect(clippy::cast_possible_truncation, reason = "seven digits of a score are past any embedding's jitter")]
fn packed_score(score: Option<f64>) -> [u8; 4] {
    score.map_or(f32::NAN, |score| score as f32).to_le_bytes()
}

/// A statement with its values.
pub(in crate::store) type Bound = Query<'static, Sqlite, SqliteArguments>;

/// An INSERT of many rows, in statements of 32, 16, 8, 4, 2 and 1 rows.
///
/// Each statement costs a round trip to the connection's thread, so rows share them; and sizes are
/// few, so that all stay prepared. Values are numbered by place (`?`): SQLite looks `$n` up in a
/// list, which for hundreds of values a statement is slower than writing the rows.
#[derive(Debug)]
pub(in crate::store) struct Rows {
    head: &'static str,
    columns: usize,
    row: Option<&'static str>,
    tail: &'static str,
    statements: [OnceLock<Arc<str>>; SIZES],
}

impl Rows {
    /// `head` ends with `VALUES `; `tail` begins with a space.
    pub(in crate::store) const fn new(head: &'static str, columns: usize, tail: &'static str) -> Self {
        Self { head, columns, row: None, tail, statements: [const { OnceLock::new() }; SIZES] }
    }

    /// Writes a row that has constants beside its `columns` values.
    pub(in crate::store) const fn with_row(mut self, row: &'static str) -> Self {
        self.row = Some(row);
        self
    }

    /// Writes the rows.
    pub(in crate::store) async fn run<R>(
        &'static self,
        connection: &mut SqliteConnection,
        rows: &[R],
        bind: impl Fn(Bound, &R) -> Bound,
    ) -> Result<(), sqlx::Error> {
        for chunk in chunks(rows) {
            self.bound(chunk, &bind).execute(&mut *connection).await?;
        }
        Ok(())
    }

    /// Writes the rows and reads what `RETURNING` answers.
    pub(in crate::store) async fn fetch<R>(
        &'static self,
        connection: &mut SqliteConnection,
        rows: &[R],
        bind: impl Fn(Bound, &R) -> Bound,
    ) -> Result<Vec<SqliteRow>, sqlx::Error> {
        let mut answers = Vec::with_capacity(rows.len());
        for chunk in chunks(rows) {
            answers.extend(self.bound(chunk, &bind).fetch_all(&mut *connection).await?);
        }
        Ok(answers)
    }

    fn bound<R>(&'static self, chunk: &[R], bind: impl Fn(Bound, &R) -> Bound) -> Bound {
        // A chunk's length is a power of two, and its exponent is the place of its statement.
        let statement = self.statements[chunk.len().trailing_zeros() as usize].get_or_init(|| self.text(chunk.len()));
        chunk.iter().fold(sqlx::query(AssertSqlSafe(Arc::clone(statement))), bind)
    }

    fn text(&self, rows: usize) -> Arc<str> {
        let row = self.row.map_or_else(|| format!("({})", vec!["?"; self.columns].join(", ")), str::to_owned);
        Arc::from(format!("{}{}{}", self.head, vec![row; rows].join(", "), self.tail))
    }
}

/// Splits into chunks whose lengths are powers of two, the greatest first, at most 2^([`SIZES`]-1).
fn chunks<R>(mut rows: &[R]) -> impl Iterator<Item = &[R]> {
    std::iter::from_fn(move || {
        let exponent = rows.len().checked_ilog2()?.min(SIZES as u32 - 1);
        let (chunk, rest) = rows.split_at(1 << exponent);
        rows = rest;
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_split_into_few_sizes() {
        let rows: [(usize, &[usize], &str); 5] = [
            (0, &[], "nothing is written for nothing"),
            (1, &[1], "one row is one statement"),
            (23, &[16, 4, 2, 1], "a batch falls into powers of two"),
            (32, &[32], "the greatest size"),
            (70, &[32, 32, 4, 2], "beyond it, several"),
        ];
        for (count, expected, sentence) in rows {
            let all = vec![0u8; count];
            let lengths: Vec<usize> = chunks(&all).map(<[u8]>::len).collect();
            assert_eq!(lengths, expected, "{sentence}");
        }
    }

    #[test]
    fn a_source_is_cut_between_characters() {
        let long = "é".repeat(SOURCE_CHARS_MAX + 1);
        assert_eq!(bounded(&long).chars().count(), SOURCE_CHARS_MAX, "characters, not bytes, are counted");
        assert_eq!(bounded("auth/tokens.md"), "auth/tokens.md", "a usual name stays");
    }
}

//! Appending beats and asks: the rows that every turn brings, many to a statement.

use std::sync::Arc;

use crate::domain::answer::KeptText;
use crate::domain::protocol::Transport;
use crate::store::sql::connection::Connection;
use crate::store::sql::rows::Rows;
use crate::store::sql::statement::Statement;
use crate::store::values::change_set::{AskRow, BeatRow, ChangeSet, LOCAL};
use crate::store::values::column::{judged_text, micros};
use crate::store::values::known_texts::KnownTexts;
use crate::store::write::intern::Interned;

/// Stands for no lock among the numbers of locks.
const NO_LOCK: i64 = 0;
/// Characters kept of a source's name; a hostile server must not fill our disk with one answer.
const SOURCE_CHARS_MAX: usize = 200;

static BEATS: Rows = Rows::new(
    "INSERT INTO beats (started_at, monitor, location, scheduled_at, kind, era, transport, fresh_connection, seen, \
     outcome, reason, stage, elapsed, connect_elapsed, handshake_elapsed, tools_elapsed, health_elapsed, config, signals, source_count, \
     newest_source, newest_known, lock, maintenance) VALUES ",
    24,
    " ON CONFLICT (started_at, monitor, location) DO NOTHING",
);
static ASKS: Rows = Rows::new(
    "INSERT INTO asks (started_at, monitor, location, position, canary, variant, turn, elapsed, fresh_connection, \
     verdict, reason, rank, list, scores, lengths, bytes, tokens, cache, self_reported) VALUES ",
    19,
    " ON CONFLICT (started_at, monitor, location, position) DO NOTHING",
);
static SOURCES: Rows = Rows::new(
    "INSERT INTO sources (name) VALUES ",
    1,
    " ON CONFLICT (name) DO UPDATE SET doomed_at = NULL RETURNING id, name",
);
static TEXTS: Rows =
    Rows::new("INSERT INTO texts (source, bytes, begins) VALUES ", 3, " ON CONFLICT (source) DO NOTHING");
static LISTS: Rows = Rows::new(
    "INSERT INTO ranked_lists (sources) VALUES ",
    1,
    " ON CONFLICT (sources) DO UPDATE SET doomed_at = NULL RETURNING id, sources",
);
static CANARIES: Rows = Rows::new(
    "INSERT INTO canary_names (name) VALUES ",
    1,
    " ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id, name",
);
static CONFIGS: Rows = Rows::new(
    "INSERT INTO config_versions (hash, file, loaded_at, source) VALUES ",
    1,
    " ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash RETURNING number, hash",
)
.with_row("(?, '', 0, '')");

static LOCKS: Rows = Rows::new(
    "INSERT INTO locks (hash) VALUES ",
    1,
    " ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash RETURNING number, hash",
);

/// What the writer remembers of interned texts.
#[derive(Debug)]
pub(in crate::store) struct Names {
    sources: Interned,
    lists: Interned,
    configs: Interned,
    /// Hashes of what is pinned of a monitor.
    locks: Interned,
    /// Canaries' ids, which packs name by a number.
    pub(in crate::store) canaries: Interned,
    /// Which texts are on disk; shared with whoever has one to keep.
    pub(in crate::store) texts: Arc<KnownTexts>,
    /// Names of the texts that the running transaction writes.
    fresh_texts: Vec<Box<str>>,
}

impl Names {
    /// None is known yet.
    pub(in crate::store) fn new() -> Self {
        let [sources, lists, configs, locks, canaries] =
            [&SOURCES, &LISTS, &CONFIGS, &LOCKS, &CANARIES].map(Interned::by);
        Self { sources, lists, configs, locks, canaries, texts: Arc::default(), fresh_texts: Vec::new() }
    }

    /// The number of a file's hash.
    pub(in crate::store) async fn config(
        &mut self,
        connection: &mut Connection,
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
        self.locks.keep();
        self.canaries.keep();
        self.texts.keep(self.fresh_texts.drain(..));
    }

    /// The transaction, or a part of it, was taken back.
    pub(in crate::store) fn forget(&mut self) {
        self.sources.forget();
        self.lists.forget();
        self.configs.forget();
        self.locks.forget();
        self.canaries.forget();
        self.fresh_texts.clear();
    }

    /// Sources and lists may be dropped from their tables: each is asked for again.
    pub(in crate::store) fn forget_droppable(&mut self) {
        self.sources.forget_all();
        self.lists.forget_all();
    }

    /// The tables may hold less than what was written: whoever took over may have lost the latest.
    pub(in crate::store) fn forget_all(&mut self) {
        let all = [&mut self.sources, &mut self.lists, &mut self.configs, &mut self.locks, &mut self.canaries];
        all.into_iter().for_each(Interned::forget_all);
        self.texts.forget();
        self.fresh_texts.clear();
    }
}

/// Appends the beats and asks of many records.
pub(in crate::store) async fn append(
    connection: &mut Connection,
    names: &mut Names,
    records: &[&ChangeSet],
) -> Result<(), sqlx::Error> {
    let beats: Vec<&BeatRow> = records.iter().filter_map(|record| record.beat.as_ref()).collect();
    names.configs.learn(connection, beats.iter().map(|beat| beat.config_hash.as_str())).await?;
    names.locks.learn(connection, beats.iter().filter_map(|beat| beat.lock_hash.as_deref())).await?;
    let numbers = (&names.configs, &names.locks);
    BEATS.run(connection, &beats, |query, beat| bind_beat(query, beat, numbers)).await?;

    let asks: Vec<PlacedAsk<'_>> = records.iter().flat_map(|record| placed(record)).collect();
    let shown = asks.iter().flat_map(|placed| placed.ask.sources.iter()).map(|source| bounded(source));
    names.sources.learn(connection, shown).await?;
    let lists: Vec<Option<String>> = asks.iter().map(|placed| list_text(placed.ask, &names.sources)).collect();
    names.lists.learn(connection, lists.iter().flatten().map(String::as_str)).await?;
    keep_texts(connection, names, records).await?;
    let asks: Vec<(PlacedAsk<'_>, Option<i64>)> = asks
        .into_iter()
        .zip(&lists)
        .map(|(placed, list)| (placed, list.as_deref().and_then(|list| names.lists.get(list))))
        .collect();
    ASKS.run(connection, &asks, |query, (placed, list)| bind_ask(query, placed, *list)).await
}

/// Writes what texts begin with, for sources that have a number by now; one that is there stays as it is.
async fn keep_texts(connection: &mut Connection, names: &mut Names, records: &[&ChangeSet]) -> Result<(), sqlx::Error> {
    let texts = records.iter().flat_map(|record| &record.texts);
    let texts: Vec<(i64, &KeptText)> = texts.filter_map(|text| Some((names.sources.get(&text.name)?, text))).collect();
    TEXTS.run(connection, &texts, |query, (source, text)| bind_text(query, *source, text)).await?;
    names.fresh_texts.extend(texts.into_iter().map(|(_, text)| text.name.clone()));
    Ok(())
}

/// An ask with the beat it belongs to and its place in it.
struct PlacedAsk<'a> {
    beat: &'a BeatRow,
    position: i64,
    ask: &'a AskRow,
}

fn placed(record: &ChangeSet) -> impl Iterator<Item = PlacedAsk<'_>> {
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

fn bind_beat(query: Statement, beat: &BeatRow, (configs, locks): (&Interned, &Interned)) -> Statement {
    query
        .bind(beat.started_at.timestamp_micros())
        .bind(beat.monitor.as_str())
        .bind(LOCAL)
        .bind(beat.scheduled_at.timestamp_micros())
        .bind(beat.kind.slug())
        .bind(beat.era.map(|era| era.slug()))
        .bind(beat.transport.unwrap_or(Transport::Http).slug())
        .bind(beat.fresh_connection)
        .bind(beat.seen.slug())
        .bind(beat.verdict.slug())
        .bind(beat.reason.map(|reason| reason.slug()))
        .bind(beat.stage.map(|stage| stage.slug()))
        .bind(micros(beat.elapsed))
        .bind(beat.stages.connect.map(micros))
        .bind(beat.stages.handshake.map(micros))
        .bind(beat.stages.tools.map(micros))
        .bind(beat.stages.health.map(micros))
        .bind(configs.get(&beat.config_hash))
        .bind(judged_text(&beat.judged))
        .bind(beat.sources.map(|sources| sources.count))
        .bind(beat.sources.and_then(|sources| sources.newest).map(|newest| newest.timestamp_micros()))
        .bind(beat.sources.map(|sources| sources.knows_newest))
        .bind(beat.lock_hash.as_deref().and_then(|hash| locks.get(hash)).unwrap_or(NO_LOCK))
        .bind(beat.in_maintenance)
}

fn bind_text(query: Statement, source: i64, text: &KeptText) -> Statement {
    query.bind(source).bind(i64::try_from(text.bytes).unwrap_or(i64::MAX)).bind(&*text.begins)
}

fn bind_ask(query: Statement, placed: &PlacedAsk<'_>, list: Option<i64>) -> Statement {
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
        .bind(ask.tokens)
        .bind(ask.cache.slug())
        .bind(Some(ask.self_reported.join("\n")).filter(|said| !said.is_empty()))
}

#[expect(clippy::cast_possible_truncation, reason = "seven digits of a score are past any embedding's jitter")]
fn packed_score(score: Option<f64>) -> [u8; 4] {
    score.map_or(f32::NAN, |score| score as f32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_cut_between_characters() {
        let long = "é".repeat(SOURCE_CHARS_MAX + 1);
        assert_eq!(bounded(&long).chars().count(), SOURCE_CHARS_MAX, "characters, not bytes, are counted");
        assert_eq!(bounded("auth/tokens.md"), "auth/tokens.md", "a usual name stays");
    }
}

//! What a monitor's canaries were asked over a stretch of time, and at which rank their sources came: a fixed number of
//! queries, however many canaries and answers there are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::domain::answer::Turn;
use crate::domain::monitor::MonitorId;
use crate::store::packed::pack::answer::PackedAnswer;
use crate::store::read::history::{PastCounts, remembered};
use crate::store::read::readers::Readers;
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::numbers;
use crate::store::sql::statement::query;
use crate::store::values::error::StoreError;
use crate::store::values::past::{AskShape, PastAsk, PastBeat};

/// Asks that one look may bring, the latest of them: a week of a monitor that asks ten canaries a minute.
const ASKS_MAX: usize = 100_000;

/// What was asked between two moments.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedPast {
    /// From when on nothing is left out: the moment asked for, or a later one where there was too much.
    pub from: DateTime<Utc>,
    /// What was asked, the oldest first.
    pub asks: Vec<AskedLine>,
}

/// One canary that was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedLine {
    /// When its beat started, UTC.
    pub at: DateTime<Utc>,
    /// Id of the canary, unique within its monitor.
    pub canary: Arc<str>,
    /// What it was and what came of it.
    pub shape: AskShape,
    /// Which list came back, by its number in `ranked_lists`; none where none did.
    pub list: Option<i64>,
}

impl AskedLine {
    /// Whether the schedule asked it: not again, in doubt.
    pub fn is_in_turn(&self) -> bool {
        self.shape.turn == Turn::Scheduled
    }
}

/// An ask whose canary and answer are still numbers.
struct Numbered {
    at: DateTime<Utc>,
    canary: i64,
    shape: AskShape,
    list: NumberedList,
}

enum NumberedList {
    None,
    Known(i64),
    OfAnswer(i64),
}

impl Readers {
    /// What a monitor's canaries were asked between two moments (the second is left out), the oldest first, as far back as
    /// packs are kept; what was not asked is left out.
    ///
    /// # Errors
    /// Where the database does not answer, or holds a pack that cannot be read.
    pub async fn asked(
        &self,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<AskedPast, StoreError> {
        let (mut reading, starts) = self.reading_of(monitor).await?;
        let PastCounts { packs, rows } = remembered(&mut reading, (monitor, &starts), from, until).await?;
        let within = |beat: &PastBeat| beat.started_at >= from && beat.started_at < until;
        let mut asks: Vec<AskedLine> = rows.iter().filter(|beat| within(beat)).flat_map(lines).collect();
        let (mut packed, mut since) = (Vec::new(), from);
        for pack in packs.into_iter().rev() {
            // The latest hours come first: of a monitor that asks too much, the oldest are left out.
            if asks.len() + packed.len() >= ASKS_MAX {
                since = pack.ends_at();
                break;
            }
            let hour = pack.read()?;
            let of_hour = hour.asks().filter(|(beat, ask, ..)| within(beat) && is_asked(ask));
            packed.extend(of_hour.map(|(beat, ask, canary, answer)| Numbered {
                at: beat.started_at,
                canary,
                shape: ask.shape,
                list: match answer {
                    Some(PackedAnswer::Whole(answer)) => NumberedList::Known(answer.list),
                    Some(PackedAnswer::Number(number)) => NumberedList::OfAnswer(*number),
                    Some(PackedAnswer::None) | None => NumberedList::None,
                },
            }));
        }
        asks.extend(named(&mut reading, packed).await?);
        asks.sort_by_key(|ask| ask.at);
        asks.retain(|ask| ask.at >= since);
        Ok(AskedPast { from: since, asks })
    }
}

/// Whether a canary's own question was asked, or a sentence out of an answer.
fn is_asked(ask: &PastAsk) -> bool {
    let turn = ask.shape.turn;
    ask.shape.verdict != "not_asked" && (turn == Turn::Harvested || !turn.is_altered())
}

fn lines(beat: &PastBeat) -> impl Iterator<Item = AskedLine> {
    beat.asks.iter().filter(|ask| is_asked(ask)).map(|ask| AskedLine {
        at: beat.started_at,
        canary: Arc::clone(&ask.canary),
        shape: ask.shape,
        list: ask.answer.as_ref().map(|answer| answer.list),
    })
}

/// Learns what the numbers stand for: canaries' names in one query, answers' lists in another.
async fn named(connection: &mut Connection, asks: Vec<Numbered>) -> Result<Vec<AskedLine>, StoreError> {
    let canaries: HashSet<i64> = asks.iter().map(|ask| ask.canary).collect();
    let rows = query(concat!("SELECT id, name FROM canary_names WHERE id IN ", numbers!("$1")))
        .bind(serde_json::json!(canaries).to_string())
        .fetch_all(&mut *connection)
        .await?;
    let names = rows.iter().map(|row| Ok((row.try_get(0)?, Arc::from(row.try_get::<&str>(1)?))));
    let names: HashMap<i64, Arc<str>> = names.collect::<Result<_, StoreError>>()?;
    let of_answer = |ask: &Numbered| if let NumberedList::OfAnswer(number) = ask.list { Some(number) } else { None };
    let answers: HashSet<i64> = asks.iter().filter_map(of_answer).collect();
    let rows = query(concat!("SELECT id, list FROM answers WHERE id IN ", numbers!("$1")))
        .bind(serde_json::json!(answers).to_string())
        .fetch_all(&mut *connection)
        .await?;
    let lists = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
    let lists: HashMap<i64, i64> = lists.collect::<Result<_, StoreError>>()?;
    let line = |ask: Numbered| {
        let canary = names.get(&ask.canary).cloned();
        let canary = canary.ok_or_else(|| StoreError::Unreadable("a pack: a canary without a name".to_owned()))?;
        let list = match ask.list {
            NumberedList::None => None,
            NumberedList::Known(list) => Some(list),
            NumberedList::OfAnswer(number) => lists.get(&number).copied(),
        };
        Ok(AskedLine { at: ask.at, canary, shape: ask.shape, list })
    };
    asks.into_iter().map(line).collect()
}

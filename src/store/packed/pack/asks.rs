//! The asks of an hour, as columns.

use std::io;
use std::sync::Arc;

use crate::domain::answer::{CacheWord, Turn, Variant};
use crate::domain::reason::FailureReason;
use crate::store::packed::pack::answer::{PackedAnswer, answer_bytes, answer_from, read_entry, write_answer};
use crate::store::packed::pack::bits::{BitReader, BitWriter, damaged, read_number};
use crate::store::packed::pack::layout::Layout;
use crate::store::packed::pack::numbers::Numbers;
use crate::store::packed::pack::tables::{
    as_before, from_before, from_turn, in_turn, read_by_canary, table_of, write_by_canary,
};
use crate::store::packed::pack::times::{code, duration};
use crate::store::packed::pack::words;
use crate::store::values::column::ask_verdict;
use crate::store::values::past::{AskShape, PastAsk};

/// Bits of what an answer says of a cache.
const CACHE_BITS: u32 = 2;
/// Bytes of what one answer admits of itself at most that are read.
const SELF_REPORTED_MAX: usize = 100_000;

pub(in crate::store::packed::pack) fn write_asks(
    written: &mut BitWriter,
    asks: &[&PastAsk],
    numbers: &Numbers,
) -> io::Result<()> {
    let number = |ask: &&PastAsk| numbers.canaries.get(&ask.canary).copied();
    let canaries =
        asks.iter().map(number).collect::<Option<Vec<i64>>>().ok_or_else(|| damaged("a canary without a number"))?;
    let (canary_table, canary_places) = table_of(&canaries);
    let (shape_table, shape_places) = table_of(&asks.iter().map(|ask| ask.shape).collect::<Vec<_>>());
    let mut entries = Vec::with_capacity(asks.len());
    for ask in asks {
        entries.push(ask.answer.as_ref().map(answer_bytes).transpose()?);
    }
    let (answer_table, answer_places) = table_of(&entries);

    written.gamma(canary_table.len() as u64)?;
    let mut before = 0;
    for number in &canary_table {
        written.signed(number - std::mem::replace(&mut before, *number))?;
    }
    written.column(&in_turn(&canary_places, canary_table.len()))?;
    written.gamma(shape_table.len() as u64)?;
    shape_table.iter().try_for_each(|shape| write_ask_shape(written, shape))?;
    written.column(&as_before(&shape_places, &canary_places))?;
    written.gamma(answer_table.len() as u64)?;
    let mut before = 0;
    for entry in &answer_table {
        match entry.as_ref().map(|bytes| (bytes, numbers.answers.get(bytes))) {
            None => written.low(2, 0)?,
            Some((bytes, None)) => {
                written.low(2, 1)?;
                write_answer(written, &answer_from(bytes)?)?;
            }
            Some((_, Some(number))) => {
                written.low(2, 2)?;
                written.signed(number - std::mem::replace(&mut before, *number))?;
            }
        }
    }
    written.column(&as_before(&answer_places, &canary_places))?;
    let tokens_of = |ask: &PastAsk| ask.tokens.map_or(0, |tokens| i64::from(tokens) + 1);
    let figures: [&dyn Fn(&PastAsk) -> i64; 3] = [&|ask| code(ask.elapsed), &bytes_of, &tokens_of];
    for figure in figures {
        let values: Vec<i64> = asks.iter().map(|ask| figure(ask)).collect();
        write_by_canary(written, &values, &canary_places, canary_table.len())?;
    }
    write_self_reported(written, asks, &canary_places)
}

/// Canaries, answers, asks, and where in the two tables each ask's are.
pub(in crate::store::packed::pack) type Asks = (Vec<i64>, Vec<PackedAnswer>, Vec<PastAsk>, Vec<(usize, usize)>);

/// Reads them. Numbers are written as what lies between one and the next, because those of one monitor were mostly given
/// in a row; in the first layout each stands for itself.
pub(in crate::store::packed::pack) fn read_asks(
    read: &mut BitReader<'_>,
    count: usize,
    layout: Layout,
) -> io::Result<Asks> {
    let next = |before: i64, number: i64| if layout == Layout::Gaps { number } else { before.saturating_add(number) };
    let mut canaries: Vec<i64> = Vec::new();
    for _ in 0..read.count(count)? {
        canaries.push(next(canaries.last().copied().unwrap_or_default(), read.signed()?));
    }
    let canary_places = from_turn(&read.column(count)?, canaries.len())?;
    let shapes =
        (0..read.count(count)?).map(|_| read_ask_shape(read, layout)).collect::<io::Result<Vec<AskShape>>>()?;
    let shape_places = from_before(&read.column(count)?, &canary_places, canaries.len())?;
    let (mut answers, mut before) = (Vec::new(), 0);
    for _ in 0..read.count(count)? {
        let mut entry = read_entry(read)?;
        if let PackedAnswer::Number(number) = &mut entry {
            before = next(before, *number);
            *number = before;
        }
        answers.push(entry);
    }
    let answer_places = from_before(&read.column(count)?, &canary_places, canaries.len())?;
    let elapsed = read_by_canary(read, &canary_places, canaries.len())?;
    let bytes = read_by_canary(read, &canary_places, canaries.len())?;
    let tokens = read_by_canary(read, &canary_places, canaries.len())?;
    let self_reported = read_self_reported(read, &canary_places, canaries.len(), layout)?;
    let (mut asks, unnamed) = (Vec::with_capacity(count), Arc::<str>::from(""));
    for place in 0..count {
        let shape = *shapes.get(shape_places[place]).ok_or_else(|| damaged("a form of an ask that is not there"))?;
        asks.push(PastAsk {
            canary: Arc::clone(&unnamed),
            shape,
            elapsed: duration(elapsed[place])?,
            answer: None,
            bytes: u64::try_from(bytes[place]).unwrap_or_default(),
            tokens: tokens[place].checked_sub(1).and_then(|tokens| u32::try_from(tokens).ok()),
            self_reported: self_reported[place].clone(),
        });
    }
    Ok((canaries, answers, asks, canary_places.into_iter().zip(answer_places).collect()))
}

fn write_ask_shape(written: &mut BitWriter, shape: &AskShape) -> io::Result<()> {
    words::write(written, shape.variant.slug())?;
    words::write(written, shape.turn.slug())?;
    written.bit(shape.fresh_connection)?;
    words::write(written, shape.verdict)?;
    words::write(written, shape.reason.map_or("", |reason| reason.slug()))?;
    written.gamma(shape.rank.map_or(0, |rank| u64::from(rank) + 1))?;
    written.low(CACHE_BITS, shape.cache as u64)
}

fn read_ask_shape(read: &mut BitReader<'_>, layout: Layout) -> io::Result<AskShape> {
    Ok(AskShape {
        variant: words::read(read, Variant::from_slug)?,
        turn: words::read(read, Turn::from_slug)?,
        fresh_connection: read.bit()?,
        verdict: words::read(read, ask_verdict)?,
        reason: words::read_or_none(read, FailureReason::from_slug)?,
        rank: read.gamma()?.checked_sub(1).and_then(|rank| u32::try_from(rank).ok()),
        cache: if layout < Layout::Judged {
            CacheWord::Unsaid
        } else {
            read_number(read, CACHE_BITS, &CacheWord::ALL)?
        },
    })
}

fn bytes_of(ask: &PastAsk) -> i64 {
    i64::try_from(ask.bytes).unwrap_or(i64::MAX / 4)
}

/// What answers admit of themselves, each distinct text once: mostly nothing, which is one bit and a column of zeros.
fn write_self_reported(written: &mut BitWriter, asks: &[&PastAsk], canaries: &[usize]) -> io::Result<()> {
    let (table, places) =
        table_of(&asks.iter().map(|ask| ask.self_reported.as_deref().unwrap_or("")).collect::<Vec<_>>());
    written.gamma(table.len() as u64)?;
    for text in table {
        written.gamma(text.len() as u64)?;
        text.bytes().try_for_each(|byte| written.low(8, u64::from(byte)))?;
    }
    written.column(&as_before(&places, canaries))
}

fn read_self_reported(
    read: &mut BitReader<'_>,
    canary_places: &[usize],
    canaries: usize,
    layout: Layout,
) -> io::Result<Vec<Option<Arc<str>>>> {
    if layout < Layout::Judged {
        return Ok(vec![None; canary_places.len()]);
    }
    let mut table = Vec::new();
    for _ in 0..read.count(canary_places.len())? {
        let length = read.count(SELF_REPORTED_MAX)?;
        let bytes =
            (0..length).map(|_| read.low(8)).map(|byte| byte.map(|byte| u8::try_from(byte).unwrap_or_default()));
        let text = String::from_utf8(bytes.collect::<io::Result<_>>()?).map_err(|_| damaged("a text that is none"))?;
        table.push(Some(Arc::from(text)).filter(|text: &Arc<str>| !text.is_empty()));
    }
    let places = from_before(&read.column(canary_places.len())?, canary_places, canaries)?;
    let of = |place: usize| table.get(place).cloned().ok_or_else(|| damaged("a text that is not there"));
    places.into_iter().map(of).collect()
}

//! A ranked list as few bits, alike for alike lists.

use std::io;

use crate::domain::quality::score_code::{SCORE_BITS, ScoreCode};
use crate::store::packed::pack::bits::{BitReader, BitWriter, damaged};
use crate::store::values::past::PastAnswer;

/// Places of one list at most that are read.
const PLACES_MAX: usize = 10_000;

/// One distinct answer of an hour.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::store) enum PackedAnswer {
    None,
    Whole(PastAnswer),
    /// By its number; as it is read, by what lies between it and the one before.
    Number(i64),
}

/// An answer as the bytes that stand for it, alike for alike answers: scores are rounded.
///
/// # Errors
/// None in practice: nothing is written but memory.
pub(in crate::store) fn answer_bytes(answer: &PastAnswer) -> io::Result<Vec<u8>> {
    let mut written = BitWriter::new();
    write_answer(&mut written, answer)?;
    written.bytes()
}

/// The answer that bytes stand for.
///
/// # Errors
/// Where they are none of [`answer_bytes`].
pub(in crate::store) fn answer_from(bytes: &[u8]) -> io::Result<PastAnswer> {
    read_answer(&mut BitReader::new(bytes))
}

pub(in crate::store::packed::pack) fn write_answer(written: &mut BitWriter, answer: &PastAnswer) -> io::Result<()> {
    written.signed(answer.list)?;
    written.gamma(answer.scores.len() as u64)?;
    for score in &answer.scores {
        written.low(SCORE_BITS, u64::from(ScoreCode::of(*score).0))?;
    }
    written.gamma(answer.lengths.len() as u64)?;
    answer.lengths.iter().try_for_each(|length| written.gamma(u64::from(*length)))
}

pub(in crate::store::packed::pack) fn read_answer(read: &mut BitReader<'_>) -> io::Result<PastAnswer> {
    let list = read.signed()?;
    let score = |bits| ScoreCode(u32::try_from(bits).unwrap_or_default()).score();
    let scores = (0..read.count(PLACES_MAX)?).map(|_| read.low(SCORE_BITS).map(score)).collect::<io::Result<_>>()?;
    let lengths =
        (0..read.count(PLACES_MAX)?).map(|_| read.gamma().map(|length| u32::try_from(length).unwrap_or(u32::MAX)));
    Ok(PastAnswer { list, scores, lengths: lengths.collect::<io::Result<_>>()? })
}

pub(in crate::store::packed::pack) fn read_entry(read: &mut BitReader<'_>) -> io::Result<PackedAnswer> {
    match read.low(2)? {
        0 => Ok(PackedAnswer::None),
        1 => read_answer(read).map(PackedAnswer::Whole),
        2 => read.signed().map(PackedAnswer::Number),
        _ => Err(damaged("an answer of a newer Serin")),
    }
}

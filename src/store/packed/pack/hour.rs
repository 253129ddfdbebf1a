//! The beats of one monitor in one hour, as columns of small differences.
//!
//! Every duration is a step of the latency scale (`domain::latency::code`), taken from the median of its column;
//! words, canaries and answers are tables with an index that is mostly "as before". A canary is a number
//! that the store gave its name, and an answer that came several times is a number too, because a list that
//! stays the same for weeks need not be written 24 times a day.

use std::io;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::latency::code::LatencyCode;
use crate::domain::observation::{BeatKind, Stage};
use crate::domain::outcome::{Judged, Verdict};
use crate::domain::protocol::{Era, Transport};
use crate::domain::reason::FailureReason;
use crate::domain::signal::{Level, Signal};
use crate::store::packed::pack::answer::PackedAnswer;
use crate::store::packed::pack::asks::{read_asks, write_asks};
use crate::store::packed::pack::bits::{BitReader, BitWriter, damaged};
use crate::store::packed::pack::layout::Layout;
use crate::store::packed::pack::looks::{read_judged, read_looks, write_judged, write_looks};
use crate::store::packed::pack::numbers::{Meanings, Numbers};
use crate::store::packed::pack::tables::{as_before, from_before, table_of};
use crate::store::packed::pack::times::{code, duration};
use crate::store::packed::pack::timestamps::{read_gaps, read_timestamps, write_timestamps};
use crate::store::packed::pack::words;
use crate::store::values::change_set::{BeatSeen, StageTimes};
use crate::store::values::past::{BeatShape, PastAsk, PastBeat};

/// Beats of one hour at most that are read: one a second, and as many that were asked for.
const BEATS_MAX: usize = 10_000;
/// Asks of one beat at most that are read.
const ASKS_MAX: usize = 1_000;

/// A pack, read; its numbers still stand for themselves.
#[derive(Debug)]
pub(in crate::store) struct Hour {
    /// The beats; their asks have neither name nor answer yet.
    pub(in crate::store) beats: Vec<PastBeat>,
    /// The number of each canary.
    pub(in crate::store) canaries: Vec<i64>,
    /// The number or the answer itself of each distinct answer.
    pub(in crate::store) answers: Vec<PackedAnswer>,
    /// For each ask of all beats in order: its canary's and its answer's place in the two tables.
    places: Vec<(usize, usize)>,
}

/// What a beat has in common with others, and how much of it there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Form {
    shape: BeatShape,
    stages: [bool; 4],
    asks: usize,
}

/// Writes an hour. The beats are sorted by their start.
///
/// # Errors
/// Where a canary has no number, or a word is unknown: mistakes of the caller.
pub(in crate::store) fn encode(hour: DateTime<Utc>, beats: &[PastBeat], numbers: &Numbers) -> io::Result<Vec<u8>> {
    let mut written = BitWriter::new();
    written.gamma(Layout::NOW as u64)?;
    written.gamma(beats.len() as u64)?;
    write_timestamps(&mut written, hour, beats)?;
    let forms: Vec<Form> = beats.iter().map(form).collect();
    let (table, places) = table_of(&forms);
    written.gamma(table.len() as u64)?;
    for form in &table {
        write_form(&mut written, form)?;
    }
    written.column(&as_before(&places, &vec![0; places.len()]))?;
    for stage in 0..4 {
        let times = beats.iter().filter_map(|beat| stages(beat)[stage]);
        written.around_median(&times.map(code).collect::<Vec<_>>())?;
    }
    let beyond: Vec<i64> = beats.iter().map(|beat| code(beat.elapsed) - code(parts(beat))).collect();
    written.around_median(&beyond)?;
    write_looks(&mut written, hour, beats)?;
    let asks: Vec<&PastAsk> = beats.iter().flat_map(|beat| &beat.asks).collect();
    write_asks(&mut written, &asks, numbers)?;
    written.bytes()
}

/// Reads an hour.
///
/// # Errors
/// Where the bytes are no pack, or one of a later version.
pub(in crate::store) fn decode(hour: DateTime<Utc>, bytes: &[u8]) -> io::Result<Hour> {
    let mut read = BitReader::new(bytes);
    let layout = Layout::of(read.gamma()?)?;
    let count = read.count(BEATS_MAX)?;
    let moments = match layout {
        Layout::Gaps => read_gaps(&mut read, hour, count)?,
        Layout::Grid | Layout::Judged | Layout::Windows => read_timestamps(&mut read, hour, count)?,
    };
    let table = (0..read.count(count)?).map(|_| read_form(&mut read, layout)).collect::<io::Result<Vec<_>>>()?;
    let places = from_before(&read.column(count)?, &vec![0; count], 1)?;
    let forms =
        places.iter().map(|place| table.get(*place).copied().ok_or_else(|| damaged("a form that is not there")));
    let forms = forms.collect::<io::Result<Vec<Form>>>()?;
    let mut beats: Vec<PastBeat> =
        moments.into_iter().zip(&forms).map(|(moments, form)| blank(moments, form)).collect();
    for stage in 0..4 {
        let present: Vec<usize> = (0..count).filter(|place| forms[*place].stages[stage]).collect();
        for (place, code) in present.iter().zip(read.around_median(present.len())?) {
            *stage_of(&mut beats[*place], stage) = Some(duration(code)?);
        }
    }
    let beyond = read.around_median(count)?;
    if layout >= Layout::Judged {
        read_looks(&mut read, hour, &mut beats)?;
    }
    let asks: usize = forms.iter().map(|form| form.asks).sum();
    let (canaries, answers, mut asks, places) = read_asks(&mut read, asks, layout)?;
    for ((beat, form), beyond) in beats.iter_mut().zip(&forms).zip(beyond) {
        beat.asks = asks.drain(..form.asks).collect();
        beat.elapsed = duration(code(parts(beat)).saturating_add(beyond))?;
    }
    Ok(Hour { beats, canaries, answers, places })
}

impl Hour {
    /// Every ask in order, with its beat, the number of its canary, and its answer as the pack holds it.
    pub(in crate::store) fn asks(&self) -> impl Iterator<Item = (&PastBeat, &PastAsk, i64, Option<&PackedAnswer>)> {
        let asks = self.beats.iter().flat_map(|beat| beat.asks.iter().map(move |ask| (beat, ask)));
        asks.zip(&self.places).map(|((beat, ask), (canary, answer))| {
            (beat, ask, self.canaries.get(*canary).copied().unwrap_or_default(), self.answers.get(*answer))
        })
    }

    /// The beats with the names of their canaries, and with answers where the meaning of their number is known.
    ///
    /// # Errors
    /// Where a canary's number has no meaning.
    pub(in crate::store) fn named(mut self, meanings: &Meanings) -> io::Result<Vec<PastBeat>> {
        let asks = self.beats.iter_mut().flat_map(|beat| &mut beat.asks);
        for (ask, (canary, answer)) in asks.zip(&self.places) {
            let number = self.canaries.get(*canary).copied().unwrap_or_default();
            ask.canary = meanings.canaries.get(&number).cloned().ok_or_else(|| damaged("a canary without a name"))?;
            ask.answer = match self.answers.get(*answer) {
                Some(PackedAnswer::Whole(answer)) => Some(answer.clone()),
                Some(PackedAnswer::Number(number)) => meanings.answers.get(number).cloned(),
                Some(PackedAnswer::None) | None => None,
            };
        }
        Ok(self.beats)
    }
}

fn form(beat: &PastBeat) -> Form {
    let (mut shape, stages) = (beat.shape, stages(beat).map(|time| time.is_some()));
    // Written with what was looked at: most beats do not look, and would have a form of their own where one does.
    shape.judged[Signal::Freshness as usize] = Judged::UNKNOWN;
    Form { shape, stages, asks: beat.asks.len() }
}

fn write_form(written: &mut BitWriter, form: &Form) -> io::Result<()> {
    let shape = form.shape;
    words::write(written, shape.kind.slug())?;
    words::write(written, shape.era.map_or("", |era| era.slug()))?;
    words::write(written, shape.transport.slug())?;
    written.bit(shape.fresh_connection)?;
    words::write(written, shape.seen.slug())?;
    words::write(written, shape.verdict.slug())?;
    words::write(written, shape.reason.map_or("", |reason| reason.slug()))?;
    words::write(written, shape.stage.map_or("", |stage| stage.slug()))?;
    written.signed(shape.config)?;
    form.stages.iter().try_for_each(|present| written.bit(*present))?;
    written.gamma(form.asks as u64)?;
    written.signed(shape.lock)?;
    let all_calm = others(&shape.judged).all(|judged| judged.level == Level::Calm);
    written.bit(all_calm)?;
    others(&shape.judged).filter(|_| !all_calm).try_for_each(|judged| write_judged(written, *judged))?;
    written.bit(shape.in_maintenance)
}

fn read_form(read: &mut BitReader<'_>, layout: Layout) -> io::Result<Form> {
    let mut shape = BeatShape {
        kind: words::read(read, BeatKind::from_slug)?,
        era: words::read_or_none(read, Era::from_slug)?,
        transport: words::read(read, Transport::from_slug)?,
        fresh_connection: read.bit()?,
        seen: words::read(read, BeatSeen::from_slug)?,
        verdict: words::read(read, Verdict::from_slug)?,
        reason: words::read_or_none(read, FailureReason::from_slug)?,
        stage: words::read_or_none(read, Stage::from_slug)?,
        config: read.signed()?,
        lock: 0,
        judged: [Judged::UNKNOWN; 8],
        in_maintenance: false,
    };
    let stages = [read.bit()?, read.bit()?, read.bit()?, read.bit()?];
    let asks = read.count(ASKS_MAX)?;
    if layout < Layout::Judged {
        return Ok(Form { shape, stages, asks });
    }
    shape.lock = read.signed()?;
    let all_calm = read.bit()?;
    for signal in Signal::ALL.into_iter().filter(|signal| *signal != Signal::Freshness) {
        let calm = Judged { level: Level::Calm, reason: None };
        shape.judged[signal as usize] = if all_calm { calm } else { read_judged(read)? };
    }
    shape.in_maintenance = layout >= Layout::Windows && read.bit()?;
    Ok(Form { shape, stages, asks })
}

/// What is said of all signals but the age of sources.
fn others(judged: &[Judged; 8]) -> impl Iterator<Item = &Judged> {
    let others = Signal::ALL.into_iter().filter(|signal| *signal != Signal::Freshness);
    others.map(|signal| &judged[signal as usize])
}

/// A beat of a form; what differs comes after.
fn blank((scheduled_at, started_at): (DateTime<Utc>, DateTime<Utc>), form: &Form) -> PastBeat {
    let (elapsed, stages) = (Duration::ZERO, StageTimes::default());
    PastBeat { scheduled_at, started_at, shape: form.shape, elapsed, stages, sources: None, asks: Vec::new() }
}

const fn stages(beat: &PastBeat) -> [Option<Duration>; 4] {
    [beat.stages.connect, beat.stages.handshake, beat.stages.tools, beat.stages.health]
}

const fn stage_of(beat: &mut PastBeat, stage: usize) -> &mut Option<Duration> {
    match stage {
        0 => &mut beat.stages.connect,
        1 => &mut beat.stages.handshake,
        2 => &mut beat.stages.tools,
        _ => &mut beat.stages.health,
    }
}

/// What the stages and asks of a beat took together, as they are read back: the whole is near to it.
fn parts(beat: &PastBeat) -> Duration {
    let rounded = |time: Duration| LatencyCode::of(time).duration();
    let stages: Duration = stages(beat).into_iter().flatten().map(rounded).sum();
    stages + beat.asks.iter().map(|ask| rounded(ask.elapsed)).sum::<Duration>()
}

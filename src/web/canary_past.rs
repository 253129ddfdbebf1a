//! What a monitor's canaries were answered over a range: each one's rank by columns of time, each kind's share of right
//! answers by slices, and the lists of those that are wrong. Pages draw it, the API tells it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::answer::{CacheWord, Turn, Variant};
use crate::domain::monitor::{Canary, CanaryKind, MonitorId};
use crate::domain::quality::answers::Answers;
use crate::store::read::asked::{AskedLine, AskedPast};
use crate::web::format;
use crate::web::ranges::{Range, floor};
use crate::web::state::{Away, WebState};

/// A range of the board, cut twice. Both lengths divide a day and the longer one the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoardCut {
    pub range: Range,
    /// The start of the first slice; at most one slice before the range's own start.
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
    /// Length of a slice of shares.
    pub slice: Duration,
    /// Length of a column of ranks.
    pub column: Duration,
}

impl BoardCut {
    /// Ranges that the board can be asked for, the shortest first. Beyond a week it would have to read every beat of months.
    pub(crate) const RANGES: [Range; 4] = [Range::HalfHour, Range::ThreeHours, Range::Day, Range::Week];

    pub(crate) fn range(slug: &str) -> Option<Range> {
        Self::RANGES.into_iter().find(|range| range.slug() == slug)
    }

    /// Cuts a range; one that the board does not have counts as a day.
    pub(crate) fn new(range: Range, now: DateTime<Utc>) -> Self {
        let (range, slice_s, column_s) = match range {
            Range::HalfHour => (range, 120, 20),
            Range::ThreeHours => (range, 600, 120),
            Range::Week => (range, 21_600, 7_200),
            _ => (Range::Day, 3_600, 900),
        };
        let [slice, column] = [slice_s, column_s].map(Duration::from_secs);
        Self { range, from: floor(now - range.length(), slice), to: now, slice, column }
    }

    /// Cuts any stretch of a week at most as the shortest range that holds it; of a longer one its beginning.
    pub(crate) fn between(from: DateTime<Utc>, to: DateTime<Utc>) -> Self {
        let holds = |range: &Range| range.length() >= to - from;
        let range = Self::RANGES.into_iter().find(holds).unwrap_or(Range::Week);
        let cut = Self::new(range, to.min(from + range.length()));
        Self { from: floor(from, cut.slice), ..cut }
    }

    /// The shortest range up to a day that holds all of a day's asks: what the board opens with, so that a monitor that was
    /// just declared fills it.
    fn holding(past: &AskedPast, now: DateTime<Utc>) -> Self {
        let first = past.asks.first().map_or(past.from, |ask| ask.at);
        let holds = |range: &Range| *range == Range::Day || first >= now - range.length();
        Self::new(Self::RANGES.into_iter().find(holds).unwrap_or(Range::Day), now)
    }

    /// The share of the whole drawing, 0 to 1, at which a moment lies; what is cut is whole slices or columns of this length.
    pub(crate) fn share(&self, at: DateTime<Utc>, length: Duration) -> f64 {
        let since = (at - self.from).to_std().unwrap_or_default().as_secs_f64();
        let whole = length.as_secs_f64() * (self.place(self.to, length) + 1) as f64;
        (since / whole).min(1.0)
    }

    /// How long it is in words: its range, or less where it is cut shorter.
    pub(crate) fn said(&self) -> String {
        let length = self.to - self.from;
        if length >= self.range.length() {
            self.range.slug().to_owned()
        } else {
            format::span(length.to_std().unwrap_or_default())
        }
    }

    /// How many columns there are, the last one being under way.
    pub(crate) fn columns(&self) -> usize {
        self.place(self.to, self.column) + 1
    }

    /// In which slice or column a moment lies.
    pub(crate) fn place(&self, at: DateTime<Utc>, length: Duration) -> usize {
        let since = (at - self.from).num_microseconds().unwrap_or_default().max(0);
        usize::try_from(since / i64::try_from(length.as_micros()).unwrap_or(i64::MAX).max(1)).unwrap_or_default()
    }

    /// When a slice or column begins.
    pub(crate) fn start(&self, place: usize, length: Duration) -> DateTime<Utc> {
        let length = TimeDelta::from_std(length).unwrap_or_default();
        self.from + length * i32::try_from(place).unwrap_or(i32::MAX)
    }
}

/// What an answer came to, the best first: of several in one column the worst one shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Came {
    /// Right, at this rank; none where no source is expected.
    Right(Option<u32>),
    /// The call brought no answer.
    Failed,
    /// The source came too far down.
    Late(u32),
    /// Wrong, and the source did not come at all.
    Lost,
}

impl Came {
    fn of(ask: &AskedLine) -> Self {
        match (ask.shape.verdict, ask.shape.rank) {
            ("right", rank) => Self::Right(rank),
            ("wrong", Some(rank)) => Self::Late(rank),
            ("wrong", None) => Self::Lost,
            _ => Self::Failed,
        }
    }

    pub(crate) const fn is_wrong(self) -> bool {
        matches!(self, Self::Late(_) | Self::Lost)
    }
}

/// Answers in a row that were all wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrongRun {
    pub first: DateTime<Utc>,
    pub last: DateTime<Utc>,
    pub answers: u32,
}

/// One canary over the range.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct CanaryTrack {
    /// What shows in each column; none where it was not asked.
    pub columns: Vec<Option<Came>>,
    /// Every answer, whoever asked for it; a call that brought none counts.
    pub answers: Answers,
    /// The best and the worst rank of its right answers.
    pub ranks: Option<(u32, u32)>,
    /// Wrong answers in a row, the oldest run first; a failed call ends none.
    pub wrong: Vec<WrongRun>,
    /// Since when all its answers are right or all are wrong; none where they are so from the range's start.
    pub turned_at: Option<DateTime<Utc>>,
    /// The last ask.
    pub last: Option<AskedLine>,
    /// The last one that was answered rightly.
    pub last_right: Option<AskedLine>,
    /// The last one that was answered wrongly.
    pub last_wrong: Option<AskedLine>,
    /// Whether the last answer was wrong; none before the first.
    pub is_wrong: Option<bool>,
}

impl CanaryTrack {
    fn take(&mut self, ask: &AskedLine, cut: &BoardCut) {
        let came = Came::of(ask);
        self.columns.resize(cut.columns(), None);
        if let Some(column) = self.columns.get_mut(cut.place(ask.at, cut.column)) {
            *column = (*column).max(Some(came));
        }
        self.answers.count(matches!(came, Came::Right(_)));
        let was_wrong = self.is_wrong;
        if came != Came::Failed {
            if was_wrong.is_some_and(|was_wrong| was_wrong != came.is_wrong()) {
                self.turned_at = Some(ask.at);
            }
            self.is_wrong = Some(came.is_wrong());
        }
        match came {
            Came::Right(rank) => {
                if let Some(rank) = rank {
                    let (best, worst) = self.ranks.unwrap_or((rank, rank));
                    self.ranks = Some((best.min(rank), worst.max(rank)));
                }
                self.last_right = Some(ask.clone());
            }
            Came::Late(_) | Came::Lost => {
                match self.wrong.last_mut().filter(|_| was_wrong == Some(true)) {
                    Some(run) => (run.last, run.answers) = (ask.at, run.answers + 1),
                    None => self.wrong.push(WrongRun { first: ask.at, last: ask.at, answers: 1 }),
                }
                self.last_wrong = Some(ask.clone());
            }
            Came::Failed => {}
        }
        self.last = Some(ask.clone());
    }
}

/// By whom the last ask was answered, as far as that can be told; empty where nothing says it.
pub(crate) const fn answered_by(ask: &AskedLine) -> &'static str {
    match (ask.shape.cache, ask.shape.variant) {
        (CacheWord::Hit, _) => "by a cache",
        (CacheWord::Missed, _) => "by the index",
        (CacheWord::Unsaid, Variant::Fresh) => "past caches",
        (CacheWord::Unsaid, Variant::Reworded) => "in other words",
        (CacheWord::Unsaid, Variant::Plain) => "",
    }
}

/// All canaries over a range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CanaryPast {
    pub cut: BoardCut,
    /// From when on everything is in: the range's start, or later where there was too much.
    pub whole_from: DateTime<Utc>,
    /// By the canary's id.
    pub tracks: HashMap<Arc<str>, CanaryTrack>,
    /// By kind, the share of the schedule's answers in each slice; those without one are left out.
    pub kinds: BTreeMap<CanaryKind, BTreeMap<usize, Answers>>,
}

impl CanaryPast {
    fn of(canaries: &[Canary], cut: BoardCut, past: AskedPast) -> Self {
        let kinds: HashMap<&str, CanaryKind> = canaries.iter().map(|canary| (&*canary.id, canary.kind)).collect();
        let mut all = Self { cut, whole_from: past.from.max(cut.from), tracks: HashMap::new(), kinds: BTreeMap::new() };
        for ask in &past.asks {
            let is_harvested = ask.shape.turn == Turn::Harvested;
            let kind = if is_harvested { Some(&CanaryKind::Harvested) } else { kinds.get(&*ask.canary) };
            let Some(kind) = kind else { continue };
            if !is_harvested {
                all.tracks.entry(Arc::clone(&ask.canary)).or_default().take(ask, &cut);
            }
            // As uptime counts answers: what was asked again in doubt was not asked by chance.
            if is_harvested || ask.is_in_turn() {
                let slices = all.kinds.entry(*kind).or_default();
                slices.entry(cut.place(ask.at, cut.slice)).or_default().count(ask.shape.verdict == "right");
            }
        }
        all
    }

    /// What a kind came to over the whole range.
    pub(crate) fn of_kind(&self, kind: CanaryKind) -> Answers {
        let mut sum = Answers::default();
        self.kinds.get(&kind).into_iter().flat_map(BTreeMap::values).for_each(|answers| sum.add(*answers));
        sum
    }
}

/// Reads what the declared canaries of a monitor were answered over a range; none: over the range that suits it.
///
/// # Errors
/// Where the database does not answer in time.
pub(crate) async fn read(
    state: &WebState,
    monitor: &MonitorId,
    canaries: &[Canary],
    range: Option<Range>,
    now: DateTime<Utc>,
) -> Result<CanaryPast, Away> {
    let cut = BoardCut::new(range.unwrap_or(Range::Day), now);
    let past = state.ask(state.store.asked(monitor, cut.from, cut.to)).await?;
    let cut = if range.is_some() { cut } else { BoardCut::holding(&past, now) };
    Ok(CanaryPast::of(canaries, cut, past))
}

/// The same over any stretch.
///
/// # Errors
/// Where the database does not answer in time.
pub(crate) async fn read_cut(
    state: &WebState,
    monitor: &MonitorId,
    canaries: &[Canary],
    cut: BoardCut,
) -> Result<CanaryPast, Away> {
    let past = state.ask(state.store.asked(monitor, cut.from, cut.to)).await?;
    Ok(CanaryPast::of(canaries, cut, past))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::values::past::AskShape;

    fn at(minute: i64) -> DateTime<Utc> {
        "2026-11-21T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minute)
    }

    fn ask(minute: i64, verdict: &'static str, rank: Option<u32>) -> AskedLine {
        let shape = AskShape {
            variant: Variant::Plain,
            turn: Turn::Scheduled,
            fresh_connection: false,
            verdict,
            reason: None,
            rank,
            cache: CacheWord::Unsaid,
        };
        AskedLine { at: at(minute), canary: Arc::from("c"), shape, list: None }
    }

    fn past(asks: Vec<AskedLine>) -> CanaryPast {
        let cut = BoardCut::new(Range::ThreeHours, at(180));
        let canaries = [Canary::undeclared("c", "?", CanaryKind::Meaning)];
        CanaryPast::of(&canaries, cut, AskedPast { from: cut.from, asks })
    }

    #[test]
    fn a_column_shows_the_worst_of_it_and_nothing_where_nobody_asked() {
        let past = past(vec![
            ask(0, "right", Some(1)),
            ask(4, "right", Some(2)),
            ask(5, "wrong", None),
            ask(5, "right", Some(1)),
            ask(9, "failed", None),
            ask(10, "wrong", Some(7)),
            ask(12, "right", Some(1)),
        ]);
        let track = &past.tracks["c"];
        let right = |rank| Some(Came::Right(Some(rank)));
        let expected =
            [right(1), None, Some(Came::Lost), None, Some(Came::Failed), Some(Came::Late(7)), right(1), None];
        assert_eq!(track.columns[..8], expected);
        assert_eq!((track.columns.len(), track.ranks), (91, Some((1, 2))), "a column is under way");
        assert_eq!((track.answers.asked, track.answers.right), (7, 4), "a call without an answer counts");
        let run = |first, last, answers| WrongRun { first: at(first), last: at(last), answers };
        assert_eq!(track.wrong, [run(5, 5, 1), run(10, 10, 1)]);
        assert_eq!(track.turned_at, Some(at(12)), "since when it is as it is");
        let of_kind = past.of_kind(CanaryKind::Meaning);
        assert_eq!((of_kind.asked, of_kind.right), (7, 4));
        assert_eq!(past.kinds[&CanaryKind::Meaning][&0], Answers { asked: 5, right: 3 }, "a slice is ten minutes");
    }

    #[test]
    fn a_failed_call_ends_no_run_and_turns_nothing() {
        let past = past(vec![ask(0, "wrong", None), ask(1, "failed", None), ask(2, "wrong", None)]);
        let track = &past.tracks["c"];
        assert_eq!(track.wrong, [WrongRun { first: at(0), last: at(2), answers: 2 }]);
        assert_eq!(track.turned_at, None, "it is wrong from the start of what is known");
    }

    #[test]
    fn what_is_asked_again_counts_for_no_kind_and_a_removed_canary_for_nothing() {
        let again =
            AskedLine { shape: AskShape { turn: Turn::ReAsk, ..ask(0, "wrong", None).shape }, ..ask(0, "", None) };
        let removed = AskedLine { canary: Arc::from("gone"), ..ask(0, "right", Some(1)) };
        let past = past(vec![again, removed]);
        assert_eq!(past.of_kind(CanaryKind::Meaning), Answers::default());
        assert_eq!((past.tracks.len(), past.tracks["c"].answers.asked), (1, 1));
    }

    #[test]
    fn ranges_are_cut_into_whole_parts() {
        for range in BoardCut::RANGES {
            let cut = BoardCut::new(range, at(7));
            assert!((cut.slice.as_secs() % cut.column.as_secs(), 86_400 % cut.slice.as_secs()) == (0, 0), "{range:?}");
            assert_eq!(cut.place(cut.start(3, cut.column), cut.column), 3, "{range:?}");
            assert!(cut.columns() < 110, "{range:?}: a row of the board stays small");
        }
        assert_eq!(BoardCut::new(Range::Quarter, at(0)).range, Range::Day);
        let hour = BoardCut::between(at(0), at(60));
        assert_eq!((hour.range, hour.from, hour.to), (Range::ThreeHours, at(0), at(60)), "no longer than it is");
        assert_eq!((hour.said(), BoardCut::new(Range::Day, at(0)).said()), ("1 h".to_owned(), "24h".to_owned()));
        let [none, half] = [at(-5), at(35)].map(|at| hour.share(at, hour.slice));
        assert!(none.abs() < 1e-9 && (half - 0.5).abs() < 1e-9, "of seven slices of ten minutes the middle: {half}");
        let month = BoardCut::between(at(0), at(43_200));
        assert_eq!((month.from, month.to), (at(0), at(10_080)), "of more than a week its beginning");
    }

    #[test]
    fn a_young_monitor_fills_the_board() {
        let past = |minutes: &[i64]| AskedPast {
            from: at(0) - TimeDelta::days(1),
            asks: minutes.iter().map(|minute| ask(*minute, "right", Some(1))).collect(),
        };
        let rows = [
            (past(&[-4, -1]), Range::HalfHour, "declared four minutes ago"),
            (past(&[-31, -1]), Range::ThreeHours, "half an hour does not hold it"),
            (past(&[-1_400]), Range::Day, "asked once in a day"),
            (past(&[]), Range::Day, "never asked"),
        ];
        for (past, range, sentence) in rows {
            assert_eq!(BoardCut::holding(&past, at(0)).range, range, "{sentence}");
        }
    }
}

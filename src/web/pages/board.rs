//! The board of a monitor's canaries: how each kind stands and stood, at which rank each source comes and came, what moved
//! where it is lost, and which checks are armed. Every figure carries its n.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::domain::fleet::Provenance;
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::{CanaryScore, FallWatch, KindWatch};
use crate::live::monitor_view::{CanaryView, MonitorView};
use crate::web::canary_past::{self, BoardCut, CanaryPast, CanaryTrack};
use crate::web::draw::glyph::Glyph;
use crate::web::draw::ranks::Ranks;
use crate::web::draw::trend::{self, Trend};
use crate::web::format::{self, Timestamp};
use crate::web::pages::armed::{self, ArmedPart};
use crate::web::pages::choices::{ChoiceLink, Choices};
use crate::web::pages::moved::{MovedPart, TwoLists};
use crate::web::ranges::Range;
use crate::web::state::{Away, WebState};

/// Canaries drawn; those that are wrong come first.
const CANARIES_SHOWN: usize = 100;
/// Wrong canaries whose lists are put side by side.
const LISTS_SHOWN: usize = 12;

#[derive(Debug)]
pub(crate) struct BoardPart {
    /// Right at their last answer, of all that answered.
    pub score: String,
    pub links: Vec<ChoiceLink>,
    /// Wrong answers in a row that are an incident, in words.
    pub after: String,
    /// The range's word, and what of it is missing; empty where nothing is.
    pub range: &'static str,
    pub missing: String,
    pub kinds: Vec<KindRow>,
    pub rows: Vec<CanaryRow>,
    /// Canaries that are not drawn.
    pub more: usize,
    /// None where the file does not declare it any more.
    pub armed: Option<ArmedPart>,
}

/// One kind of canaries.
#[derive(Debug)]
pub(crate) struct KindRow {
    pub kind: &'static str,
    pub glyph: Glyph,
    /// Canaries that are right now, with the bound.
    pub score: String,
    pub note: String,
    /// Answers over the range; none where the database does not say it.
    pub trend: Option<Trend>,
    pub share: String,
    pub trend_note: String,
    pub fall: FallLine,
}

/// Where the detector of slow falls stands.
#[derive(Debug)]
pub(crate) struct FallLine {
    /// Such as `E = 12 of 146 751`.
    pub figure: String,
    pub note: String,
    /// How far along it is, 0 to 240: of answers while it learns, of the limit's logarithm once it is armed.
    pub reach: Option<u32>,
    pub fell: bool,
}

#[derive(Debug)]
pub(crate) struct CanaryRow {
    pub view: CanaryView,
    pub kind: &'static str,
    pub glyph: Glyph,
    pub word: &'static str,
    pub ranks: Option<Ranks>,
    /// Right answers of all over the range.
    pub n: String,
    /// Since when it is as it is; none where that is longer than is known.
    pub since: Option<Timestamp>,
    pub answered: Option<Timestamp>,
    pub elapsed: String,
    /// By whom it was answered last, as far as that can be told.
    pub by: &'static str,
    pub moved: Option<MovedPart>,
}

/// What the database knows of canaries, and the lists of those that are wrong.
#[derive(Debug)]
pub(crate) struct BoardPast {
    past: CanaryPast,
    lists: HashMap<i64, Vec<String>>,
}

/// Reads what the board shows of a monitor's past: as many queries for one canary as for a hundred.
///
/// # Errors
/// Where the database does not answer in time.
pub(crate) async fn read(
    state: &WebState,
    view: &MonitorView,
    monitor: &Monitor,
    range: Option<Range>,
    now: DateTime<Utc>,
) -> Result<BoardPast, Away> {
    let past = canary_past::read(state, &view.id, &monitor.canaries, range, now).await?;
    let numbers: Vec<i64> =
        two_lists(view, monitor, &past).flat_map(|(_, lists)| lists.numbers().collect::<Vec<_>>()).collect();
    let lists = if numbers.is_empty() { HashMap::new() } else { state.ask(state.store.lists(&numbers)).await? };
    Ok(BoardPast { past, lists })
}

/// The two lists of each canary that is wrong now, as far as they are shown, by its id.
fn two_lists<'a>(
    view: &'a MonitorView,
    monitor: &'a Monitor,
    past: &'a CanaryPast,
) -> impl Iterator<Item = (&'a str, TwoLists<'a>)> {
    let wrong = view.canaries.iter().filter(|canary| canary.verdict.as_deref() == Some("wrong"));
    let of = |canary: &'a CanaryView| {
        let declared = monitor.canaries.iter().find(|declared| declared.id == canary.id)?;
        let track = past.tracks.get(&*canary.id)?;
        Some((&*canary.id, TwoLists::of(monitor, declared, track.last_right.as_ref(), track.last_wrong.as_ref()?)?))
    };
    wrong.filter_map(of).take(LISTS_SHOWN)
}

/// The board; `past` is none where the database does not answer.
pub(crate) fn tell(
    view: &MonitorView,
    monitor: Option<&Monitor>,
    provenance: &Provenance,
    past: Option<&BoardPast>,
    choices: Choices,
    now: DateTime<Utc>,
) -> BoardPart {
    let cut = past.map_or_else(|| BoardCut::new(choices.board.unwrap_or(Range::Day), now), |past| past.past.cut);
    let mut moved: HashMap<&str, MovedPart> = HashMap::new();
    if let Some((past, monitor)) = past.zip(monitor) {
        // The first is unfolded: whoever is woken by it looks for no button.
        let lists = two_lists(view, monitor, &past.past).enumerate();
        moved.extend(lists.map(|(nth, (id, lists))| (id, lists.drawn(&past.lists, nth == 0))));
    }
    let past = past.map(|past| &past.past);
    let mut shown: Vec<&CanaryView> = view.canaries.iter().collect();
    shown.sort_by_key(|canary| order(canary));
    let rows = shown.iter().take(CANARIES_SHOWN);
    BoardPart {
        score: format!(
            "{} of {} right, {}",
            view.canary_score.right,
            view.canary_score.asked,
            asked_when(view.canary_score)
        ),
        links: choices.boards(cut.range),
        after: view.canary_watch.after.clone(),
        range: cut.range.slug(),
        missing: past.filter(|past| past.whole_from > cut.from).map_or_else(String::new, |past| {
            format!("What was asked before {} is left out: there is too much of it.", format::absolute(past.whole_from))
        }),
        kinds: view.canary_watch.kinds.iter().map(|kind| kind_row(kind, past)).collect(),
        rows: rows.map(|canary| row(canary, past, moved.remove(&*canary.id), now)).collect(),
        more: view.canaries.len().saturating_sub(CANARIES_SHOWN),
        armed: monitor.map(|monitor| armed::tell(monitor, view.listed(), provenance)),
    }
}

/// What asks for attention comes first.
fn order(canary: &CanaryView) -> u8 {
    match canary.verdict.as_deref() {
        Some("wrong") => 0,
        Some("failed") => 1,
        Some("right") => 3,
        _ => 2,
    }
}

/// What a count of canaries promises, and what it is of: the table beside it also shows answers from before a fault.
pub(crate) fn asked_when(score: CanaryScore) -> String {
    let promised = score.at_least_said();
    let when = match (score.not_asked, score.since) {
        (0, None) => "at their last answer".to_owned(),
        (n, None) => format!("at their last answer, {n} not asked yet"),
        (0, Some(_)) => "since the first wrong answer".to_owned(),
        (n, Some(_)) => format!("since the first wrong answer, {n} not asked since"),
    };
    if promised.is_empty() { when } else { format!("{promised}, {when}") }
}

fn kind_row(watch: &KindWatch, past: Option<&CanaryPast>) -> KindRow {
    let score = watch.score;
    let none = std::collections::BTreeMap::new();
    let shares = past.map(|past| past.kinds.get(&watch.kind).unwrap_or(&none));
    let answers = past.map(|past| past.of_kind(watch.kind)).unwrap_or_default();
    KindRow {
        kind: watch.kind.slug(),
        glyph: match () {
            () if score.asked == 0 => Glyph { name: "unknown" },
            () if score.right < score.asked => Glyph { name: "wrong" },
            () => Glyph { name: "right" },
        },
        score: if score.asked == 0 { "not asked".to_owned() } else { format!("{} of {}", score.right, score.asked) },
        note: match (score.at_least_said(), score.not_asked) {
            (said, 0) => said,
            (said, n) if said.is_empty() => format!("{n} not asked"),
            (said, n) => format!("{said}, {n} not asked"),
        },
        trend: past.zip(shares).map(|(past, shares)| Trend::new(shares, &past.cut)),
        share: answers.share().map_or_else(|| "–".to_owned(), format::share),
        trend_note: match past.zip(shares) {
            None => "kept in the database".to_owned(),
            Some(_) if answers.asked == 0 => "n = 0".to_owned(),
            Some((past, shares)) => {
                let lowest = trend::lowest(shares, &past.cut).map(|said| format!("; lowest {said}"));
                format!("n = {}{}", format::count(answers.asked), lowest.unwrap_or_default())
            }
        },
        fall: fall_line(watch.fall),
    }
}

fn fall_line(fall: FallWatch) -> FallLine {
    let bound = |bound: f64| format!("{:.0} %", bound * 100.0);
    let whole = |value: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a worth or a limit, both from 1")]
        format::count(value.clamp(1.0, 1e15) as u64)
    };
    let part = |share: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 and 240")]
        Some((share.clamp(0.0, 1.0) * 240.0) as u32)
    };
    match fall {
        FallWatch::Learning { asked, of } => FallLine {
            figure: format!("not yet judged: {asked} of {of} answers"),
            note: String::new(),
            reach: None,
            fell: false,
        },
        FallWatch::Hopeless(low) => FallLine {
            figure: "never judged".to_owned(),
            note: format!("at least {} right is too few to fall from", bound(low)),
            reach: None,
            fell: false,
        },
        FallWatch::Armed { bound: at, worth, limit } => FallLine {
            figure: format!("E = {} of {}", whole(worth), whole(limit)),
            note: format!("against at least {} right", bound(at)),
            // Bets multiply, so that their logarithm is how far they are.
            reach: part(worth.max(1.0).ln() / limit.max(std::f64::consts::E).ln()),
            fell: false,
        },
        FallWatch::Fell { bound: at, recent, of } => FallLine {
            figure: format!("fell: {recent} of the last {of} looks right"),
            note: format!("at least {} before", bound(at)),
            reach: part(1.0),
            fell: true,
        },
    }
}

fn row(view: &CanaryView, past: Option<&CanaryPast>, moved: Option<MovedPart>, now: DateTime<Utc>) -> CanaryRow {
    let (name, word) = match view.verdict.as_deref() {
        Some("right") => ("right", "right"),
        Some("wrong") => ("wrong", "wrong"),
        Some("failed") => ("degraded", "no answer"),
        _ => ("unknown", "not asked yet"),
    };
    let never = CanaryTrack::default();
    let track = past.map(|past| (past, past.tracks.get(&*view.id).unwrap_or(&never)));
    let since = view.doubted_since.or_else(|| track.and_then(|(_, track)| track.turned_at));
    CanaryRow {
        kind: view.kind.slug(),
        glyph: Glyph { name },
        word,
        n: track.map_or_else(String::new, |(_, track)| {
            format!("{} of {} right", format::count(track.answers.right), format::count(track.answers.asked))
        }),
        ranks: track.map(|(past, track)| Ranks::new(track, &past.cut)),
        since: since.map(|at| Timestamp::new(at, now)),
        answered: view.answered_at.map(|at| Timestamp::new(at, now)),
        elapsed: view.elapsed_ms.map(format::millis).unwrap_or_default(),
        by: track.and_then(|(_, track)| track.last.as_ref()).map_or("", canary_past::answered_by),
        moved,
        view: view.clone(),
    }
}

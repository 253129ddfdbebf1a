//! What answers add to a monitor's track record, and what follows from it: how many wrong ones in a row are an incident,
//! and whether a kind's hit rate fell.

use crate::domain::answer::Turn;
use crate::domain::classify;
use crate::domain::monitor::{CanaryKind, Monitor};
use crate::domain::monitor_state::cause::Cause;
use crate::domain::monitor_state::hearing::CanaryScore;
use crate::domain::monitor_state::state::{Beat, MonitorState};
use crate::domain::observation::Stage;
use crate::domain::outcome::{AskVerdict, Evidence};
use crate::domain::quality::blips::{AfterInForce, BlipRecord};
use crate::domain::quality::confirmation::{AnsweredBy, CanaryState};
use crate::domain::quality::erosion::{BASELINE_ASKS, Erosion, KindAnswers, KindErosion, RECENT, Watch};
use crate::domain::quality::streak::AskRate;
use crate::domain::quality::track_record::TrackRecord;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::rules::After;
use crate::domain::signal::Phase;

/// Looks at a wrong answer until it counts for a hit rate.
const LOOKS: u32 = 3;

/// By what a monitor's canaries are judged beyond a single answer, in words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CanaryWatch {
    /// Wrong answers of a canary in a row that are an incident just now, and why: `5 (this server blips in 0.9 % of
    /// answers)`.
    pub after: String,
    /// Every kind that is declared, in the order of the kinds.
    pub kinds: Vec<KindWatch>,
}

/// How the canaries of one kind stand.
#[derive(Debug, Clone, PartialEq)]
pub struct KindWatch {
    /// Which part of retrieval they test.
    pub kind: CanaryKind,
    /// How many of them are right.
    pub score: CanaryScore,
    /// How they are watched for a slow fall of their hit rate.
    pub fall: FallWatch,
}

/// Where the detector of slow falls stands for a kind (check 4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FallWatch {
    /// Not judged yet: so many answers of those that a baseline takes.
    Learning {
        /// Answers so far.
        asked: u32,
        /// Answers that it takes.
        of: u32,
    },
    /// Never judged: at least so many are right, 0 to 1, which is too few to fall from.
    Hopeless(f64),
    /// Judged.
    Armed {
        /// At least so many are right, 0 to 1.
        bound: f64,
        /// What the bets against that are worth, from 1.
        worth: f64,
        /// What they are worth when it is told.
        limit: f64,
    },
    /// Told: fewer are right than that.
    Fell {
        /// At least so many were right, 0 to 1.
        bound: f64,
        /// Those of the last looks that were all right.
        recent: u32,
        /// The last looks.
        of: u32,
    },
}

impl FallWatch {
    /// In words, such as `armed: at least 86 % right`.
    pub fn said(&self) -> String {
        let bound = |bound: f64| format!("{:.0} %", bound * 100.0);
        match *self {
            Self::Learning { asked, of } => format!("not armed: {asked} of {of} answers"),
            Self::Hopeless(low) => format!("not armed: at least {} right is too few to fall from", bound(low)),
            Self::Armed { bound: at, .. } => format!("armed: at least {} right", bound(at)),
            Self::Fell { bound: at, recent, of } => {
                format!("fell: {recent} of the last {of} looks right, at least {} before", bound(at))
            }
        }
    }
}

/// What a beat decided of each kind it asked.
pub(super) type Decided = Vec<(CanaryKind, KindAnswers)>;

impl MonitorState {
    /// How many wrong answers of a canary in a row are an incident just now.
    pub(crate) fn after(&self, monitor: &Monitor) -> AfterInForce {
        match monitor.rules.quality.after {
            After::Answers(answers) => AfterInForce { answers, may_page: true },
            After::Auto => self.track.blips.after(AskRate::of(monitor)),
        }
    }

    /// How many wrong answers in a row are an incident of this monitor now.
    pub fn answers_in_a_row(&self, monitor: &Monitor) -> u32 {
        self.after(monitor).answers
    }

    /// The same in words, with the reason, such as `5 (this server blips in 0.9 % of answers)`.
    pub(crate) fn after_said(&self, monitor: &Monitor) -> String {
        let AfterInForce { answers, may_page } = self.after(monitor);
        let loud = if may_page { "" } else { ", as a ticket" };
        let why = match monitor.rules.quality.after {
            After::Answers(_) => "as the file has it".to_owned(),
            After::Auto => self.track.blips.said(),
        };
        format!("{answers}{loud} ({why})")
    }

    /// By what its canaries are judged beyond a single answer.
    pub fn canary_watch(&self, monitor: &Monitor) -> CanaryWatch {
        let scores = self.kind_scores(&monitor.canaries).into_iter();
        let harvested = monitor.search.harvest.then(|| (CanaryKind::Harvested, self.harvested_score()));
        let watch = |(kind, score)| KindWatch { kind, score, fall: self.fall_watch(kind, monitor) };
        CanaryWatch { after: self.after_said(monitor), kinds: scores.chain(harvested).map(watch).collect() }
    }

    /// How many sentences that were asked back brought their source, of those that the baseline is of.
    fn harvested_score(&self) -> CanaryScore {
        let known = self.track.erosion.kinds().iter().find(|known| known.kind == CanaryKind::Harvested);
        let (right, asked) = known.map_or((0, 0), |known| (known.right as usize, known.asked as usize));
        CanaryScore { right, asked, not_asked: 0, since: None }
    }

    fn fall_watch(&self, kind: CanaryKind, monitor: &Monitor) -> FallWatch {
        let known = self.track.erosion.kinds().iter().find(|known| known.kind == kind);
        match known.map_or(Watch::Learning(0), KindErosion::watch) {
            Watch::Learning(asked) => FallWatch::Learning { asked, of: BASELINE_ASKS },
            Watch::Hopeless(bound) => FallWatch::Hopeless(bound),
            Watch::Armed(bound) => {
                FallWatch::Armed { bound, worth: known.map_or(1.0, KindErosion::worth), limit: erosion_limit(monitor) }
            }
            Watch::Eroded { bound, recent } => FallWatch::Fell { bound, recent, of: RECENT },
        }
    }

    /// What is remembered beyond last answers, as it is kept.
    pub fn track_record(&self) -> &TrackRecord {
        &self.track
    }

    /// Puts a remembered track record back in force, as far as it is about the canaries that are declared now.
    pub fn restore_track_record(&mut self, record: TrackRecord, monitor: &Monitor) {
        self.track = record;
        self.track.erosion.keep_of(&monitor.canaries, monitor.search.harvest);
    }

    /// Enters what the beat decided.
    pub(super) fn observe(&mut self, decided: Decided, beat: Beat<'_>) {
        let canaries = &beat.monitor.canaries;
        let learns = !self.canaries.values().any(CanaryState::is_confirmed);
        let limit = erosion_limit(beat.monitor);
        for (kind, answers) in decided {
            self.track.erosion.observe(canaries, kind, answers, learns, limit);
        }
    }

    /// Takes in what came of a sentence that was asked back; what a cache gave rightly says nothing.
    pub(super) fn hear_harvested(&mut self, decided: &mut Decided, beat: Beat<'_>) {
        let Some((harvested, verdict)) = beat.seen.harvested.as_deref().zip(classify::harvested(beat.seen)) else {
            return;
        };
        let is_of_index = beat.seen.reached_index(&harvested.ask);
        let is_right = match verdict {
            AskVerdict::Right { .. } if is_of_index => true,
            AskVerdict::Wrong { .. } => false,
            _ => return,
        };
        add(decided, CanaryKind::Harvested, KindAnswers { right: u32::from(is_right), asked: 1 });
        self.index_sight.see(is_of_index, beat.now);
    }

    /// With what cause a hit rate that fell would open.
    pub(super) fn eroded(&self, beat: Beat<'_>) -> Option<Cause> {
        let rule = &beat.monitor.rules.quality;
        let fell: Vec<&KindErosion> = self.track.erosion.eroded().collect();
        let worst = fell.iter().min_by_key(|kind| kind.recent.count_ones())?;
        let share = |right: f64| format!("{:.0} %", right * 100.0);
        let rate = |kind: &KindErosion| format!("{} of the last {RECENT} looks right", kind.recent.count_ones());
        let before = |kind: &KindErosion| {
            let all = f64::from(kind.right) / f64::from(kind.asked.max(1));
            format!("{} of {} before", share(all), kind.asked)
        };
        let said = |kind: &&KindErosion| {
            Evidence::new(&format!("hit_rate.{}", kind.kind.slug()), format!("{}, {}", rate(kind), before(kind)))
        };
        Some(Cause {
            reason: FailureReason::RetrievalRegression,
            severity: rule.severity.min(Severity::Ticket),
            stage: Stage::Search,
            line: rule.line,
            summary: format!("{}: {}, {}", fell_said(worst.kind), rate(worst), before(worst)),
            evidence: fell.iter().map(said).collect(),
            health: Vec::new(),
            counted: None,
        })
    }
}

fn fell_said(kind: CanaryKind) -> String {
    match kind {
        CanaryKind::Harvested => "sentences out of its own answers bring their sources back less often".to_owned(),
        _ => format!("{} canaries are answered rightly less often", kind.slug()),
    }
}

/// What bets against a hit rate are worth when its fall is told.
fn erosion_limit(monitor: &Monitor) -> f64 {
    let is_declared = |kind: &&CanaryKind| monitor.canaries.iter().any(|canary| canary.kind == **kind);
    Erosion::limit(AskRate::of(monitor), CanaryKind::ALL.iter().filter(is_declared).count(), monitor.search.harvest)
}

/// Takes one answer into the count of blips. `was`: where the canary stood before it, and after how many wrong answers.
pub(super) fn count_blip(blips: &mut BlipRecord, was: (Phase, u32), state: &CanaryState, turn: Turn) {
    match was {
        (Phase::Quiet, _) if turn == Turn::Scheduled && !state.is_wrong() => blips.right(1),
        (Phase::Pending, run) if state.state.phase == Phase::Quiet => blips.ended(run),
        _ => {}
    }
}

/// What one answer decides for its kind: itself, where it came in turn, and the one before that waited for the third look.
pub(super) fn decide(state: &mut CanaryState, by: AnsweredBy, turn: Turn) -> KindAnswers {
    if state.is_confirmed() {
        // Harm that is told already is no slow fall, and must not be one when it is over.
        state.look_due = false;
        return KindAnswers::default();
    }
    let is_wrong = state.is_wrong();
    // A right answer of a cache says nothing of the index.
    let in_turn = turn == Turn::Scheduled && (by.index || is_wrong);
    if is_wrong && state.wrong_in_a_row < LOOKS {
        state.look_due |= in_turn;
        return KindAnswers::default();
    }
    let asked = u32::from(in_turn) + u32::from(std::mem::take(&mut state.look_due));
    KindAnswers { right: if is_wrong { 0 } else { asked }, asked }
}

/// Adds a canary's answers to those of its kind.
pub(super) fn add(decided: &mut Decided, kind: CanaryKind, answers: KindAnswers) {
    if answers.asked == 0 {
        return;
    }
    match decided.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, sum)) => {
            sum.right += answers.right;
            sum.asked += answers.asked;
        }
        None => decided.push((kind, answers)),
    }
}

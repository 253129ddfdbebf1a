//! What a beat, and a round of canaries, says of changes without harm.
//!
//! A round is the time in which each pinned canary was answered once; while something is in doubt no round is judged,
//! since lists of a fault are no change.

use chrono::{DateTime, Utc};

use crate::domain::answer::Answer;
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::monitor_state::cause::Cause;
use crate::domain::monitor_state::changes::{ASKED_BOTH_WAYS, Found, RELATION, is_about_change};
use crate::domain::monitor_state::intake::fingerprint;
use crate::domain::monitor_state::state::{Beat, MonitorState};
use crate::domain::observation::Stage;
use crate::domain::outcome::Evidence;
use crate::domain::pinned::{Pinned, Relation};
use crate::domain::quality::changes::{
    ChangeCheck, Compared, Judged, ROUND_MIN, chunks_recut, chunks_resized, lists_moved, scores_moved, self_reported,
};
use crate::domain::quality::pinning::{held, named};
use crate::domain::quality::ranking::Ranking;
use crate::domain::signal::Signal;
use crate::domain::wording::counted;

/// How many times as long as it has to take a round may last: calls fail, and caches answer some.
const ROUND_PATIENCE: usize = 3;

impl MonitorState {
    /// Takes in what this beat says of changes.
    pub(super) fn hear_changes(&mut self, beat: Beat<'_>) {
        self.changes.follow(beat.monitor);
        let checks = &beat.monitor.rules.quality.checks;
        let answered = || beat.seen.asks.iter().filter_map(|ask| Some((ask, ask.result.as_ref()?.as_ref().ok()?)));
        let words = self_reported(answered().map(|(_, answer)| answer));
        let judged = match () {
            () if !words.is_empty() => Judged::Other(admitted(&words)),
            // What a cache says is of another day.
            () if answered().any(|(ask, _)| beat.seen.reached_index(ask)) => Judged::Same,
            () => Judged::Unknown,
        };
        self.changes.hear(ChangeCheck::SelfReported, judged, checks, beat.now);
        let judged = self.judge_replica(beat);
        self.changes.hear(ChangeCheck::Replicas, judged, checks, beat.now);
        let judged = self.judge_near_misses(beat);
        self.changes.hear(ChangeCheck::Pairs, judged, checks, beat.now);
        let Some(pinned) = beat.monitor.pinned.as_deref() else { return };
        let judged = judge_relations(beat, self.changes.broken_relation());
        self.changes.hear(ChangeCheck::Relations, judged, checks, beat.now);
        if self.is_any_doubted() {
            self.changes.round = None;
            return;
        }
        let judged = self.judge_caches(beat);
        self.changes.hear(ChangeCheck::Caches, judged, checks, beat.now);
        let judged = self.judge_chunks(pinned, beat);
        self.changes.hear(ChangeCheck::Chunks, judged, checks, beat.now);
        let (lists, scores) = self.judge_round(pinned, beat);
        self.changes.hear(ChangeCheck::Lists, lists, checks, beat.now);
        self.changes.hear(ChangeCheck::Scores, scores, checks, beat.now);
    }

    /// Canaries that the index answered since then, beside what is pinned of them.
    fn compared<'a>(&'a self, pinned: &'a Pinned, monitor: &'a Monitor, since: DateTime<Utc>) -> Vec<Compared<'a>> {
        let of = |canary: &'a Canary| {
            let look = self.canaries.get(&canary.id)?.look.as_deref().filter(|look| look.at >= since)?;
            Some(Compared { look, pinned: canary.pinned(pinned)? })
        };
        monitor.canaries.iter().filter_map(of).collect()
    }

    /// Check 9: whether a cache gives out the list that the index gives.
    ///
    /// A cached list that differs from the index's last one is a suspicion only, since the index may have moved between the
    /// two: that canary is then asked both ways in each beat, a moment apart, until both bring one list.
    fn judge_caches(&mut self, beat: Beat<'_>) -> Judged<Found> {
        let (monitor, checks) = (beat.monitor, &beat.monitor.rules.quality.checks);
        let is_doubtful = self.changes.broken_relation() == Some(Relation::SameTwice);
        if checks.caches.severity.is_none() || !monitor.brings_one_list() || is_doubtful {
            return Judged::Unknown;
        }
        if beat.seen.tools.as_ref().is_some_and(|tools| tools.fresh.is_none()) {
            self.changes.forget_caches();
            return Judged::Unknown;
        }
        let differ = |one: &Ranking, other: &Ranking| one.rbo(other) < checks.lists.similar;
        let Some(id) = self.changes.both_ways.clone() else {
            let suspect = beat.seen.from_caches().find(|(ask, answer)| {
                let look = self.canaries.get(&ask.canary).and_then(|canary| canary.look.as_deref());
                look.is_some_and(|look| differ(&Ranking::of(answer.sources()), &look.ranking))
            });
            self.changes.both_ways = suspect.map(|(ask, _)| ask.canary.as_str().into());
            return Judged::Unknown;
        };
        let Some((cached, index)) = beat.seen.asked_both_ways(&id) else { return Judged::Unknown };
        let what = if cached.kept.is_some() { "text" } else { "list" };
        if differ(&Ranking::of(cached.sources()), &Ranking::of(index.sources())) {
            return Judged::Other(Found {
                said: format!("a cache answers with another {what} than the index, no right answer is lost"),
                evidence: vec![
                    Evidence::new(ASKED_BOTH_WAYS, id.into_string()),
                    listed("plainly", cached),
                    listed("past_caches", index),
                ],
                is_rescaled: false,
                is_regraded: false,
            });
        }
        if !self.changes.is_elevated(ChangeCheck::Caches) {
            self.changes.both_ways = None;
        }
        Judged::Same
    }

    fn judge_chunks(&self, pinned: &Pinned, beat: Beat<'_>) -> Judged<Found> {
        let chunks = &beat.monitor.rules.quality.checks.chunks;
        let answers = self.compared(pinned, beat.monitor, beat.now);
        let found = |said: String, evidence: Evidence| {
            let said = format!("{said}, no right answer is lost");
            Judged::Other(Found { said, evidence: vec![evidence], is_rescaled: false, is_regraded: false })
        };
        match (chunks_resized(&answers, chunks), chunks_recut(&answers)) {
            (Judged::Other(ratio), _) => {
                let ratio = format!("{ratio:.2}");
                found(format!("chunks are {ratio} times as long as pinned"), Evidence::new("chunk_length_ratio", ratio))
            }
            (_, Judged::Other(of)) => found(
                "chunks are cut in another way than pinned".to_owned(),
                Evidence::new("first_chunks_of_another_length", format!("{of} of {of}")),
            ),
            // One is as pinned, and of the other nobody knows: that ends neither.
            (Judged::Unknown, _) | (_, Judged::Unknown) => Judged::Unknown,
            (Judged::Same, Judged::Same) => Judged::Same,
        }
    }

    /// Lists and first scores of the round that ends with this beat, where one does.
    fn judge_round(&mut self, pinned: &Pinned, beat: Beat<'_>) -> (Judged<Found>, Judged<Found>) {
        let monitor = beat.monitor;
        let (since, beats) = self.changes.round.unwrap_or((beat.now, 0));
        let compared = self.compared(pinned, monitor, since);
        let all = monitor.canaries.iter().filter(|canary| canary.pinned(pinned).is_some()).count();
        let length = monitor.canaries.len().div_ceil(monitor.per_beat().max(1) as usize);
        let is_over = compared.len() == all || beats + 1 >= length * ROUND_PATIENCE;
        if all < ROUND_MIN || !is_over {
            self.changes.round = Some((since, beats + 1));
            return (Judged::Unknown, Judged::Unknown);
        }
        let lists = match lists_moved(&compared, &monitor.rules.quality.checks.lists) {
            Judged::Unknown => Judged::Unknown,
            Judged::Same => Judged::Same,
            Judged::Other(moved) => Judged::Other(Found {
                said: moved.said(),
                evidence: moved.evidence(),
                is_rescaled: false,
                is_regraded: false,
            }),
        };
        let scores = match scores_moved(&compared, pinned.scale) {
            Judged::Unknown => Judged::Unknown,
            Judged::Same => Judged::Same,
            Judged::Other(moved) => Judged::Other(Found {
                said: moved.said(),
                evidence: moved.evidence(),
                is_rescaled: moved.is_rescaled(),
                is_regraded: moved.shared.is_some(),
            }),
        };
        self.changes.round = None;
        (lists, scores)
    }

    /// The change that *quality* tells, where one stands and nothing worse is told or just over.
    pub(super) fn change(&self, beat: Beat<'_>) -> Option<Cause> {
        let rule = &beat.monitor.rules.quality;
        if !self.incident(Signal::Quality).is_none_or(is_about_change) {
            return None;
        }
        let (reason, severity, summary) = self.changes.told(&rule.checks)?;
        let mut evidence: Vec<Evidence> = Vec::new();
        for found in ChangeCheck::ALL.into_iter().filter_map(|check| self.changes.found(check)) {
            let is_new = |one: &&Evidence| !evidence.iter().any(|known| known.key == one.key);
            evidence.extend(found.evidence.iter().filter(is_new).cloned().collect::<Vec<_>>());
        }
        Some(Cause {
            reason,
            severity,
            stage: Stage::Search,
            line: rule.line,
            summary,
            evidence,
            health: Vec::new(),
            counted: None,
        })
    }

    /// Whether an open incident tells of a change that the file still wants told.
    pub(super) fn is_change_wanted(&mut self, monitor: &Monitor) -> bool {
        self.changes.follow(monitor);
        self.incident(Signal::Quality).is_some_and(is_about_change)
            && self.changes.told(&monitor.rules.quality.checks).is_some()
    }
}

/// Check 10: whether what holds between two answers held, one relation a beat. Looked at in doubt too, since a wrong answer
/// may be one of many. `broken`: the one that was seen broken; that another one holds says nothing of it.
fn judge_relations(beat: Beat<'_>, broken: Option<Relation>) -> Judged<Found> {
    if !beat.monitor.asks_twice() {
        return Judged::Unknown;
    }
    let mut twice = beat.seen.asked_twice().peekable();
    let held_twice = twice.peek().map(|_| Relation::SameTwice);
    if let Some((first, again)) = twice.find(|(first, again)| fingerprint(first) != fingerprint(again)) {
        let brings = if first.kept.is_some() && again.kept.is_some() { "two texts" } else { "two lists" };
        let said = format!("one question asked twice brings {brings}");
        return broke(Relation::SameTwice, said, Vec::new(), (first, again));
    }
    let otherwise = beat.seen.asked_otherwise().zip(held(beat.seen));
    if let Some(((relation, first, again), false)) = otherwise {
        let (said, how) = match relation {
            Relation::Prefix => {
                let asked = format!("{} were wanted", counted(again.sources().count(), "result", "results"));
                ("fewer results asked for are not the first of more", asked)
            }
            _ => ("capitals and blanks change what a question brings", "in other capitals and blanks".to_owned()),
        };
        let canary = beat.seen.altered.as_ref().map(|ask| ask.canary.clone()).unwrap_or_default();
        let example = vec![Evidence::new("asked", format!("{canary}, and again: {how}"))];
        return broke(relation, said.to_owned(), example, (first, again));
    }
    let kept = [held_twice, otherwise.map(|((relation, ..), _)| relation)].into_iter().flatten();
    let mut telling = kept.filter(|kept| broken.is_none_or(|broken| broken == *kept));
    telling.next().map_or(Judged::Unknown, |_| Judged::Same)
}

fn broke(
    relation: Relation,
    said: String,
    example: Vec<Evidence>,
    (first, again): (&Answer, &Answer),
) -> Judged<Found> {
    let lists = [listed("first", first), listed("again", again)];
    let evidence = std::iter::once(Evidence::new(RELATION, relation.slug())).chain(example).chain(lists).collect();
    Judged::Other(Found { said, evidence, is_rescaled: false, is_regraded: false })
}

pub(super) fn listed(key: &str, answer: &Answer) -> Evidence {
    if let Some(text) = &answer.kept {
        let begins = answer.begins.as_deref().unwrap_or_default();
        return Evidence::new(key, format!("a text of {} characters, which begins “{begins}”", text.chars));
    }
    let sources: Vec<String> = answer.sources().map(str::to_owned).collect();
    Evidence::new(key, named(&sources))
}

fn admitted(words: &[String]) -> Found {
    Found {
        said: format!("answers say of themselves: {}", words.join(", ")),
        evidence: vec![Evidence::new("self_reported", words.join(", "))],
        is_rescaled: false,
        is_regraded: false,
    }
}

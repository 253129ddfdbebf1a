//! Many canaries: what is broken, as far as it can be told without a pinned baseline (RETRIEVAL.md §3).

use std::collections::BTreeMap;

use crate::domain::classify::EVIDENCE_CANARIES_MAX;
use crate::domain::fleet::{Canary, CanaryKind};
use crate::domain::outcome::{AskVerdict, Evidence};
use crate::domain::quality::confirmation::CanaryStanding;
use crate::domain::reason::FailureReason;

/// Unrelated questions that have to get one and the same list before it is called constant.
const CONSTANT_LISTS_MIN: usize = 3;

/// What the confirmed canaries say together.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// The cause.
    pub reason: FailureReason,
    /// One line, without the monitor's name.
    pub summary: String,
    /// Each kind's count and each failing canary's own line.
    pub evidence: Vec<Evidence>,
}

/// Diagnoses; none where no canary is confirmed wrong.
pub fn diagnose(canaries: &[Canary], standing: &BTreeMap<String, Box<CanaryStanding>>) -> Option<Diagnosis> {
    let confirmed: Vec<(&Canary, &CanaryStanding)> = canaries
        .iter()
        .filter_map(|canary| Some((canary, &**standing.get(&canary.id)?)))
        .filter(|(_, state)| state.is_confirmed())
        .collect();
    if confirmed.is_empty() {
        return None;
    }
    let reason = reason(&confirmed);
    let kinds = kinds(canaries, &confirmed);
    let summary = format!("{} ({kinds})", sentence(reason, confirmed.len(), canaries.len()));
    let mut evidence = vec![Evidence::new("canaries", kinds)];
    evidence.extend(confirmed.iter().take(EVIDENCE_CANARIES_MAX).filter_map(|(canary, state)| match &state.last {
        Some(AskVerdict::Wrong { reason, seen, .. }) => {
            Some(Evidence::new(&format!("canary.{}", canary.id), format!("{}: {seen}", reason.slug())))
        }
        _ => None,
    }));
    Some(Diagnosis { reason, summary, evidence })
}

fn reason(confirmed: &[(&Canary, &CanaryStanding)]) -> FailureReason {
    let lists = confirmed.iter().filter(|(_, state)| state.wrong_reason() == Some(FailureReason::WrongResults));
    let mut lists: Vec<u64> = lists.map(|(_, state)| state.list).collect();
    lists.sort_unstable();
    let count = lists.len();
    lists.dedup();
    if count >= CONSTANT_LISTS_MIN && lists.len() == 1 {
        return FailureReason::ConstantResponse;
    }
    let mut counts: BTreeMap<FailureReason, usize> = BTreeMap::new();
    for reason in confirmed.iter().filter_map(|(_, state)| state.wrong_reason()) {
        *counts.entry(reason).or_default() += 1;
    }
    // The most frequent cause; among equals the one that stands first in the closed list.
    let most = counts.values().copied().max().unwrap_or(0);
    counts.into_iter().find(|(_, count)| *count == most).map_or(FailureReason::WrongResults, |(reason, _)| reason)
}

fn sentence(reason: FailureReason, wrong: usize, all: usize) -> String {
    let canaries = format!("{wrong} of {all} canaries");
    match reason {
        FailureReason::EmptyResults => format!("{canaries} come back empty, without an error"),
        FailureReason::ThresholdBroken => format!("{canaries} get results for what is not there"),
        FailureReason::ConstantResponse => format!("{canaries} all get one and the same list"),
        FailureReason::ResultMalformed => format!("{canaries} get an answer without readable results"),
        FailureReason::ChunkSizeAnomaly => format!("{canaries} get a chunk that is far too long"),
        _ => format!("{canaries} lost their source"),
    }
}

/// Such as `3 of 4 meaning, 0 of 2 keyword`.
fn kinds(canaries: &[Canary], confirmed: &[(&Canary, &CanaryStanding)]) -> String {
    let count = |kind: CanaryKind| {
        let all = canaries.iter().filter(|canary| canary.kind == kind).count();
        let wrong = confirmed.iter().filter(|(canary, _)| canary.kind == kind).count();
        (all > 0).then(|| format!("{wrong} of {all} {}", kind.slug()))
    };
    CanaryKind::ALL.into_iter().filter_map(count).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[test]
    fn many_canaries_have_one_cause() {
        use FailureReason as R;
        // Each canary: its kind, why it is wrong (none: right), and the list it got.
        let (mixed, meaning) = (CanaryKind::Mixed, CanaryKind::Meaning);
        let rows = [
            (vec![(mixed, None, 1)], None, "all right"),
            (vec![(mixed, Some(R::EmptyResults), 0), (mixed, None, 1)], Some(R::EmptyResults), "one is enough"),
            (
                vec![
                    (mixed, Some(R::WrongResults), 1),
                    (mixed, Some(R::EmptyResults), 0),
                    (mixed, Some(R::WrongResults), 2),
                ],
                Some(R::WrongResults),
                "the most frequent cause",
            ),
            (
                vec![(mixed, Some(R::WrongResults), 7), (meaning, Some(R::WrongResults), 7)],
                Some(R::WrongResults),
                "one list twice may be chance",
            ),
            (
                vec![
                    (mixed, Some(R::WrongResults), 7),
                    (meaning, Some(R::WrongResults), 7),
                    (mixed, Some(R::WrongResults), 7),
                ],
                Some(R::ConstantResponse),
                "one list for three questions is none",
            ),
            (
                vec![
                    (mixed, Some(R::EmptyResults), 0),
                    (mixed, Some(R::EmptyResults), 0),
                    (mixed, Some(R::EmptyResults), 0),
                ],
                Some(R::EmptyResults),
                "nothing three times is no constant list",
            ),
        ];
        for (canaries, reason, sentence) in rows {
            let (declared, standing) = board(&canaries);
            let found = diagnose(&declared, &standing);
            assert_eq!(found.as_ref().map(|one| one.reason), reason, "{sentence}");
        }
        let (declared, standing) = board(&[(meaning, Some(R::WrongResults), 1), (meaning, None, 2), (mixed, None, 3)]);
        let said = diagnose(&declared, &standing).unwrap();
        assert_eq!(said.evidence[0].value, "1 of 2 meaning, 0 of 1 mixed", "each kind is counted");
    }

    fn board(
        canaries: &[(CanaryKind, Option<FailureReason>, u64)],
    ) -> (Vec<Canary>, BTreeMap<String, Box<CanaryStanding>>) {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let (mut declared, mut standing) = (Vec::new(), BTreeMap::new());
        for (number, (kind, wrong, list)) in canaries.iter().enumerate() {
            let id = format!("c{number}");
            let mut heard = CanaryStanding::new(String::new(), now);
            let verdict = wrong.map_or(AskVerdict::Right { rank: Some(1) }, |reason| AskVerdict::Wrong {
                reason,
                rank: None,
                seen: "z.md".to_owned(),
            });
            heard.hear(&verdict, 1, now);
            heard.list = *list;
            standing.insert(id.clone(), heard);
            declared.push(Canary {
                id,
                query: String::new(),
                kind: *kind,
                expect: Vec::new(),
                within: 3,
                max_score: None,
                line: 1,
                definition_hash: String::new(),
            });
        }
        (declared, standing.into_iter().map(|(id, heard)| (id, Box::new(heard))).collect())
    }
}

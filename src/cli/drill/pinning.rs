//! What the lock would hold of a shape's healthy server: how it answered every canary, run after run.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::answer::{Answer, Hit};
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::observation::Observation;
use crate::domain::pinned::{Pinned, PinnedCanary, PinnedScore, Relation};
use crate::domain::quality::score_code::rounded;

/// What is pinned of a monitor that was asked every canary so many times, in its order.
pub(super) fn pinned(monitor: &Monitor, runs: &[Observation]) -> Pinned {
    let answers = |nth: usize| -> Vec<&Answer> {
        runs.iter().filter_map(|seen| seen.asks.get(nth)?.result.as_ref()?.as_ref().ok()).collect()
    };
    let canaries = monitor.canaries.iter().enumerate();
    let canaries: BTreeMap<String, PinnedCanary> =
        canaries.filter_map(|(nth, canary)| Some((canary.id.clone(), of_canary(canary, &answers(nth))?))).collect();
    let scores = (0..monitor.canaries.len()).flat_map(answers).flat_map(|answer| &answer.hits);
    let scores: Vec<f64> = scores.filter_map(|hit| hit.score).map(rounded).collect();
    let scale = scores.iter().copied().reduce(f64::min).zip(scores.iter().copied().reduce(f64::max));
    let last = runs.last();
    let is_steady = canaries.values().all(|canary| canary.lists.len() == 1);
    Pinned {
        hash: String::new(),
        place: (String::new(), 0),
        runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
        // Every run went past the caches.
        reached_index: true,
        server: last.and_then(|seen| seen.server.as_ref()).map(|server| (server.name.clone(), server.version.clone())),
        scale,
        relations: is_steady.then_some(Relation::SameTwice).into_iter().collect(),
        canaries,
        tools: last.and_then(|seen| seen.tools.as_ref()).map(|tools| Arc::clone(&tools.listing)),
    }
}

fn of_canary(canary: &Canary, answers: &[&Answer]) -> Option<PinnedCanary> {
    let mut lists: Vec<(Vec<String>, usize)> = Vec::new();
    for answer in answers {
        let mut list: Vec<String> = Vec::new();
        for source in answer.sources() {
            if !list.iter().any(|known| known == source) {
                list.push(source.to_owned());
            }
        }
        match lists.iter_mut().find(|(known, _)| *known == list) {
            Some((_, many)) => *many += 1,
            None => lists.push((list, 1)),
        }
    }
    // The sort is stable: of two as frequent, the one seen first.
    lists.sort_by_key(|(_, many)| std::cmp::Reverse(*many));
    let tops = answers.iter().filter_map(|answer| answer.hits.first()?.score).map(rounded).collect::<Vec<_>>();
    let top_score = median(tops.clone()).map(|middle| {
        let apart = tops.iter().map(|score| (score - middle).abs()).collect();
        PinnedScore { median: middle, mad: median(apart).unwrap_or(0.0) }
    });
    let results = answers.iter().map(|answer| u32::try_from(answer.hits.len()).unwrap_or(u32::MAX));
    let lengths = answers.iter().flat_map(|answer| answer.hits.iter().map(|hit| f64::from(hit.chars)));
    let pairs = || answers.iter().flat_map(|answer| answer.hits.windows(2));
    let falls = |pair: &[Hit]| pair[0].score.zip(pair[1].score).is_some_and(|(a, b)| a >= b);
    Some(PinnedCanary {
        definition_hash: canary.definition_hash.clone(),
        lists: lists.into_iter().map(|(list, _)| list).collect(),
        top_score,
        results: (results.clone().min()?, results.max()?),
        chars: median(lengths.filter(|chars| *chars > 0.0).collect()).map(|chars| chars as u32),
        sorted: pairs().next().is_some() && pairs().all(falls),
    })
}

/// The middle one; the lower of two in the middle.
fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len().saturating_sub(1) / 2).copied()
}

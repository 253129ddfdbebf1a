//! What a run of questions amounts to, by kind, and beside a healthy run.
//!
//! A question without an answer (a transport or tool error) is unknown and never wrong: it is counted
//! apart and enters no figure.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::data::figures::{self, RBO_P, SourceHit};
use crate::data::question::{JudgedQuestion, QuestionKind};

/// First hits in which an answer counts as found.
pub const HIT_K: usize = 5;
/// Depth of nDCG and of the lists that RBO compares.
pub const LIST_K: usize = 10;
/// The highest `score` a negative question may bring. The built-in embedder gives unrelated texts
/// about 0 ± .05 and right answers .35 and more.
pub const NEGATIVE_SCORE_MAX: f64 = 0.3;

/// A hit as a server gave it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// Its source.
    pub source: String,
    /// What the list is ordered by.
    pub final_score: f64,
    /// Nearness in meaning, 0 to 1.
    pub score: f64,
}

/// What a question brought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GivenAnswer {
    /// The question's id.
    pub id: String,
    /// The hits, the best first.
    pub hits: Option<Vec<Given>>,
    /// Why there are none, where the call failed.
    pub failure: Option<String>,
}

/// Figures of some questions. Means are over the answered ones and `None` where there are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FiguresRow {
    /// A kind's name, or `all` for keyword, meaning and mixed together.
    pub kind: &'static str,
    /// Questions asked.
    pub asked: usize,
    /// Calls that brought no answer.
    pub failed: usize,
    /// Share with a full answer among the first five; of negative ones, the share that was kept quiet.
    pub hit_at_5: Option<f64>,
    /// Mean share of the declared sources among the first five.
    pub recall_at_5: Option<f64>,
    /// Mean reciprocal rank.
    pub mrr: Option<f64>,
    /// Mean nDCG of the first ten.
    pub ndcg_at_10: Option<f64>,
    /// Median overlap with the healthy run's lists.
    pub median_rbo: Option<f64>,
    /// Median of the top hit's `final_score` over the healthy run's.
    pub top1_ratio: Option<f64>,
}

/// Figures by kind, and of the three ordinary kinds together; kinds that were not asked are left out.
pub fn judge(
    questions: &[JudgedQuestion],
    answers: &[GivenAnswer],
    healthy: Option<&[GivenAnswer]>,
) -> Vec<FiguresRow> {
    let by_id = |answers: &[GivenAnswer]| -> HashMap<String, GivenAnswer> {
        answers.iter().map(|answer| (answer.id.clone(), answer.clone())).collect()
    };
    let (answers, healthy) = (by_id(answers), healthy.map(by_id));
    let rows = QuestionKind::ALL.iter().map(|kind| (kind.name(), vec![*kind]));
    rows.chain([("all", vec![QuestionKind::Keyword, QuestionKind::Meaning, QuestionKind::Mixed])])
        .filter_map(|(name, kinds)| {
            let asked: Vec<&JudgedQuestion> =
                questions.iter().filter(|question| kinds.contains(&question.kind)).collect();
            (!asked.is_empty()).then(|| row(name, &asked, &answers, healthy.as_ref()))
        })
        .collect()
}

/// The row of a kind; `None` where it was not asked.
pub fn of<'r>(rows: &'r [FiguresRow], kind: &str) -> Option<&'r FiguresRow> {
    rows.iter().find(|row| row.kind == kind)
}

fn row(
    kind: &'static str,
    asked: &[&JudgedQuestion],
    answers: &HashMap<String, GivenAnswer>,
    healthy: Option<&HashMap<String, GivenAnswer>>,
) -> FiguresRow {
    let (mut hit, mut recall, mut ranks, mut ndcg) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut overlaps, mut ratios) = (Vec::new(), Vec::new());
    for question in asked {
        let Some(hits) = answers.get(&question.id).and_then(|answer| answer.hits.as_ref()) else { continue };
        let list = list(hits);
        if question.kind == QuestionKind::Negative {
            hit.push(share(hits.iter().all(|given| given.score <= NEGATIVE_SCORE_MAX)));
        } else {
            hit.push(share(figures::hit_at(&list, &question.expected, HIT_K)));
            recall.push(figures::recall_at(&list, &question.expected, HIT_K));
            ranks.push(figures::reciprocal_rank(&list, &question.expected));
            ndcg.push(figures::ndcg_at(&list, &question.expected, LIST_K));
        }
        let Some(before) = healthy.and_then(|all| all.get(&question.id)).and_then(|answer| answer.hits.as_ref()) else {
            continue;
        };
        overlaps.push(figures::rbo(&first(&list), &first(&self::list(before)), RBO_P));
        if let (Some(now), Some(then)) = (hits.first(), before.first())
            && then.final_score != 0.0
        {
            ratios.push(now.final_score / then.final_score);
        }
    }
    FiguresRow {
        kind,
        asked: asked.len(),
        failed: asked.len() - hit.len(),
        hit_at_5: mean(&hit),
        recall_at_5: mean(&recall),
        mrr: mean(&ranks),
        ndcg_at_10: mean(&ndcg),
        median_rbo: figures::median(overlaps),
        top1_ratio: figures::median(ratios),
    }
}

fn list(hits: &[Given]) -> Vec<SourceHit<'_>> {
    figures::distinct(&hits.iter().map(|hit| (hit.source.as_str(), hit.final_score)).collect::<Vec<_>>())
}

fn first<'a>(list: &[SourceHit<'a>]) -> Vec<&'a str> {
    list.iter().take(LIST_K).map(|(source, _)| *source).collect()
}

fn share(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::question::{Expected, FULL};

    fn question(id: &str, kind: QuestionKind, source: &str) -> JudgedQuestion {
        let expected = match kind {
            QuestionKind::Negative => Vec::new(),
            _ => vec![Expected { source: source.to_owned(), grade: FULL }],
        };
        JudgedQuestion { id: id.to_owned(), kind, query: "?".to_owned(), expected }
    }

    fn answer(id: &str, hits: &[(&str, f64, f64)]) -> GivenAnswer {
        let given = |hit: &(&str, f64, f64)| Given { source: hit.0.to_owned(), final_score: hit.1, score: hit.2 };
        GivenAnswer { id: id.to_owned(), hits: Some(hits.iter().map(given).collect()), failure: None }
    }

    #[test]
    fn a_failed_call_is_unknown_and_not_wrong() {
        let questions = [question("a", QuestionKind::Keyword, "a.md"), question("b", QuestionKind::Keyword, "b.md")];
        let failed = GivenAnswer { id: "b".to_owned(), hits: None, failure: Some("503".to_owned()) };
        let rows = judge(&questions, &[answer("a", &[("a.md", 1.0, 0.9)]), failed], None);
        let row = of(&rows, "keyword").unwrap();
        assert_eq!((row.asked, row.failed, row.hit_at_5), (2, 1, Some(1.0)));
        assert_eq!(of(&rows, "meaning"), None, "what was not asked has no row");
        assert_eq!(row.median_rbo, None, "without a healthy run nothing is compared");
    }

    #[test]
    fn a_negative_question_wants_quiet() {
        let questions = [question("n", QuestionKind::Negative, ""), question("m", QuestionKind::Negative, "")];
        let rows = judge(&questions, &[answer("n", &[("a.md", 1.0, 0.31)]), answer("m", &[("a.md", 1.0, 0.3)])], None);
        assert_eq!(of(&rows, "negative").unwrap().hit_at_5, Some(0.5));
        assert_eq!(of(&rows, "all"), None, "they are not of the ordinary kinds");
    }

    #[test]
    fn a_run_is_set_beside_a_healthy_one() {
        let questions = [question("a", QuestionKind::Mixed, "a.md")];
        let healthy = [answer("a", &[("a.md", 2.0 / 61.0, 0.9), ("b.md", 1.0 / 62.0, 0.5)])];
        let now = [answer("a", &[("b.md", 1.0 / 61.0, 0.5), ("b.md", 1.0 / 62.0, 0.4), ("a.md", 1.0 / 63.0, 0.9)])];
        let rows = judge(&questions, &now, Some(&healthy));
        let row = of(&rows, "all").unwrap();
        assert_eq!((row.hit_at_5, row.mrr), (Some(1.0), Some(0.5)));
        assert!((row.median_rbo.unwrap() - 0.9).abs() < 1e-9, "repeats are gone before lists are compared");
        assert!((row.top1_ratio.unwrap() - 0.5).abs() < 1e-9);
    }
}

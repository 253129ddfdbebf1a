//! The canaries of the drill: the laboratory's golden questions, those that the healthy server answers rightly.

use anyhow::Context;
use serin_reference::data::question::{Expected, JudgedQuestion, QuestionKind};

use crate::cli::drill::shape::Shape;
use crate::domain::monitor::{Canary, CanaryKind};

/// Questions about the reference server's own documentation, with the sources that answer them.
const GOLDEN: &str = include_str!("../../../reference/golden/documentation.jsonl");
/// The rank within which a source has to come.
const WITHIN: u32 = 5;
/// Marks that stand once each in a notice of their own, and mean nothing to anybody: such a word only a keyword arm finds.
/// Two letters, since the laboratory's embedder knows longer ones by their parts.
pub(super) const MARKS: [&str; 4] = ["q7", "x9", "z4", "j8"];

/// How many canaries of a kind are watched; 24 in all are a good set (RETRIEVAL.md §2).
pub(super) const fn wanted(kind: QuestionKind) -> usize {
    match kind {
        QuestionKind::Meaning => 8,
        QuestionKind::Keyword => 6,
        QuestionKind::Verbatim | QuestionKind::Negative => 4,
        QuestionKind::Mixed => 2,
    }
}

/// A golden question and the canary that asks it.
#[derive(Debug, Clone)]
pub(super) struct Golden {
    pub(super) kind: QuestionKind,
    pub(super) canary: Canary,
}

/// The name of the notice that holds a mark.
pub(super) fn notice(nth: usize) -> String {
    format!("notices/{}.md", nth + 1)
}

/// The marks, where a keyword arm can find them, then every golden question, as canaries. Vectors alone bring a notice by
/// chance, and the next documents push it out.
///
/// # Errors
/// A line of the file that is no question.
pub(super) fn golden(shape: Shape) -> anyhow::Result<Vec<Golden>> {
    let lines = GOLDEN.lines().filter(|line| !line.trim().is_empty());
    let golden = lines.map(|line| Ok(of(serde_json::from_str(line).context("a golden question")?)));
    let marks = if shape == Shape::Cosine { &[][..] } else { &MARKS[..] };
    let marks = marks.iter().enumerate().map(|(nth, mark)| {
        let expected = vec![Expected { source: notice(nth), grade: 2 }];
        let (id, query) = (format!("mark-{mark}"), (*mark).to_owned());
        Ok(of(JudgedQuestion { id, kind: QuestionKind::Keyword, query, expected }))
    });
    marks.chain(golden).collect()
}

fn of(question: JudgedQuestion) -> Golden {
    let kind = match question.kind {
        QuestionKind::Keyword => CanaryKind::Keyword,
        QuestionKind::Meaning => CanaryKind::Meaning,
        QuestionKind::Mixed => CanaryKind::Mixed,
        QuestionKind::Verbatim => CanaryKind::Verbatim,
        QuestionKind::Negative => CanaryKind::Negative,
    };
    let canary = Canary {
        definition_hash: question.id.clone(),
        id: question.id,
        query: question.query,
        kind,
        expect: question.expected.into_iter().map(|expected| expected.source).collect(),
        within: WITHIN,
        max_score: None,
        text: None,
        forbid: Vec::new(),
        also: Vec::new(),
        line: 1,
    };
    Golden { kind: question.kind, canary }
}

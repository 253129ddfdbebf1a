//! Whether a canary proves what its kind is for (RETRIEVAL.md §2), by what its server answers now. A meaning canary that
//! shares a word with its source sees no wrong embedding model: the keyword arm alone answers it.

use std::collections::BTreeSet;

use crate::domain::answer::SeenPassage;
use crate::domain::monitor::{Canary, CanaryKind};
use crate::domain::outcome::AskVerdict;
use crate::domain::quality::canary::same_source;
use crate::domain::quality::stems::{content_stems, words};

/// Words named in one line.
const NAMED_MAX: usize = 6;

/// What was found of one canary, each with one line that says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Proof {
    /// It was answered as declared and isolates what its kind is for.
    Holds(String),
    /// It is answered otherwise, or its kind promises what is not so.
    Fails(String),
    /// Nothing can be said: it was not answered, or no text of its source came.
    Unknown(String),
}

impl Proof {
    /// The word shown.
    pub(crate) const fn slug(&self) -> &'static str {
        match self {
            Self::Holds(_) => "holds",
            Self::Fails(_) => "fails",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The same, of the canary in these words.
    pub(crate) fn of_wording(self, wording: &str) -> Self {
        let said = |said: String| format!("“{wording}”: {said}");
        match self {
            Self::Holds(why) => Self::Holds(said(why)),
            Self::Fails(why) => Self::Fails(said(why)),
            Self::Unknown(why) => Self::Unknown(said(why)),
        }
    }

    /// Why.
    pub(crate) fn said(&self) -> &str {
        match self {
            Self::Holds(said) | Self::Fails(said) | Self::Unknown(said) => said,
        }
    }
}

/// Holds a canary against its answer. `passages` are the texts that all answers of this look brought, with their sources.
pub(crate) fn lint(canary: &Canary, verdict: &AskVerdict, passages: &[SeenPassage]) -> Proof {
    let rank = match verdict {
        AskVerdict::NotAsked => return Proof::Unknown("it was not asked: no time was left".to_owned()),
        AskVerdict::Failed { reason } => return Proof::Unknown(format!("it got no answer: {}", reason.slug())),
        AskVerdict::Wrong { reason, seen, .. } => return Proof::Fails(format!("{}: {seen}", reason.slug())),
        AskVerdict::Right { rank: Some(rank) } if *rank == canary.within && canary.within > 1 => {
            format!(", rank {rank}, the last that counts: the next documents may push it out")
        }
        AskVerdict::Right { rank } => rank.map_or_else(String::new, |rank| format!(", rank {rank}")),
    };
    let own = |passage: &&SeenPassage| canary.expect.iter().any(|expected| same_source(expected, &passage.source));
    let texts: Vec<&str> = passages.iter().filter(own).map(|passage| passage.text.as_str()).collect();
    let source = canary.expect.join(" or ");
    match canary.kind {
        CanaryKind::Negative if canary.text.is_some() => {
            Proof::Holds("right; its text says nothing that it may not say".to_owned())
        }
        CanaryKind::Negative => Proof::Holds("quiet now".to_owned()),
        CanaryKind::Mixed | CanaryKind::Harvested => Proof::Holds(format!("found{rank}")),
        _ if canary.expect.is_empty() => Proof::Holds("right; a text names no source to hold it against".to_owned()),
        _ if texts.iter().all(|text| text.is_empty()) => {
            Proof::Unknown(format!("found{rank}, and no text of {source} came with it"))
        }
        CanaryKind::Meaning => meaning(canary, &texts, &source, &rank),
        CanaryKind::Keyword => {
            let others: Vec<&SeenPassage> = passages.iter().filter(|passage| !own(passage)).collect();
            keyword(canary, &texts, &others, (&source, &rank))
        }
        CanaryKind::Verbatim => {
            let asked: Vec<String> = words(&canary.query).collect();
            let is_in = |text: &&str| words(text).collect::<Vec<_>>().windows(asked.len().max(1)).any(|at| at == asked);
            match texts.iter().any(is_in) {
                true => Proof::Holds(format!("found{rank}, and stands in {source} word by word")),
                false => Proof::Fails(format!("its text does not stand in {source} word by word")),
            }
        }
    }
}

fn meaning(canary: &Canary, texts: &[&str], source: &str, rank: &str) -> Proof {
    let asked = content_stems(&canary.query);
    if asked.is_empty() {
        return Proof::Fails("its question has no word that says what it is about".to_owned());
    }
    let held: BTreeSet<String> = texts.iter().flat_map(|text| content_stems(text)).collect();
    let shared: Vec<&str> = asked.intersection(&held).map(String::as_str).collect();
    match shared.is_empty() {
        true => Proof::Holds(format!("found{rank}, and shares no word with {source}")),
        false => Proof::Fails(format!(
            "shares with {source}: {}; the keyword arm alone can answer it: use other words, or kind mixed",
            some(&shared)
        )),
    }
}

fn keyword(canary: &Canary, texts: &[&str], others: &[&SeenPassage], (source, rank): (&str, &str)) -> Proof {
    let held: BTreeSet<String> = texts.iter().flat_map(|text| content_stems(text)).collect();
    let asked = content_stems(&canary.query);
    let there: Vec<&str> = asked.intersection(&held).map(String::as_str).collect();
    if there.is_empty() {
        return Proof::Fails(format!("none of its words is in the text of {source} that came"));
    }
    let elsewhere = |word: &&&str| others.iter().any(|other| content_stems(&other.text).contains(**word));
    let common = there.iter().filter(elsewhere).count();
    let but = if common == there.len() { ", and in other sources too: a word of its own tells more" } else { "" };
    Proof::Holds(format!("found{rank}; in {source}: {}{but}", some(&there)))
}

fn some(words: &[&str]) -> String {
    let more = words.len().saturating_sub(NAMED_MAX);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    words[..words.len().min(NAMED_MAX)].join(", ") + &tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reason::FailureReason;

    #[test]
    fn a_canary_proves_what_its_kind_is_for_or_does_not() {
        use CanaryKind::{Keyword, Meaning, Mixed, Negative, Verbatim};
        let source = "Tokens of ERR-4417 expire after a week. Whoever is idle signs in again.";
        let right = AskVerdict::Right { rank: Some(2) };
        let wrong = AskVerdict::Wrong { reason: FailureReason::WrongResults, rank: None, seen: "got b.md".to_owned() };
        let failed = AskVerdict::Failed { reason: FailureReason::Timeout };
        type Row<'r> = (CanaryKind, &'r str, &'r AskVerdict, &'r str, &'r str);
        let edge = AskVerdict::Right { rank: Some(5) };
        let rows: [Row<'_>; 15] = [
            (Meaning, "when does an old login stop working", &right, "holds", "shares no word with a.md"),
            (Meaning, "when do idle tokens expire", &right, "fails", "shares with a.md: expir, idl, token;"),
            (Meaning, "does expiring happen", &right, "fails", "shares with a.md: expir;"),
            (Meaning, "what is it", &right, "fails", "no word that says"),
            (Keyword, "ERR-4417", &right, "holds", "found, rank 2; in a.md: 4417, err"),
            (Keyword, "harbour", &right, "fails", "none of its words is in the text of a.md"),
            (Keyword, "week", &right, "holds", "and in other sources too"),
            (Mixed, "when do tokens expire", &right, "holds", "found, rank 2"),
            (Mixed, "when do tokens expire", &edge, "holds", "found, rank 5, the last that counts"),
            (Negative, "pans", &AskVerdict::Right { rank: None }, "holds", "quiet now"),
            (Verbatim, "whoever is IDLE signs in  again", &right, "holds", "word by word"),
            (Verbatim, "whoever idle signs in again", &right, "fails", "does not stand in a.md"),
            (Meaning, "q", &wrong, "fails", "wrong_results: got b.md"),
            (Meaning, "q", &failed, "unknown", "no answer: timeout"),
            (Meaning, "q", &AskVerdict::NotAsked, "unknown", "no time was left"),
        ];
        let passages = |text: &str| {
            let passage = |source: &str, text: &str| SeenPassage { source: source.to_owned(), text: text.to_owned() };
            vec![passage("docs/a.md#top", text), passage("b.md", "Boilers are checked each week.")]
        };
        for (kind, query, verdict, expected, said) in rows {
            let canary = Canary { expect: vec!["a.md".to_owned()], ..Canary::undeclared("c", query, kind) };
            let proof = lint(&canary, verdict, &passages(source));
            assert_eq!(proof.slug(), expected, "{query}: {proof:?}");
            assert!(proof.said().contains(said), "{query}: {proof:?}");
        }
        let canary = Canary { expect: vec!["a.md".to_owned()], ..Canary::undeclared("c", "login", Meaning) };
        assert_eq!(lint(&canary, &right, &passages("")).slug(), "unknown", "a source without a text");
        let told = Canary { expect: Vec::new(), ..canary };
        assert_eq!(lint(&told, &AskVerdict::Right { rank: None }, &[]).slug(), "holds", "a text names no source");
        let refuses = Canary { text: Some(Box::default()), ..Canary::undeclared("c", "pans", Negative) };
        let proof = lint(&refuses, &AskVerdict::Right { rank: None }, &[]);
        assert!(proof.said().contains("its text says nothing"), "something came, and the right thing: {proof:?}");
    }
}

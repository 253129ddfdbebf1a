//! A text that was answered, judged again by what a canary wants of it now: from what is kept of it, and only where that
//! tells the same as the whole would.

use std::collections::HashMap;

use crate::domain::answer::Answer;
use crate::domain::monitor::{Canary, CanaryKind};
use crate::probe::decode::answer::as_read::read_again;
use crate::store::read::circumstances::TextKept;

/// Texts by the names by which lists know them.
pub(crate) type Texts = HashMap<String, TextKept>;

/// An answer with the text that a canary reads of it; none where nobody knows what the text was.
pub(crate) fn with_text(answer: Answer, canary: &Canary, texts: &Texts) -> Option<Answer> {
    let Some(wanted) = canary.text.as_deref() else { return Some(answer) };
    let Some(named) = &answer.kept else {
        // Of a list the text beside it is not kept; of an answer which says that nothing was found, nothing is.
        let says_nothing = answer.hits.is_empty();
        let is_told = canary.kind != CanaryKind::Negative || wanted.contains.is_empty();
        return (says_nothing && is_told).then_some(answer);
    };
    let kept = texts.get(&*named.name)?;
    let read = match kept.is_whole() {
        true => read_again(&kept.begins)?,
        false => wanted.is_told_by_beginning(&kept.begins, &canary.query).then_some(None)?,
    };
    Some(Answer { text: Some(kept.begins.as_str().into()), read: read.map(String::into_boxed_str), ..answer })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::answer::{Hit, KeptText};
    use crate::domain::wanted::{ExpectedText, Wanted};

    #[test]
    fn a_text_is_judged_again_where_what_is_kept_tells_it() {
        use CanaryKind::{Mixed, Negative};
        let words = |words: &[&str]| words.iter().map(|words| Wanted::Words((*words).to_owned())).collect();
        let wants = |kind, contains: &[&str], not_contains: &[&str]| Canary {
            text: Some(Box::new(ExpectedText { contains: words(contains), not_contains: words(not_contains) })),
            ..Canary::undeclared("c", "copper", kind)
        };
        let (asks, picky) = (wants(Mixed, &["each quarter"], &[]), wants(Mixed, &["each quarter"], &["draft"]));
        let (refuses, says) = (wants(Negative, &[], &["draft"]), wants(Negative, &["no match"], &[]));
        let named = |name: &str| {
            let kept = KeptText { name: name.into(), bytes: 0, chars: 0, begins: "".into() };
            Answer { text_only: true, kept: Some(Box::new(kept)), ..Answer::default() }
        };
        let whole = |text: &str| TextKept { bytes: text.len() as u64, begins: text.to_owned() };
        let cut = |text: &str| TextKept { bytes: 20_000, begins: text.to_owned() };
        let texts = Texts::from([
            ("text:whole".to_owned(), whole("Boilers: each quarter")),
            ("text:json".to_owned(), whole(r#"{"result": "each\tquarter"}"#)),
            ("text:blocks".to_owned(), whole("{\"a\": \"each\\tquarter\"}\n{}")),
            ("text:found".to_owned(), cut("Boilers: each quarter, and so on, and on")),
            ("text:lost".to_owned(), cut("Boilers: each month, and so on, and on")),
            ("text:draft".to_owned(), cut("A draft, and so on and on")),
            ("text:edge".to_owned(), cut("Boilers: each quarter, so")),
        ]);
        let hit = Hit { source: "a.md".to_owned(), score: None, chars: 9, excerpt: String::new() };
        let listed = Answer { hits: vec![hit], ..Answer::default() };
        let rows = [
            (&asks, named("text:whole"), Some(true), "the whole is kept"),
            (&picky, named("text:whole"), Some(true), "and holds nothing else"),
            (&asks, named("text:json"), Some(true), "as people read it"),
            (&asks, named("text:blocks"), None, "several blocks, whose escapes nobody can tell apart any more"),
            (&asks, named("text:found"), Some(true), "its beginning holds all there has to be"),
            (&picky, named("text:found"), None, "and nobody knows what its end holds"),
            (&asks, named("text:lost"), None, "its end may hold it"),
            (&picky, named("text:draft"), Some(false), "its beginning holds what may not be"),
            (&asks, named("text:edge"), None, "the word at the cut may go on"),
            (&asks, named("text:gone"), None, "it is not kept"),
            (&asks, listed, None, "of a list no text is kept"),
            (&asks, Answer::default(), Some(false), "nothing was found, whatever was wanted"),
            (&refuses, Answer::default(), Some(true), "and rightly so"),
            (&says, Answer::default(), None, "but in which words?"),
        ];
        let search = crate::domain::search::Search::default();
        for (canary, answer, expected, sentence) in rows {
            let found = with_text(answer, canary, &texts);
            let judged = found.map(|answer| crate::domain::quality::canary::judge(canary, &search, None, &answer));
            let is_right = judged.map(|verdict| verdict.slug() == "right");
            assert_eq!(is_right, expected, "{sentence}");
        }
    }
}

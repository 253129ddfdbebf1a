//! Canaries and signs proposed for a tool that answers with text and not with a list of results.
//!
//! Of an answer only what the question did not say counts: a server that repeats the question has found nothing.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::domain::monitor::CanaryKind;
use crate::domain::quality::propose::{COMMON, Proposal, rarity, tokens};
use crate::domain::wanted::without_question;

/// A question and the whole text that came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenText {
    pub question: String,
    pub text: String,
}

/// Words that one canary asks an answer to hold.
const WORDS_MAX: usize = 2;
/// Letters from which a word tells anything, where nothing rarer is there.
const WORD_CHARS_MIN: usize = 4;
/// Characters of a sign: shorter ones stand in any text, longer ones hold what changes.
const SIGN_CHARS: std::ops::RangeInclusive<usize> = 6..=80;

/// A canary for each question whose answer says what no other answer does.
///
/// `nothing` are answers to questions that find nothing, or that were wrong.
pub(crate) fn text_proposals(found: &[SeenText], nothing: &[SeenText]) -> Vec<Proposal> {
    let proposal = |nth: usize, seen: &SeenText| {
        let others = found.iter().enumerate().filter(|(other, _)| *other != nth).map(|(_, seen)| seen);
        // As words and as what may stand for one: `external_id` is a name in every answer.
        let all = |seen: &SeenText| -> Vec<String> {
            words(&seen.text).chain(tokens(&seen.text)).map(str::to_lowercase).collect()
        };
        let elsewhere: BTreeSet<String> = others.chain(nothing).flat_map(all).collect();
        let asked: BTreeSet<String> = words(&seen.question).map(|word| word.to_lowercase()).collect();
        let own = without_question(&seen.text, &seen.question);
        let is_own = |word: &&str| {
            let small = word.to_lowercase();
            !elsewhere.contains(&small) && !asked.contains(&small)
        };
        let contains = telling(&own, is_own);
        let kind = if seen.question.contains(' ') { CanaryKind::Mixed } else { CanaryKind::Keyword };
        let query = seen.question.clone();
        (!contains.is_empty()).then_some(Proposal { query, kind, source: String::new(), contains })
    };
    found.iter().enumerate().filter_map(|(nth, seen)| proposal(nth, seen)).collect()
}

/// The rarest words of a text: codes and identifiers, else long words, each once.
fn telling(text: &str, is_own: impl Fn(&&str) -> bool) -> Vec<String> {
    /// A word of this weight tells an answer apart by itself.
    const ALONE: u32 = 60;
    let mut rare: Vec<(u32, &str)> = Vec::new();
    for word in tokens(text).filter(|word| is_own(word)) {
        let weight = rarity(word);
        if weight > 0 && !rare.iter().any(|(_, known)| known.eq_ignore_ascii_case(word)) {
            rare.push((weight, word));
        }
    }
    rare.sort_by_key(|(weight, _)| Reverse(*weight));
    match rare.first() {
        Some((weight, word)) if *weight >= ALONE => return vec![(*word).to_owned()],
        Some(_) => return rare.iter().take(WORDS_MAX).map(|(_, word)| (*word).to_owned()).collect(),
        None => {}
    }
    // Paths and bare names hold nothing rarer.
    let plain = words(text).filter(|word| word.chars().count() >= WORD_CHARS_MIN && is_own(word));
    let plain = plain.filter(|word| word.chars().all(char::is_alphabetic));
    let plain = plain.filter(|word| !COMMON.split(' ').any(|common| common.eq_ignore_ascii_case(word)));
    plain.max_by_key(|word| word.len()).map(str::to_owned).into_iter().collect()
}

/// What these answers say and no other does, as a pattern: by it an error, or that nothing was found, is known again.
///
/// None where they have nothing in common but their questions, or where another answer says it, too.
pub(crate) fn sign(said: &[SeenText], others: &[SeenText]) -> Option<String> {
    let (first, rest) = said.split_first()?;
    let own = |seen: &SeenText| -> Vec<String> {
        let asked: BTreeSet<String> = words(&seen.question).map(|word| word.to_lowercase()).collect();
        let mut stretches = vec![String::new()];
        for line in seen.text.lines() {
            for word in line.split(' ') {
                let is_asked = words(word).any(|part| asked.contains(&part.to_lowercase()));
                let changes = word.chars().any(|letter| letter.is_ascii_digit());
                match stretches.last_mut() {
                    Some(last) if !is_asked && !changes => {
                        last.push_str(if last.is_empty() { "" } else { " " });
                        last.push_str(word);
                    }
                    _ => stretches.push(String::new()),
                }
            }
            stretches.push(String::new());
        }
        stretches
    };
    let fits = |stretch: &String| {
        SIGN_CHARS.contains(&stretch.chars().count())
            && rest.iter().all(|seen| seen.text.contains(&**stretch))
            && !others.iter().any(|seen| seen.text.contains(&**stretch))
    };
    let stretches = own(first).into_iter().map(|stretch| bounded(stretch.trim()));
    // The first words head the answer; what stands behind them may be advice that changes.
    stretches.filter(fits).map(|stretch| regex::escape(&stretch)).next()
}

/// Whether two answers differ in nothing but their questions and in numbers: both then found the same, or nothing.
pub(crate) fn same_but_for_the_question(one: &SeenText, other: &SeenText) -> bool {
    let own = |seen: &SeenText| -> Vec<String> {
        let asked: BTreeSet<String> = words(&seen.question).map(str::to_lowercase).collect();
        let told = words(&seen.text).map(str::to_lowercase);
        told.filter(|word| !asked.contains(word) && !word.chars().all(|letter| letter.is_ascii_digit())).collect()
    };
    own(one) == own(other)
}

/// At most as long as a sign may be, cut between words.
fn bounded(stretch: &str) -> String {
    let mut kept = String::new();
    for word in stretch.split(' ') {
        if kept.chars().count() + 1 + word.chars().count() > *SIGN_CHARS.end() {
            break;
        }
        kept.push_str(if kept.is_empty() { "" } else { " " });
        kept.push_str(word);
    }
    let trimmed = kept.trim_end_matches(|letter: char| !letter.is_alphanumeric() && letter != ':');
    trimmed.to_owned()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(question: &str, text: &str) -> SeenText {
        SeenText { question: question.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_canary_asks_for_what_only_its_answer_says() {
        let nothing = [seen("zorvex", "No results found for 'zorvex' in project main")];
        type Row<'r> = (&'r [SeenText], &'r [&'r [&'r str]], &'r str);
        let rows: [Row<'_>; 7] = [
            (&[seen("copper", "# Results: copper\nboiler INV-2044 leaks")], &[&["INV-2044"]], "a code"),
            (
                &[seen("copper", "copper boilers have pressure regulators")],
                &[&["regulators", "pressure"]],
                "two long words",
            ),
            (&[seen("copper", "Results for copper")], &[], "an echo"),
            (
                &[seen("copper", "external_id: 1, boilers"), seen("swarm", "external_id: 2, beehives")],
                &[&["boilers"], &["beehives"]],
                "what every answer names is nobody's own",
            ),
            (&[seen("copper", "No results found for 'copper' in project main")], &[], "what is said of nothing"),
            (
                &[seen("*boil*", "/srv/notes/boilers.md"), seen("*harb*", "/srv/notes/harbour.md")],
                &[&["boilers"], &["harbour"]],
                "a name of which the question holds a part",
            ),
            (
                &[seen("*b*", "/srv/notes/ventilation.md"), seen("*h*", "/srv/notes/drainage.md")],
                &[&["ventilation"], &["drainage"]],
                "paths, without the folder they share",
            ),
        ];
        for (found, expected, sentence) in rows {
            let contains: Vec<Vec<String>> =
                text_proposals(found, &nothing).into_iter().map(|proposal| proposal.contains).collect();
            assert_eq!(contains, expected, "{sentence}");
        }
    }

    #[test]
    fn a_sign_is_what_such_answers_share_and_no_other_says() {
        let found = [seen("copper", "# Results: copper\nAn error is a deviation. Database design")];
        let rows: [(&[SeenText], Option<&str>, &str); 6] = [
            (&[seen("zorvex", "No matches found")], Some("No matches found"), "one sentence"),
            (
                &[
                    seen("zorvex quandril", "No results found for 'zorvex quandril' in main. Try others"),
                    seen("wexlifrant", "No results found for 'wexlifrant' in main. Try others"),
                ],
                Some("No results found for"),
                "up to the question",
            ),
            (
                &[seen("SELECT * FROM zorvex", "Database error: no such table: zorvex (3 ms)")],
                Some("Database error: no such table:"),
                "an error without what was asked",
            ),
            (&[seen("zorvex", "# Results: zorvex")], None, "what every answer says"),
            (&[seen("a", "none"), seen("b", "sorry, nothing")], None, "nothing in common"),
            (&[], None, "no answer"),
        ];
        for (said, expected, sentence) in rows {
            assert_eq!(sign(said, &found).as_deref(), expected, "{sentence}");
        }
    }

    #[test]
    fn an_answer_that_only_repeats_its_question_found_nothing() {
        let nothing = seen("zorvex quandril", "0 results for “zorvex quandril”, page 1");
        let rows = [
            (seen("copper", "3 results for “copper”, page 1"), true, "an echo and a number"),
            (seen("copper", "3 results for “copper”, page 1: boilers"), false, "a find"),
        ];
        for (other, same, sentence) in rows {
            assert_eq!(same_but_for_the_question(&nothing, &other), same, "{sentence}");
        }
    }
}

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

/// A canary for each question whose answer says what no other answer does. One find proves nothing: its words may be those
/// that every find is dressed in.
///
/// `nothing` are answers to questions that find nothing, or that were wrong.
pub(crate) fn text_proposals(found: &[SeenText], nothing: &[SeenText]) -> Vec<Proposal> {
    let proposal = |seen: &SeenText| {
        let mut others = found.iter().filter(|other| !same_but_for_the_question(seen, other)).peekable();
        others.peek()?;
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
    found.iter().filter_map(proposal).collect()
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
    let anchored = |stretch: String| {
        let heads = said.iter().all(|seen| seen.text.starts_with(&*stretch));
        format!("{}{}", if heads { "^" } else { "" }, regex::escape(&stretch))
    };
    stretches.filter(fits).map(anchored).next()
}

/// Whether an answer's first lines tell an error. What follows may be a document about errors.
pub(crate) fn tells_an_error(seen: &SeenText) -> bool {
    sounds_like_an_error(&head(seen))
}

/// Whether an answer to a call that was wrong on purpose says so: it tells an error, or what the call lacks.
pub(crate) fn tells_a_wrong_call(seen: &SeenText) -> bool {
    const WORDS: [&str; 12] = [
        "missing",
        "required",
        "requires",
        "given",
        "provide",
        "provided",
        "specify",
        "specified",
        "expected",
        "argument",
        "arguments",
        "parameter",
    ];
    tells_an_error(seen) || says_any(&head(seen), &WORDS)
}

/// The first lines of an answer without the question, which may speak of errors itself.
fn head(seen: &SeenText) -> String {
    /// Lines in which a server says what became of a call.
    const LINES: usize = 2;
    let lines: Vec<&str> = seen.text.lines().filter(|line| !line.trim().is_empty()).take(LINES).collect();
    without_question(&lines.join("\n"), &seen.question)
}

/// Whether one of these words, or words in a row, stands in a text, in any case.
fn says_any(text: &str, wanted: &[&str]) -> bool {
    let plain: String = words(text).map(|word| word.to_lowercase() + " ").collect();
    let plain = format!(" {plain}");
    wanted.iter().any(|words| plain.contains(&format!(" {words} ")))
}

/// Whether a question is a statement of a query language, to which plain words are an error. Sentences may begin alike.
pub(crate) fn is_statement(question: &str) -> bool {
    const CLAUSES: [&str; 6] = ["where", "select", "limit", "join", "order", "group"];
    const SHOWN: [&str; 5] = ["tables", "columns", "databases", "schemas", "indexes"];
    let small = question.to_lowercase();
    let mut told = small.split_whitespace();
    let (first, second) = (told.next().unwrap_or_default(), told.next().unwrap_or_default());
    match first {
        "with" => small.contains(" as (") || small.contains(" as("),
        "match" => second.starts_with('('),
        "from" => small.contains('|') || told.any(|word| CLAUSES.contains(&word)),
        "show" => SHOWN.contains(&second.trim_end_matches(';')),
        _ if first.starts_with("match(") => true,
        _ => first.strip_prefix("select").is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)),
    }
}

/// Whether a sign reads like that of an error, in the words that servers use for one.
pub(crate) fn sounds_like_an_error(sign: &str) -> bool {
    const WORDS: [&str; 33] = [
        "error",
        "errors",
        "exception",
        "traceback",
        "failed",
        "failure",
        "fatal",
        "invalid",
        "syntax",
        "cannot",
        "unable",
        "unavailable",
        "refused",
        "timeout",
        "timed out",
        "denied",
        "unauthorized",
        "forbidden",
        "locked",
        "exceeded",
        "rate limit",
        "quota",
        "expired",
        "offline",
        "is down",
        "not connected",
        "not initialized",
        "not available",
        "no such table",
        "could not connect",
        "could not open",
        "could not read",
        "could not load",
    ];
    // `OperationalError` is a name of one.
    says_any(sign, &WORDS) || words(sign).any(|word| word.ends_with("Error"))
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
        // A find that has no word of its own.
        let other = || seen("bees", "# Results: bees\nit is a bee");
        type Row<'r> = (&'r [SeenText], &'r [&'r [&'r str]], &'r str);
        let rows: [Row<'_>; 9] = [
            (&[seen("copper", "# Results: copper\nboiler INV-2044 leaks"), other()], &[&["INV-2044"]], "a code"),
            (
                &[seen("copper", "copper boilers have pressure regulators"), other()],
                &[&["regulators", "pressure"]],
                "two long words",
            ),
            (
                &[seen("copper", "# Results: copper\nentity: boilers\npermalink: x\nobservations: leaks")],
                &[],
                "the only find: its words may be those of every find",
            ),
            (
                &[seen("copper", "observations: INV-2044"), seen("valve", "observations: INV-2044")],
                &[],
                "the same found twice",
            ),
            (&[seen("copper", "Results for copper"), other()], &[], "an echo"),
            (
                &[seen("copper", "external_id: 1, boilers"), seen("swarm", "external_id: 2, beehives")],
                &[&["boilers"], &["beehives"]],
                "what every answer names is nobody's own",
            ),
            (
                &[seen("copper", "No results found for 'copper' in project main"), other()],
                &[],
                "what is said of nothing",
            ),
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
    fn what_tells_an_error_is_no_sign_of_nothing() {
        let rows = [
            ("No matches found", false),
            ("Error: no such column", true),
            ("OperationalError: no such table", true),
            ("Search failed, index missing", true),
            ("0 terrors", false),
            ("Access denied", true),
            ("The index timed out.", true),
            ("Could not find any note", false),
        ];
        for (sign, expected) in rows {
            assert_eq!(sounds_like_an_error(sign), expected, "{sign}");
        }
    }

    #[test]
    fn an_answer_says_in_its_first_lines_that_the_call_failed_or_was_wrong() {
        let rows = [
            ("zorvex", "Error 500: index offline", true, true, "digits beside the word"),
            ("zorvex", "Sorry: no question was given.", false, true, "what the call lacks"),
            ("zorvex", "No results for zorvex", false, false, "nothing was found"),
            ("error 4417", "No results for error 4417", false, false, "an echo"),
            ("", "Recent notes in project:\n\n- boilers\n- error codes that are required", false, false, "a document"),
        ];
        for (question, text, error, wrong, sentence) in rows {
            let answer = seen(question, text);
            assert_eq!((tells_an_error(&answer), tells_a_wrong_call(&answer)), (error, wrong), "{sentence}");
        }
    }

    #[test]
    fn a_question_in_plain_words_is_no_statement() {
        let statements = [
            "SELECT 1 WHERE 1=0",
            "select*from notes",
            "WITH x AS (SELECT 1) SELECT * FROM x",
            "FROM notes | LIMIT 1",
            "from notes select name",
            "SHOW TABLES;",
            "MATCH (n:Note) RETURN n",
        ];
        let questions = [
            "from which date do fees apply",
            "show me the dues",
            "with what is it cleaned",
            "match report",
            "selection of valves",
            "",
        ];
        assert!(statements.iter().all(|text| is_statement(text)), "{statements:?}");
        assert!(!questions.iter().any(|text| is_statement(text)), "{questions:?}");
    }

    #[test]
    fn a_sign_is_what_such_answers_share_and_no_other_says() {
        let found = [seen("copper", "# Results: copper\nAn error is a deviation. Database design")];
        let rows: [(&[SeenText], Option<&str>, &str); 6] = [
            (&[seen("zorvex", "No matches found")], Some("^No matches found"), "one sentence"),
            (
                &[
                    seen("zorvex quandril", "No results found for 'zorvex quandril' in main. Try others"),
                    seen("wexlifrant", "No results found for 'wexlifrant' in main. Try others"),
                ],
                Some("^No results found for"),
                "up to the question",
            ),
            (
                &[seen("SELECT * FROM zorvex", "Database error: no such table: zorvex (3 ms)")],
                Some("^Database error: no such table:"),
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

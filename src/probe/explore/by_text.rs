//! Canaries for a tool that answers with text: what only one answer says, and how the server tells that there is nothing.

use serde_json::{Value, json};

use crate::domain::monitor::CanaryKind;
use crate::domain::quality::propose::{NONSENSE, Proposal};
use crate::domain::quality::propose_text::{
    SeenText, same_but_for_the_question, sign, sounds_like_an_error, tells_a_wrong_call, tells_an_error, text_proposals,
};
use crate::domain::search::Search;
use crate::domain::wanted::{Pattern, TextSigns};
use crate::probe::explore::explored::Wish;
use crate::probe::explore::talk::Talk;
use crate::tool_lists::asked;

/// A statement that is well formed and asks for what is not there.
const WRONG_STATEMENT: &str = "SELECT * FROM zorvex_quandril";
/// Errors told in different words.
const ERRORS_MAX: usize = 3;

impl Talk<'_, '_> {
    /// Learns what the server says where nothing is, and where a call is wrong; proposes what its other answers hold.
    pub(super) async fn by_text(&mut self, wish: &Wish, wanted: usize) {
        let mut found = std::mem::take(&mut self.texts);
        let (nothing, is_listed) = self.texts_of_nothing(wish).await;
        let wrong = self.texts_of_wrong_calls(wish.states()).await;
        let unfound: Vec<SeenText> = nothing.iter().chain(&wrong).cloned().collect();
        let is_find = |seen: &SeenText| !unfound.iter().any(|other| same_but_for_the_question(seen, other));
        found.retain(is_find);
        let mut proposals = text_proposals(&found, &unfound);
        let may_ask_words = !wish.asks.is_empty() && !wish.states() && !self.takes_statements();
        if proposals.is_empty() && !found.is_empty() && may_ask_words {
            // One find has nothing to be told from.
            self.look_around(&[]).await;
            found.extend(std::mem::take(&mut self.texts).into_iter().filter(is_find));
            proposals = text_proposals(&found, &unfound);
        }
        self.keep_signs(signs(&found, &nothing, &wrong));
        let positive = wanted.saturating_sub(1).max(1);
        proposals.truncate(positive);
        self.say_what_fell(wish, &found, &proposals);
        // Alone it would be right of a server that finds nothing at all.
        let is_asked = !proposals.is_empty();
        self.found.canaries.extend(proposals.into_iter().map(|proposal| (proposal, None)));
        let says_nothing = is_listed || self.search.said.as_ref().is_some_and(|said| said.empty.is_some());
        if let Some(query) = wish.unfindable().into_iter().next().filter(|_| wanted > 1 && is_asked && says_nothing) {
            let kind = CanaryKind::Negative;
            self.found.canaries.push((Proposal { query, kind, source: String::new(), contains: Vec::new() }, None));
        }
    }

    /// Says that finds cannot be told apart, or how many of the questions that somebody gave became canaries.
    fn say_what_fell(&mut self, wish: &Wish, found: &[SeenText], proposals: &[Proposal]) {
        let is_kept = |question: &&String| proposals.iter().any(|proposal| proposal.query == **question);
        let (given, kept) = (wish.asks.len(), wish.asks.iter().filter(is_kept).count());
        if proposals.is_empty() && !found.is_empty() {
            let why = "what was found holds no words but those of its question, and those of every answer";
            let mend = "ask by --ask with a part of a word, such as `*boil*`, or name a second question that finds something else";
            self.found.gaps.push(format!("{why}: {mend}"));
        } else if !proposals.is_empty() && kept < given {
            let why = "the others found nothing or have no words of their own, or --canaries asks for no more";
            self.found.guesses.push(format!("{kept} of {given} questions by --ask became canaries: {why}"));
        }
    }

    /// Texts of what is not there; and whether that came as an empty list.
    async fn texts_of_nothing(&mut self, wish: &Wish) -> (Vec<SeenText>, bool) {
        let mut is_listed = false;
        for question in wish.unfindable() {
            let answer = self.ask_freely(&question).await;
            is_listed |= answer.is_some_and(|answer| answer.hits.is_empty());
        }
        let texts = std::mem::take(&mut self.texts);
        (if is_listed { Vec::new() } else { texts }, is_listed)
    }

    /// Texts of calls that cannot be right. Most servers answer these as errors should be, and then there is nothing to learn.
    async fn texts_of_wrong_calls(&mut self, states: bool) -> Vec<SeenText> {
        let mut calls: Vec<(&str, Value)> = vec![("", asked::arguments(&self.unasked(), ""))];
        if states {
            calls.extend([NONSENSE[0], WRONG_STATEMENT].map(|text| (text, asked::arguments(&self.search, text))));
        } else {
            let mut odd = asked::arguments(&self.unasked(), "");
            for pointer in &self.search.query {
                let _reached = asked::put(&mut odd, pointer, json!({ "no": "question" }));
            }
            calls.push(("", odd));
        }
        let mut texts = Vec::new();
        for (question, arguments) in calls {
            let Some((clock, outcome)) = self.call("a call that is wrong on purpose", &arguments).await else { break };
            texts.extend(outcome.as_ref().ok().and_then(|raw| self.text_in(question, raw)));
            self.found.seen.steps.push(clock.stop(None));
        }
        texts
    }

    /// The search without its question.
    fn unasked(&self) -> Search {
        Search { query: Vec::new(), ..self.search.clone() }
    }

    fn keep_signs(&mut self, signs: TextSigns) {
        for (name, sign) in [("error", &signs.error), ("empty", &signs.empty)] {
            if let Some(sign) = sign {
                let said =
                    format!("`{name}: {}` was taken from one answer; is it said of nothing else?", sign.as_str());
                self.found.guesses.push(said);
            }
        }
        self.search.said = (signs != TextSigns::default()).then(|| Box::new(signs));
        self.found.search = Some(self.search.clone());
    }
}

/// How the server tells an error, and that nothing was found. What tells an error is no sign of nothing, or the server
/// could fail and be right; where nothing was ever found, nobody knows whether it fails.
fn signs(found: &[SeenText], nothing: &[SeenText], wrong: &[SeenText]) -> TextSigns {
    let others: Vec<SeenText> = found.iter().chain(nothing).cloned().collect();
    // Some tools answer a call without a question with what is newest.
    let told = wrong.iter().filter(|seen| tells_a_wrong_call(seen));
    let errors = told.filter_map(|seen| sign(std::slice::from_ref(seen), &others));
    let mut errors: Vec<String> = errors.map(|sign| up_to_its_colon(sign, &others)).collect();
    errors.sort();
    errors.dedup();
    errors.truncate(ERRORS_MAX);
    let others: Vec<SeenText> = found.iter().chain(wrong).cloned().collect();
    let is_certain = !found.is_empty() && !nothing.iter().any(tells_an_error);
    let empty = sign(nothing, &others).filter(|sign| is_certain && !sounds_like_an_error(sign));
    let pattern = |text: String| Pattern::new(&text).ok();
    let error = Some(errors.join("|")).filter(|text| !text.is_empty());
    TextSigns { error: error.and_then(pattern), empty: empty.and_then(pattern) }
}

/// `Database error: no such table` is one error of many: what heads all of them is the sign, where nothing else says it.
fn up_to_its_colon(sign: String, others: &[SeenText]) -> String {
    let Some((head, _)) = sign.split_once(": ") else { return sign };
    let head = format!("{head}:");
    let is_elsewhere = |pattern: Pattern| others.iter().any(|seen| pattern.is_in(&seen.text));
    // One word alone heads documents, too.
    let is_telling = head.contains(' ') && sounds_like_an_error(&head);
    if is_telling && Pattern::new(&head).is_ok_and(|pattern| !is_elsewhere(pattern)) { head } else { sign }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_taken_only_from_answers_that_can_be_trusted() {
        let seen = |question: &str, text: &str| SeenText { question: question.to_owned(), text: text.to_owned() };
        let found = [seen("copper", "Boiler upkeep")];
        let (none, lost) = ("No notes were found.", "Error 500: index offline");
        let (given, newest) = ("Sorry: no question was given", "Recent notes in project");
        let (sorry, table) = ("^Sorry: no question was given", "Database error: no such table: x");
        type Row<'r> = (&'r [SeenText], &'r str, &'r str, [Option<&'r str>; 2], &'r str);
        let rows: [Row<'_>; 5] = [
            (&found, none, table, [Some("^Database error:"), Some("^No notes were found")], "what heads all errors"),
            (&found, none, given, [Some(sorry), Some("^No notes were found")], "both"),
            (&found, lost, given, [Some(sorry), None], "an error beside digits is no sign of nothing"),
            (&[], none, given, [Some(sorry), None], "nothing was ever found"),
            (&found, none, newest, [None, Some("^No notes were found")], "what is newest is no error"),
        ];
        for (found, nothing, wrong, expected, sentence) in rows {
            let TextSigns { error, empty } = signs(found, &[seen("zorvex", nothing)], &[seen("", wrong)]);
            let said = [&error, &empty].map(|sign| sign.as_ref().map(Pattern::as_str));
            assert_eq!(said, expected, "{sentence}");
        }
    }
}

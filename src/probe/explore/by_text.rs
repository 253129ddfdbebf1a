//! Canaries for a tool that answers with text: what only one answer says, and how the server tells that there is nothing.

use serde_json::{Value, json};

use crate::domain::monitor::{CanaryKind, Search};
use crate::domain::quality::propose::{NONSENSE, Proposal};
use crate::domain::quality::propose_text::{SeenText, same_but_for_the_question, sign, text_proposals};
use crate::domain::wanted::{Pattern, TextSigns};
use crate::probe::explore::explored::Wish;
use crate::probe::explore::talk::Talk;
use crate::tool_lists::asked;

/// Words with which a question begins that is a statement of a query language, to which nonsense is an error.
const STATEMENTS: [&str; 5] = ["select ", "with ", "match ", "from ", "show "];
/// A statement that is well formed and asks for what is not there.
const WRONG_STATEMENT: &str = "SELECT * FROM zorvex_quandril";
/// Errors told in different words.
const ERRORS_MAX: usize = 3;

impl Talk<'_, '_> {
    /// Learns what the server says where nothing is, and where a call is wrong; proposes what its other answers hold.
    pub(super) async fn by_text(&mut self, wish: &Wish, wanted: usize) {
        let mut found = std::mem::take(&mut self.texts);
        let is_statement = |question: &String| {
            let small = question.trim_start().to_lowercase();
            STATEMENTS.iter().any(|word| small.starts_with(word))
        };
        let states = wish.asks.iter().any(is_statement);
        let nothing = self.texts_of_nothing(wish, states).await;
        let wrong = self.texts_of_wrong_calls(states).await;
        found.retain(|seen| !nothing.0.iter().chain(&wrong).any(|other| same_but_for_the_question(seen, other)));
        let others: Vec<SeenText> = found.iter().chain(&nothing.0).cloned().collect();
        let mut errors: Vec<String> =
            wrong.iter().filter_map(|seen| sign(std::slice::from_ref(seen), &others)).collect();
        errors.sort();
        errors.dedup();
        errors.truncate(ERRORS_MAX);
        let others: Vec<SeenText> = found.iter().chain(&wrong).cloned().collect();
        let empty = sign(&nothing.0, &others).and_then(|pattern| Pattern::new(&pattern).ok());
        let error = Some(errors.join("|")).filter(|pattern| !pattern.is_empty());
        let error = error.and_then(|pattern| Pattern::new(&pattern).ok());
        self.keep_signs(TextSigns { error, empty });
        let proposals = text_proposals(&found, &nothing.0.iter().chain(&wrong).cloned().collect::<Vec<_>>());
        let positive = wanted.saturating_sub(1).max(1);
        self.found.canaries.extend(proposals.into_iter().take(positive).map(|proposal| (proposal, None)));
        let says_nothing = nothing.1 || self.search.said.as_ref().is_some_and(|said| said.empty.is_some());
        if let Some(query) = self.unfindable(wish, states).first().filter(|_| wanted > 1 && says_nothing) {
            let (query, kind) = (query.clone(), CanaryKind::Negative);
            self.found.canaries.push((Proposal { query, kind, source: String::new(), contains: Vec::new() }, None));
        }
    }

    fn unfindable(&self, wish: &Wish, states: bool) -> Vec<String> {
        match &wish.asks_nothing[..] {
            [] if states => Vec::new(),
            [] => NONSENSE.map(str::to_owned).to_vec(),
            given => given.to_vec(),
        }
    }

    /// Texts of what is not there; and whether that came as an empty list.
    async fn texts_of_nothing(&mut self, wish: &Wish, states: bool) -> (Vec<SeenText>, bool) {
        let mut is_listed = false;
        for question in self.unfindable(wish, states).iter().take(NONSENSE.len()) {
            let answer = self.ask(question).await;
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
                asked::put(&mut odd, pointer, json!({ "no": "question" }));
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

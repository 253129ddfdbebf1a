//! What somebody types into the fleet's search: words, and `key:value` for what a monitor is or has. All of them must fit.

use std::sync::Arc;

use crate::domain::reason::FailureReason;
use crate::domain::signal::{Phase, Signal};
use crate::live::glance::IncidentGlance;
use crate::live::standing::Standing;
use crate::web::pages::states::{STATES, has_state};

/// Words of one search; nobody types more.
const TERMS_MAX: usize = 16;

/// A search, as far as it was understood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Search {
    terms: Vec<Term>,
    /// What of it was understood, as it was typed.
    pub said: Vec<String>,
    /// What of it was not, in words; such a part narrows nothing.
    pub wrong: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    /// In id, name or address; in lower case.
    Word(String),
    Label(String, String),
    State(String),
    /// An open incident for this reason.
    Reason(FailureReason),
    /// This signal is not quiet.
    Signal(Signal),
    Is(Is),
}

/// What is so of a monitor, or of an incident of its.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Acknowledged,
    /// Open, and nobody is notified: silenced, in a window, explained by another.
    Quiet,
    Maintenance,
}

/// By the words of a search.
const IS: [(&str, Is); 3] =
    [("acknowledged", Is::Acknowledged), ("quiet", Is::Quiet), ("maintenance", Is::Maintenance)];

impl Search {
    /// Reads a search. `has_label` answers whether any monitor has a label of that name.
    pub(crate) fn parse(text: &str, has_label: impl Fn(&str) -> bool) -> Self {
        let mut search = Self::default();
        let mut parts = text.split_whitespace();
        for part in parts.by_ref().take(TERMS_MAX) {
            match term(part, &has_label) {
                Ok(term) => {
                    search.terms.push(term);
                    search.said.push(part.to_owned());
                }
                Err(wrong) => search.wrong.push(wrong),
            }
        }
        let beyond: Vec<_> = parts.collect();
        if !beyond.is_empty() {
            search.wrong.push(format!("{}: a search has {TERMS_MAX} words at most", beyond.join(" ")));
        }
        search
    }

    /// Whether a monitor is what was searched for.
    pub(crate) fn finds(&self, one: &Arc<dyn Standing>, in_maintenance: bool) -> bool {
        self.terms.iter().all(|term| term.fits(&**one, in_maintenance))
    }
}

impl Term {
    fn fits(&self, one: &dyn Standing, in_maintenance: bool) -> bool {
        match self {
            Self::Word(word) => {
                let has = |text: &str| text.to_lowercase().contains(word);
                let declared = one.declared();
                has(one.id().as_str()) || has(declared.name) || has(declared.url)
            }
            Self::Label(key, value) => {
                one.declared().labels.get(key).is_some_and(|own| own.eq_ignore_ascii_case(value))
            }
            Self::State(state) => has_state(one, in_maintenance, state),
            Self::Reason(reason) => has_incident(one, |incident| incident.reason == *reason),
            Self::Is(Is::Acknowledged) => has_incident(one, |incident| incident.is_taken),
            Self::Is(Is::Quiet) => has_incident(one, |incident| incident.is_quiet),
            Self::Is(Is::Maintenance) => in_maintenance,
            Self::Signal(signal) => {
                let mut loud = one.signals().into_iter().flatten().filter(|own| own.phase != Phase::Quiet);
                loud.any(|own| own.signal == *signal)
            }
        }
    }
}

/// Whether an open incident of a monitor is so.
fn has_incident(one: &dyn Standing, is_so: impl Fn(IncidentGlance<'_>) -> bool) -> bool {
    one.signals().into_iter().flatten().filter_map(|signal| signal.incident).any(is_so)
}

fn term(part: &str, has_label: &impl Fn(&str) -> bool) -> Result<Term, String> {
    // An address is a word, though it has a colon: so is anything whose key is no name.
    let Some((key, value)) = part.split_once(':').filter(|(key, value)| !key.is_empty() && !value.starts_with('/'))
    else {
        return Ok(Term::Word(part.to_lowercase()));
    };
    let word = value.to_lowercase();
    match key {
        "state" if STATES.contains(&&*word) => Ok(Term::State(word)),
        "state" => Err(format!("{part}: a state is one of {}", STATES.join(", "))),
        "reason" => FailureReason::from_slug(&word)
            .map(Term::Reason)
            .ok_or_else(|| format!("{part}: no such failure reason; the runbooks list them")),
        "signal" => Signal::from_slug(&word)
            .map(Term::Signal)
            .ok_or_else(|| format!("{part}: a signal is one of {}", Signal::ALL.map(Signal::slug).join(", "))),
        "is" => match IS.into_iter().find(|(known, _)| *known == word) {
            Some((_, is)) => Ok(Term::Is(is)),
            None => Err(format!("{part}: is: goes with one of {}", IS.map(|(known, _)| known).join(", "))),
        },
        key if has_label(key) => Ok(Term::Label(key.to_owned(), value.to_owned())),
        // Such as `host:8080`.
        _ if value.bytes().next().is_some_and(|first| first.is_ascii_digit()) => Ok(Term::Word(part.to_lowercase())),
        key => Err(format!("{part}: no monitor has a label '{key}'; the other keys are state, reason, signal and is")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_words_and_keys() {
        let label = |key: &str, value: &str| Term::Label(key.to_owned(), value.to_owned());
        let word = |word: &str| Term::Word(word.to_owned());
        let rows = [
            ("Legal  archive", vec![word("legal"), word("archive")], "several words, in lower case"),
            (
                "team:legal state:down",
                vec![label("team", "legal"), Term::State("down".to_owned())],
                "a label and a state",
            ),
            ("reason:pool_saturated", vec![Term::Reason(FailureReason::PoolSaturated)], "a reason"),
            ("signal:quality", vec![Term::Signal(Signal::Quality)], "a signal"),
            ("is:Acknowledged", vec![Term::Is(Is::Acknowledged)], "what somebody has"),
            ("https://docs.example.org", vec![word("https://docs.example.org")], "an address is a word"),
            ("127.0.0.1:8080", vec![word("127.0.0.1:8080")], "and so is a port"),
            ("", vec![], "nothing narrows nothing"),
        ];
        for (text, terms, sentence) in rows {
            let search = Search::parse(text, |key| key == "team");
            assert_eq!((search.terms, search.wrong), (terms, vec![]), "{sentence}");
        }
        for (text, said) in [
            ("state:dwn", "a state is one of down"),
            ("reason:bad", "no such failure reason"),
            ("signal:x", "a signal is one of availability"),
            ("is:down", "is: goes with one of acknowledged, quiet, maintenance"),
            ("taem:legal", "no monitor has a label 'taem'"),
        ] {
            let search = Search::parse(text, |key| key == "team");
            assert!(search.terms.is_empty() && search.wrong[0].contains(said), "{text}: {:?}", search.wrong);
            assert!(search.said.is_empty(), "nothing is matched by what was not understood");
        }
        let long = Search::parse(&format!("{}one more", "a ".repeat(TERMS_MAX)), |_| false);
        assert_eq!(long.terms.len(), TERMS_MAX);
        assert_eq!(long.wrong, ["one more: a search has 16 words at most"], "what is beyond is said");
    }
}

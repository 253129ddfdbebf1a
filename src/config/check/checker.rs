//! What every section's rules share: the faults found so far, the environment, and the look at a map's keys.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::config::check::golden::GoldenSets;
use crate::config::check::keys;
use crate::config::check::shape::ValueShape;
use crate::config::read::diagnostic::{Collector, Diagnostic, TextSpan, quoted};
use crate::config::read::node::{Child, MapEntry, Node, NodeValue};

/// Keys whose values are secrets.
const SECRET_WORDS: &[&str] = &["secret", "secrets", "password", "token", "bearer"];

/// How a variable that is not set is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unset {
    /// A warning; something harmless stands in, and the rest is checked. For `serin check` on a machine without the secrets.
    Warn,
    /// A fault. For `serin run` and `serin check --env`.
    Refuse,
}

/// Walks the tree, section by section, and collects what is wrong.
pub(in crate::config) struct Checker<'e> {
    pub found: Collector,
    env: &'e dyn Fn(&str) -> Option<String>,
    strictness: Unset,
    /// What was asked of which place; only written where somebody wants to know, see [`crate::config::describe::schema`].
    pub asked: Option<Vec<(TextSpan, ValueShape)>>,
    /// Where each file lies, by the number of its first byte.
    folders: Vec<(u32, PathBuf)>,
    /// The golden sets that files name.
    golden: GoldenSets<'e>,
}

/// A map whose keys are all known.
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct Fields<'n, 'a> {
    entries: &'n [MapEntry<'a>],
    /// What holds where they say nothing, the nearest first.
    beneath: [&'n [MapEntry<'a>]; 2],
    pub place: TextSpan,
}

impl<'n, 'a> Fields<'n, 'a> {
    /// What is written under a key.
    pub(in crate::config) fn get(&self, key: &str) -> Option<&'n MapEntry<'a>> {
        self.all(key).last()
    }

    /// The same, what is beneath first.
    pub(in crate::config) fn all(&self, key: &str) -> impl Iterator<Item = &'n MapEntry<'a>> {
        let [near, far] = self.beneath;
        [far, near, self.entries].into_iter().filter_map(move |entries| entries.iter().find(|entry| entry.key == key))
    }

    /// The same, over others that have nothing or one layer beneath them.
    pub(in crate::config) fn over(self, others: Self) -> Self {
        Self { beneath: [others.entries, others.beneath[0]], ..self }
    }

    /// Entries that nobody wrote.
    pub(in crate::config) fn stand_in(entries: &'n [MapEntry<'a>], place: TextSpan) -> Self {
        Self { entries, beneath: [&[], &[]], place }
    }
}

impl<'e> Checker<'e> {
    /// A checker that has found what `found` holds.
    pub(in crate::config) fn new(
        found: Collector,
        env: &'e dyn Fn(&str) -> Option<String>,
        strictness: Unset,
        folders: Vec<(u32, PathBuf)>,
    ) -> Self {
        Self { found, env, strictness, asked: None, folders, golden: GoldenSets::default() }
    }

    /// The same with the golden sets that were read.
    pub(in crate::config) fn with_golden(self, golden: GoldenSets<'e>) -> Self {
        Self { golden, ..self }
    }

    /// The golden set that is named at a place; else why there is none, and the mend.
    pub(in crate::config) fn golden(&self, place: TextSpan, name: &str) -> Result<Rc<[Node<'e>]>, (String, String)> {
        self.golden.named(self.file(place), name)
    }

    /// The number of the file that a place is in, from 0.
    fn file(&self, place: TextSpan) -> usize {
        self.folders.partition_point(|(start, _)| *start <= place.start).saturating_sub(1)
    }

    /// The folder of the file that a place is in; paths that stand there start in it.
    pub(in crate::config) fn folder(&self, place: TextSpan) -> &Path {
        self.folders.get(self.file(place)).map_or(Path::new(""), |(_, folder)| folder)
    }

    /// Notes what a place may hold, where somebody wants to know; every reader does so before it looks.
    pub(in crate::config) fn ask(&mut self, place: TextSpan, shape: impl FnOnce() -> ValueShape) {
        if let Some(asked) = &mut self.asked {
            asked.push((place, shape()));
        }
    }

    /// Says what is wrong; checking goes on, so that everything is said at once.
    pub(in crate::config) fn report(&mut self, diagnostic: Diagnostic) {
        self.found.add(diagnostic);
    }

    /// A variable's value; an empty one counts as unset.
    pub(in crate::config) fn variable(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.is_empty())
    }

    /// Says that something outside the file is not there, as loudly as this run wants it.
    pub(in crate::config) fn missing_outside(&mut self, place: TextSpan, message: String, mend: String) {
        let diagnostic = match self.strictness {
            Unset::Warn => Diagnostic::warning(place, message),
            Unset::Refuse => Diagnostic::new(place, message),
        };
        self.found.add(diagnostic.help(mend));
    }

    /// A map with nothing in it but the keys of its section ([`keys`]). None where it is no map at all.
    ///
    /// `what` names the map, such as `monitor 'docs'`.
    pub(in crate::config) fn fields<'n, 'a>(
        &mut self,
        what: impl Display + Copy,
        node: &'n Node<'a>,
        section: &str,
    ) -> Option<Fields<'n, 'a>> {
        self.fields_and(what, node, section, &[])
    }

    /// The same, where the map may hold `more` besides.
    pub(in crate::config) fn fields_and<'n, 'a>(
        &mut self,
        what: impl Display + Copy,
        node: &'n Node<'a>,
        section: &str,
        more: &[&str],
    ) -> Option<Fields<'n, 'a>> {
        let known: Vec<&str> = keys::known(section).iter().chain(more).copied().collect();
        self.fields_among(what, node, section, &known)
    }

    /// A map of which only these keys are known.
    pub(in crate::config) fn fields_among<'n, 'a>(
        &mut self,
        what: impl Display + Copy,
        node: &'n Node<'a>,
        section: &str,
        known: &[&str],
    ) -> Option<Fields<'n, 'a>> {
        let known = || known.iter().copied();
        self.ask(node.place, || ValueShape::keys(known()));
        let entries = self.map(what, node)?;
        for entry in entries.iter().filter(|entry| !known().any(|key| key == entry.key)) {
            if similar(&entry.key, SECRET_WORDS.iter().copied()).is_some()
                && matches!(entry.value.value, NodeValue::Scalar { .. })
            {
                // A secret under a misspelled key is one all the same.
                self.found.redactions.push(entry.value.place.start as usize..entry.value.place.end as usize);
            }
            let key = quoted(&entry.key);
            let diagnostic = if keys::is_promised(section, &entry.key) {
                let message = format!("this version cannot honour {key} of {what} yet");
                Diagnostic::new(entry.place, message).help("leave it out, so that nobody relies on it")
            } else {
                let message = format!("{what} has no key {key}");
                let mend = match similar(&entry.key, known()) {
                    Some(word) => format!("did you mean '{word}'?"),
                    None => keys::meant(section, &entry.key)
                        .unwrap_or_else(|| format!("known here: {}", known().collect::<Vec<_>>().join(", "))),
                };
                Diagnostic::new(entry.place, message).help(mend)
            };
            self.report(diagnostic);
        }
        Some(Fields { entries, beneath: [&[], &[]], place: node.place })
    }

    /// What to call a map that has an id, such as `monitor 'docs'`, before anything in it was looked at.
    pub(in crate::config) fn named(kind: &str, node: &Node<'_>) -> String {
        let NodeValue::Map(entries) = &node.value else { return format!("a {kind}") };
        match entries.iter().find(|entry| entry.key == "id").map(|entry| &entry.value.value) {
            Some(NodeValue::Scalar { text, .. }) if !text.is_empty() => format!("{kind} {}", quoted(text)),
            _ => format!("a {kind}"),
        }
    }

    /// The keys and values of a map that names its keys itself.
    pub(in crate::config) fn map<'n, 'a>(
        &mut self,
        what: impl Display + Copy,
        node: &'n Node<'a>,
    ) -> Option<&'n [MapEntry<'a>]> {
        self.ask(node.place, || ValueShape::Names);
        match &node.value {
            NodeValue::Map(entries) => Some(entries),
            _ => {
                self.wrong_shape(what, node, "keys with values");
                None
            }
        }
    }

    pub(in crate::config) fn list<'n, 'a>(
        &mut self,
        what: impl Display + Copy,
        node: &'n Node<'a>,
    ) -> Option<&'n [Child<'a>]> {
        self.ask(node.place, || ValueShape::List);
        match &node.value {
            NodeValue::List(items) => Some(items),
            NodeValue::Scalar { .. } if !node.is_null() => {
                let message = format!("{what} takes a list, and this is a single value");
                self.report(Diagnostic::new(node.place, message).help("put it into brackets: `[…]`"));
                None
            }
            NodeValue::Map(entries) => {
                let message = format!("{what} takes a list, and this is a map");
                let first = entries.first().map_or("id", |entry| &*entry.key);
                let mend = format!("begin each item with a dash: `- {first}: …`");
                self.report(Diagnostic::new(node.place, message).help(mend));
                None
            }
            _ => {
                self.wrong_shape(what, node, "a list");
                None
            }
        }
    }

    /// Says that a value has another shape than it should.
    pub(in crate::config) fn wrong_shape(&mut self, what: impl Display + Copy, node: &Node<'_>, wanted: &str) {
        let (message, mend) = if node.is_null() {
            (format!("{what} has no value"), format!("give it {wanted}, or leave it out"))
        } else {
            let seen = match node.value {
                NodeValue::Scalar { .. } => "a single value",
                NodeValue::List(_) => "a list",
                NodeValue::Map(_) => "a map",
            };
            (format!("{what} takes {wanted}, and this is {seen}"), format!("give it {wanted}"))
        };
        self.report(Diagnostic::new(node.place, message).help(mend));
    }

    /// Says that a key is missing; the place is the map it belongs into.
    pub(in crate::config) fn missing(&mut self, what: impl Display + Copy, place: TextSpan, key: &str, mend: &str) {
        self.ask(place, || ValueShape::Missing(key.to_owned()));
        self.report(Diagnostic::new(place, format!("{what} has no '{key}'")).help(mend));
    }
}

/// The word that was probably meant: at most a third of its letters away, and the nearest of all.
pub fn similar<'w>(written: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    const WORD_CHARS_MAX: usize = 64;
    if written.chars().nth(WORD_CHARS_MAX).is_some() {
        return None;
    }
    let limit = (written.chars().count() / 3).max(1);
    known
        .filter(|word| word.len().abs_diff(written.len()) <= limit)
        .map(|word| (strsim::damerau_levenshtein(written, word), word))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, word)| word)
}

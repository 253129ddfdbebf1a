//! The golden sets that files name for their canaries, each taken apart once, whoever names it.

use std::collections::HashMap;
use std::rc::Rc;

use crate::config::read::diagnostic::{Collector, Text};
use crate::config::read::include::{GOLDEN_ENDING, GoldenName};
use crate::config::read::json_lines;
use crate::config::read::node::Node;
use crate::config::read::source::ConfigSource;

/// The number of a golden set among all files; else why it was not read, and the mend.
type Found = Result<usize, (String, String)>;

/// The golden sets of all files.
#[derive(Debug, Default)]
pub(in crate::config) struct GoldenSets<'a> {
    /// What each file names.
    names: HashMap<usize, HashMap<String, Found>>,
    /// Their lines, by the number of the file.
    lines: HashMap<usize, Rc<[Node<'a>]>>,
}

impl<'a> GoldenSets<'a> {
    /// Takes the golden sets of a source apart; `first` is the number of the first of their texts among all files.
    pub(in crate::config) fn read(
        source: &ConfigSource,
        texts: &[Text<'a>],
        first: usize,
        found: &mut Collector,
    ) -> Self {
        let lines = texts.iter().enumerate().map(|(nth, text)| (first + nth, json_lines::parse(*text, found).into()));
        let mut sets = Self { names: HashMap::new(), lines: lines.collect() };
        for GoldenName { by, name, found } in &source.golden {
            sets.names.entry(*by).or_default().insert(name.clone(), found.clone());
        }
        sets
    }

    /// The canaries, a node each, that a file names so; else why there are none, and the mend.
    pub(in crate::config) fn named(&self, by: usize, name: &str) -> Result<Rc<[Node<'a>]>, (String, String)> {
        if !name.ends_with(GOLDEN_ENDING) {
            let message = format!("a golden set is a file of JSON lines, and its name ends with {GOLDEN_ENDING}");
            return Err((message, "one canary a line: {\"id\": …, \"query\": …, \"expect\": […]}".to_owned()));
        }
        let unread = || ("the golden set was not read".to_owned(), "write its name as one plain text".to_owned());
        let found = self.names.get(&by).and_then(|names| names.get(name)).ok_or_else(unread)?;
        self.lines.get(&found.clone()?).cloned().ok_or_else(unread)
    }
}

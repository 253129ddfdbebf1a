//! `serin.log`, and the same in one line in the variable `SERIN_LOG`: what is logged, and in which shape.

use tracing::level_filters::LevelFilter;

use crate::config::check::checker::{Checker, similar};
use crate::config::read::diagnostic::{Diagnostic, quoted};
use crate::config::read::node::MapEntry;

/// The rooms of the house, by which levels are told apart; `rag` is the reference server, a package of its own.
/// The words stay though rooms come and go: `targets` says which each means.
pub const MODULES: &[&str] =
    &["app", "cli", "config", "daemon", "deliver", "domain", "net", "probe", "rag", "store", "web"];
const LEVELS: &[(&str, LevelFilter)] = &[
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// The shape of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// One line an event, for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What the file says of logging; where it says nothing, the process decides, so nothing is filled in here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// The level; none: `info`.
    pub level: Option<LevelFilter>,
    /// The shape; none: text.
    pub format: Option<Format>,
    /// Modules out of [`MODULES`] with a level of their own.
    pub modules: Vec<(&'static str, LevelFilter)>,
}

impl Log {
    /// The directives of tracing's filter. Of the libraries only warnings: what they log further down is not ours to
    /// keep free of secrets.
    pub fn directives(&self) -> String {
        let own = env!("CARGO_PKG_NAME");
        let mut all = format!("warn,{own}={}", self.level.unwrap_or(LevelFilter::INFO));
        for (module, level) in &self.modules {
            for target in targets(module) {
                all.push_str(&format!(",{own}{target}={level}"));
            }
        }
        all
    }

    /// Reads `LEVEL,MODULE=LEVEL,…`, such as `info,probe=debug`.
    ///
    /// # Errors
    /// One sentence with what may stand there, for whoever wrote the line.
    pub fn from_line(line: &str) -> Result<Self, String> {
        let mut log = Self::default();
        for part in line.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, word) =
                part.split_once('=').map_or((None, part), |(name, word)| (Some(name.trim()), word.trim()));
            let Some((_, level)) = LEVELS.iter().find(|(known, _)| *known == word) else {
                return Err(format!("{} is no level: off, error, warn, info, debug or trace", quoted(word)));
            };
            match name {
                None if log.level.is_none() => log.level = Some(*level),
                None => return Err(format!("{} is a second level for everything; keep one", quoted(word))),
                Some(name) => log.modules.push((module(name)?, *level)),
            }
        }
        Ok(log)
    }
}

/// What stands behind our own name in the targets that a module's lines have.
fn targets(module: &str) -> Vec<String> {
    match module {
        "rag" => vec!["_reference".to_owned()],
        "probe" => vec!["::probe".to_owned(), "::tool_lists".to_owned(), "::untrusted_text".to_owned()],
        "store" => vec!["::store".to_owned(), "::live".to_owned()],
        "daemon" => vec!["::daemon".to_owned(), "::hindsight".to_owned()],
        room => vec![format!("::{room}")],
    }
}

fn module(name: &str) -> Result<&'static str, String> {
    let known = MODULES.iter().find(|known| **known == name);
    known.copied().ok_or_else(|| match similar(name, MODULES.iter().copied()) {
        Some(word) => format!("there is no module {}; did you mean '{word}'?", quoted(name)),
        None => format!("there is no module {}: {}", quoted(name), MODULES.join(", ")),
    })
}

/// Reads `log: { level, format, modules: { probe: debug } }`.
pub(in crate::config) fn log(checker: &mut Checker<'_>, entry: &MapEntry<'_>) -> Log {
    let Some(fields) = checker.fields("'log'", &entry.value, "serin.log") else {
        return Log::default();
    };
    let level = fields.get("level").and_then(|entry| checker.choice("'level'", &entry.value, LEVELS));
    let formats = &[("text", Format::Text), ("json", Format::Json)];
    let format = fields.get("format").and_then(|entry| checker.choice("'format'", &entry.value, formats));
    let mut modules = Vec::new();
    let entries = fields.get("modules").and_then(|entry| checker.map("'modules'", &entry.value)).unwrap_or_default();
    for entry in entries {
        match module(&entry.key) {
            Ok(name) => {
                let level = checker.choice(&format!("the level of '{name}'"), &entry.value, LEVELS);
                modules.extend(level.map(|level| (name, level)));
            }
            Err(mend) => {
                let message = format!("'modules' of log knows no {}", quoted(&entry.key));
                checker.report(Diagnostic::new(entry.place, message).help(mend));
            }
        }
    }
    Log { level, format, modules }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_line_says_what_is_logged() {
        let rows = [
            ("", Ok("warn,@=info"), "nothing said"),
            ("debug", Ok("warn,@=debug"), "a level"),
            (" warn , web = trace,net=off", Ok("warn,@=warn,@::web=trace,@::net=off"), "modules"),
            ("store=off", Ok("warn,@=info,@::store=off,@::live=off"), "a module of two rooms"),
            ("warn,rag=debug", Ok("warn,@=warn,@_reference=debug"), "the reference server is a package of its own"),
            ("loud", Err("'loud' is no level"), "no level"),
            ("info,debug", Err("a second level"), "two levels"),
            ("info,prob=debug", Err("did you mean 'probe'"), "a typo"),
            ("hyper=trace", Err("no module 'hyper'"), "a library"),
        ];
        for (line, expected, sentence) in rows {
            match (Log::from_line(line), expected) {
                (Ok(log), Ok(directives)) => {
                    assert_eq!(log.directives().replace("serin", "@"), directives, "{sentence}")
                }
                (Err(mend), Err(words)) => assert!(mend.contains(words), "{sentence}: {mend}"),
                (found, _) => panic!("{sentence}: {found:?}"),
            }
        }
    }

    #[test]
    fn modules_are_the_rooms_there_are() {
        let entries = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap();
        let names =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().trim_end_matches(".rs").to_owned());
        let rooms: BTreeSet<String> = names
            .filter(|name| !matches!(&**name, "lib" | "main" | "runbooks"))
            .map(|room| format!("::{room}"))
            .chain(["_reference".to_owned()])
            .collect();
        assert_eq!(MODULES.iter().copied().flat_map(targets).collect::<BTreeSet<_>>(), rooms);
    }
}

//! From a file, with all that it includes and the locks beside them, to what it declares, or to everything that is wrong with it.

use std::path::Path;

use crate::config::check::checker::{Checker, Unset};
use crate::config::check::document;
use crate::config::check::golden::GoldenSets;
use crate::config::check::pinned::{self, LockRead};
use crate::config::check::process::ProcessSettings;
use crate::config::check::users::UsersRead;
use crate::config::read::diagnostic::{Collector, Diagnostic, Diagnostics, Text, TextSpan, quoted};
use crate::config::read::discovered::UNREAD;
use crate::config::read::include;
use crate::config::read::lock_files::LockFile;
use crate::config::read::node::{NodeValue, Tree};
use crate::config::read::source::ConfigSource;
use crate::config::read::tree::{self, Budget};
use crate::domain::fleet::{Fleet, IncludedFile, Provenance};
use crate::domain::fleet_files::FleetFileKind;

/// A file that was found valid.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What the process itself needs.
    pub settings: ProcessSettings,
    /// Monitors, receivers and routes, with the file, hash and commit they are from.
    pub fleet: Fleet,
    /// What is better mended and stops nothing, each rendered with its place.
    pub warnings: Vec<String>,
    /// The sources whose kept list was read; what others list is not known, and not gone.
    pub lists: Vec<String>,
}

/// Checks a file, with those it includes and their locks, and gives what they declare, or everything that is wrong with them.
///
/// `env` looks a variable up; tests and the demo give their own. Reads the files that `${file:…}`
/// names, so it blocks.
pub fn load(
    source: &ConfigSource,
    env: &dyn Fn(&str) -> Option<String>,
    strictness: Unset,
) -> Result<Loaded, Diagnostics> {
    let mut found = Collector::default();
    let declaring = 1 + source.included.len();
    let locks = || source.locks.iter();
    let bytes = || {
        let first = std::iter::once(&source.bytes).chain(source.included.iter().map(|file| &file.bytes));
        first.chain(locks().map(|lock| &lock.bytes)).chain(source.users.iter().map(|users| &users.bytes))
    };
    let lossy: Vec<_> = bytes().map(|bytes| include::text(bytes)).collect();
    let names = std::iter::once(&source.name).chain(source.included.iter().map(|file| &file.name));
    let names = names.chain(locks().map(|lock| &lock.name)).chain(source.users.iter().map(|users| &users.name));
    let mut texts: Vec<Text<'_>> = Vec::with_capacity(lossy.len());
    for (name, text) in names.zip(&lossy) {
        let next = texts.last().map_or_else(|| Text::first(name, text), |before| before.followed_by(name, text));
        texts.push(next);
    }
    let kinds = std::iter::once(FleetFileKind::Yaml).chain(source.included.iter().map(|file| file.kind));
    let is_list: Vec<bool> = kinds.map(|kind| kind == FleetFileKind::Discovered).collect();
    for (nth, (bytes, text)) in bytes().zip(&texts).enumerate() {
        if is_list.get(nth) == Some(&true) {
            continue;
        }
        if let Err(error) = std::str::from_utf8(bytes) {
            let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            let at = text.start.saturating_add(u32::try_from(error.valid_up_to()).unwrap_or(u32::MAX));
            let line = text.line.saturating_add(u32::try_from(line).unwrap_or(u32::MAX));
            let diagnostic = Diagnostic::new(TextSpan { start: at, end: at, line }, "this is not UTF-8 text");
            found.add(diagnostic.help("save the file as UTF-8"));
        }
    }
    let (yaml, golden) = texts[..declaring]
        .split_at(1 + source.included.iter().filter(|file| file.kind != FleetFileKind::Golden).count());
    let mut trees = Vec::with_capacity(yaml.len());
    let mut lists = Vec::new();
    if found.errors() == 0 {
        let mut budget = Budget::default();
        for (nth, text) in yaml.iter().enumerate() {
            if !is_list[nth] {
                trees.extend(tree::parse(*text, &mut budget, &mut found));
                continue;
            }
            let (tree, is_read) = kept_list(*text, &mut found);
            trees.extend(tree);
            let path = &source.included[nth - 1].path;
            lists.extend(path.file_stem().filter(|_| is_read).map(|id| id.to_string_lossy().into_owned()));
        }
    }
    if trees.len() < yaml.len() {
        return Err(found.finish(&texts, true));
    }
    let golden = GoldenSets::read(source, golden, yaml.len(), &mut found);
    let locks = locks_read(&texts[declaring..], source, &mut found);
    let users_text = texts.last().copied().filter(|_| source.users.is_some());
    let users_tree = users_text.filter(|text| !text.text.trim().is_empty());
    let users_tree = users_tree.and_then(|text| tree::parse(text, &mut Budget::default(), &mut found));
    let users = source.users.as_ref().zip(users_text);
    let users = users.map(|(file, text)| UsersRead { file, text, tree: users_tree.as_ref() });
    let folder = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
    let paths = std::iter::once(&source.path).chain(source.included.iter().map(|file| &file.path));
    let folders = texts.iter().zip(paths).map(|(text, path)| (text.start, folder(path))).collect();
    let mut checker = Checker::new(found, env, strictness, folders).with_golden(golden);
    let mut parts = document::document(&mut checker, &trees, source, users);
    if let Some((_, fleet)) = &mut parts {
        let file_of = |line| yaml.partition_point(|text| text.line <= line).saturating_sub(1);
        pinned::attach(&mut checker, &locks, &mut fleet.monitors, file_of);
    }
    let refused = checker.found.errors() > 0;
    // Where the file of users has no structure, nobody knows which of its words are secrets.
    let users_are_broken = users_text.is_some() && users_tree.is_none();
    let diagnostics = checker.found.finish(&texts, users_are_broken);
    match parts {
        Some((settings, mut fleet)) if !refused => {
            fleet.provenance = provenance(source, &texts[..declaring]);
            Ok(Loaded { settings, fleet, warnings: diagnostics.warnings, lists })
        }
        _ => Err(diagnostics),
    }
}

/// The kept list of a source, which is Serin's own to write: what became of it is no fault of what people wrote. One that cannot
/// be read counts as none, and whether it could.
fn kept_list<'a>(text: Text<'a>, found: &mut Collector) -> (Option<Tree<'a>>, bool) {
    let mark = found.mark();
    let tree = tree::parse(text, &mut Budget::default(), found);
    let broken = found.take_back(mark);
    let is_list = |tree: &Tree<'_>| match &tree.root.value {
        NodeValue::Map(entries) => {
            entries.len() == 1
                && entries
                    .iter()
                    .all(|entry| entry.key == "monitors" && matches!(entry.value.value, NodeValue::List(_)))
        }
        _ => false,
    };
    if let Some(tree) = tree.filter(|tree| broken.is_none() && is_list(tree)) {
        return (Some(tree), true);
    }
    let said = text.text.strip_prefix(UNREAD).map(str::trim_end);
    let why = said.or(broken.as_deref()).unwrap_or("it holds no list of `monitors`, and nothing else");
    let message = format!("the kept list {} cannot be read: {why}", quoted(text.name));
    let help = "what was in force of it counts on, and Serin writes it again; its source is asked as ever";
    found.add(Diagnostic::warning(text.top(), message).help(help));
    (tree::parse(Text { text: NO_LIST, ..text }, &mut Budget::default(), found), false)
}

/// A list of none.
const NO_LIST: &str = "monitors: []";

/// The locks as trees; an empty file is a lock in which nothing is pinned.
fn locks_read<'r, 'a>(texts: &[Text<'a>], source: &'r ConfigSource, found: &mut Collector) -> Vec<LockRead<'r, 'a>> {
    let mut budget = Budget::default();
    let read = |(file, text): (&'r LockFile, &Text<'a>)| {
        let is_empty = text.text.trim().is_empty();
        let tree = if is_empty { None } else { tree::parse(*text, &mut budget, found) };
        LockRead { text: *text, tree, file }
    };
    source.locks.iter().zip(texts).map(read).collect()
}

/// Checks as [`load`] does, and copies what it found into fresh memory: what reading a large file leaves behind is given
/// back, where it would stay between what is kept.
///
/// Reading has a thread of its own, and so has copying: threads share no pages while both live, and with the end of the
/// first all of its pages are empty.
pub fn load_afresh(
    source: &ConfigSource,
    env: &(dyn Fn(&str) -> Option<String> + Sync),
    strictness: Unset,
) -> Result<Loaded, Diagnostics> {
    apart(|| {
        let loaded = load(source, env, strictness)?;
        Ok(Loaded { fleet: apart(|| loaded.fleet.afresh()), ..loaded })
    })
}

/// Runs something on a thread of its own.
fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let done = std::thread::scope(|scope| scope.spawn(work).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn provenance(source: &ConfigSource, texts: &[Text<'_>]) -> Provenance {
    let included = texts.iter().skip(1).map(|text| IncludedFile { file: text.name.to_owned(), first_line: text.line });
    Provenance {
        file: source.name.clone(),
        included: included.collect(),
        hash: source.hash.clone(),
        declared: source.declared.clone(),
        commit: source.commit.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_fleet_is_the_same_and_shares_nothing_with_what_was_read() {
        let text = "version: 1\nserin: { probe_identity: { key: k, secret: \"${env:S}\" } }\n\
             receivers: { hook: { webhook: { url: \"https://h.example.org/${env:S}\", secrets: [\"${env:S}\"] } } }\n\
             routes: [{ to: [hook] }]\nmonitors:\n\
             - { id: a, url: \"https://a.example.org/\", auth: { bearer: \"${env:S}\" }, proxy: \"http://p.example.org:1\",\n\
             health: [{ url: \"https://a.example.org/h\" }], canaries: [{ id: c, query: q, expect: [d.md] }] }\n\
             - { id: b, url: \"https://b.example.org/\", auth: { headers: { X-Key: \"${env:S}\" } } }\n\
             - { id: p, transport: stdio, command: server, args: [\"${env:S}\"], env: { KEY: \"${env:S}\" } }\n";
        let source = ConfigSource::new(Path::new("monitors.yaml"), text.as_bytes().to_vec(), None);
        let env = |_: &str| Some("a-secret-of-some-length-000000000000".to_owned());
        let read = load(&source, &env, Unset::Refuse).unwrap().fleet;
        let copy = load_afresh(&source, &env, Unset::Refuse).unwrap().fleet;
        assert_eq!(read, copy, "nothing is lost");
        let copied = read.afresh();
        let ids = |fleet: &Fleet| fleet.monitors.iter().map(|one| one.id.as_str().as_ptr()).collect::<Vec<_>>();
        assert!(ids(&read).iter().zip(ids(&copied)).all(|(before, now)| *before != now), "ids are copied");
        let urls = |fleet: &Fleet| fleet.monitors[0].url.resolved.expose().as_ptr();
        assert_ne!(urls(&read), urls(&copied), "and addresses");
        let bearer = copied.monitors[0].auth.bearer.as_ref().map(|secret| secret.expose().as_ptr());
        let header = copied.monitors[1].auth.headers.first().map(|(_, secret)| secret.expose().as_ptr());
        assert_eq!(bearer, header, "a secret of several monitors is there once");
    }
}

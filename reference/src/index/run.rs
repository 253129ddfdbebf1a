//! One run of the indexer: what is new or changed comes in, what is gone goes out, the rest is left
//! alone.
//!
//! Each source is one transaction, so a run that is killed leaves whole sources, and the next run
//! goes on where it was: what is there already is recognised by its content and not done again.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use chrono::{DateTime, Utc};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::{Deserialize, Serialize};

use crate::chunk::Method;
use crate::extract::kind::Kind;
use crate::extract::thread;
use crate::index::document::Document;
use crate::index::later::{self, PENDING};
use crate::index::library::{DOCUMENT_CHARS_MAX, Library, LibraryError};
use crate::index::walk::{File, Selection, Skipped, Walked, is_text};
use crate::store::contract::Patience;
use crate::store::records::{Origin, StoredSource, Volatility};

/// The fact that a run is under way: what a killed run leaves behind.
const RUNNING: &str = "run";
/// The fact of how the last whole run ended.
const LAST: &str = "last_run";

/// Letters of a book: what is read of a PDF has no more (`extract::limits`). It is cut as a shorter document is, and is some
/// 9,500 chunks. Who sends a document to a tool waits for it, and may send less.
const BOOK_CHARS_MAX: usize = 4_000_000;

/// Documents too long that a report names without being asked; it is kept in the store.
const TOO_LONG_NAMED: usize = 20;

/// What is indexed, as what, and how much of it.
#[derive(Debug, Clone)]
pub struct IndexPlan {
    /// Which files.
    pub selection: Selection,
    /// What is known of a file by its path; the first that fits counts.
    pub rules: Vec<Rule>,
    /// Limits.
    pub budgets: Budgets,
}

/// What is known of the files of a pattern.
#[derive(Debug, Clone)]
pub struct Rule {
    pattern: Gitignore,
    /// Their kind.
    pub source_type: String,
    /// Their collection.
    pub collection: String,
    /// Their tags.
    pub tags: Vec<String>,
    /// How soon they are expected to change.
    pub volatility: Volatility,
}

impl Rule {
    /// A rule for a pattern as git writes them.
    ///
    /// # Errors
    /// The pattern cannot be read.
    pub fn new(
        pattern: &str,
        source_type: String,
        collection: String,
        tags: Vec<String>,
        volatility: Volatility,
    ) -> Result<Self, String> {
        let mut builder = GitignoreBuilder::new("");
        let wrong = |error: ignore::Error| format!("the pattern '{pattern}': {error}");
        builder.add_line(None, pattern).map_err(wrong)?;
        Ok(Self { pattern: builder.build().map_err(wrong)?, source_type, collection, tags, volatility })
    }

    fn fits(&self, source: &str) -> bool {
        self.pattern.matched_path_or_any_parents(source, false).is_ignore()
    }
}

/// Limits of a run; what is over them is skipped and said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// Files.
    pub files: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Tokens of all chunks.
    pub tokens: usize,
}

/// Told how a run goes on.
pub trait Progress: Send {
    /// So many files of so many are done; this one is next.
    fn at(&mut self, done: usize, of: usize, source: &str);
}

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IndexReport {
    /// Files looked at.
    pub scanned: usize,
    /// Sources that are new or changed.
    pub indexed: usize,
    /// Sources left alone.
    pub unchanged: usize,
    /// Sources taken away because their file is gone, or has grown too long.
    pub removed: usize,
    /// Files not indexed, counted by reason.
    pub skipped: BTreeMap<String, usize>,
    /// The first of those that are too long, each with its length, the limit and the mend.
    #[serde(default)]
    pub too_long: Vec<(String, String)>,
    /// Chunks of what was indexed now.
    pub chunks: usize,
    /// Tokens of those.
    pub tokens: usize,
    /// Secrets taken out of them.
    pub redacted: usize,
    /// Whether an earlier run was broken off and this one went on.
    pub resumed: bool,
    /// Whether a budget ended it before everything was in.
    pub over_budget: bool,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
    /// The files that were not indexed, each with its reason; not kept in the store.
    #[serde(skip)]
    pub skipped_files: Vec<(String, String)>,
}

/// Runs.
///
/// # Errors
/// The walk's in words, or the library's. What was indexed before that stays.
pub async fn run(
    library: &Library,
    plan: &IndexPlan,
    full_rebuild: bool,
    progress: &mut dyn Progress,
) -> Result<IndexReport, RunError> {
    let started = std::time::Instant::now();
    let Walked { files, skipped } = plan.selection.walk().map_err(RunError::Walk)?;
    let mut report = IndexReport { scanned: files.len() + skipped.len(), ..IndexReport::default() };
    skipped.into_iter().for_each(|skipped| report.skip(skipped));
    let store = library.store();
    let mut known: HashMap<String, StoredSource> = {
        let mut held = store.connect(Patience::Writer).await?;
        report.resumed = held.fact(RUNNING).await?.is_some();
        held.sources().await?.into_iter().map(|source| (source.source.clone(), source)).collect()
    };
    store.set_fact(RUNNING, Some(&Utc::now().to_rfc3339())).await?;
    if full_rebuild {
        library.rebuild().await?;
        known.clear();
    }
    let mut spent = BudgetSpent::default();
    for (done, file) in files.iter().enumerate() {
        progress.at(done, files.len(), &file.source);
        let before = known.remove(&file.source);
        if let Some(over) = spent.over(&plan.budgets, file) {
            report.over_budget = true;
            report.skip(Skipped { source: file.source.clone(), why: over.to_owned() });
            continue;
        }
        index_file(library, plan, file, before.as_ref(), &mut spent, &mut report).await?;
    }
    for (source, _) in known.into_iter().filter(|(_, source)| source.origin == Origin::Indexer) {
        report.removed += usize::from(store.remove(&source).await?);
    }
    bring_vectors(library, progress).await?;
    report.took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    report.ended_at = Utc::now();
    store.set_fact(LAST, Some(&serde_json::to_string(&report).unwrap_or_default())).await?;
    store.set_fact(RUNNING, None).await?;
    Ok(report)
}

/// Gives sources their vectors that were put without, in this run or in one that was broken off.
async fn bring_vectors(library: &Library, progress: &mut dyn Progress) -> Result<(), RunError> {
    let store = library.store();
    if store.connect(Patience::Writer).await?.fact(PENDING).await?.is_some() {
        library
            .recut(Utc::now(), &mut |done, of, source| progress.at(done, of, &format!("vectors of {source}")))
            .await?;
        store.set_fact(PENDING, None).await?;
    }
    Ok(())
}

/// How the last whole run ended, and whether one was broken off since.
///
/// # Errors
/// The store's.
pub async fn last(library: &Library) -> Result<(Option<IndexReport>, bool), RunError> {
    let mut held = library.store().connect(Patience::Writer).await?;
    let report = held.fact(LAST).await?.and_then(|report| serde_json::from_str(&report).ok());
    Ok((report, held.fact(RUNNING).await?.is_some()))
}

async fn index_file(
    library: &Library,
    plan: &IndexPlan,
    file: &File,
    before: Option<&StoredSource>,
    spent: &mut BudgetSpent,
    report: &mut IndexReport,
) -> Result<(), RunError> {
    let bytes = match std::fs::read(&file.path) {
        Ok(bytes) => bytes,
        Err(error) => {
            // A file that cannot be read is not a file that is gone: what was indexed of it stays.
            report.skip(Skipped { source: file.source.clone(), why: format!("cannot be read: {}", error.kind()) });
            return Ok(());
        }
    };
    spent.files += 1;
    spent.bytes += file.bytes;
    let Some((kind, text)) = text(file, bytes, report).await else { return Ok(()) };
    let (letters, letters_max) = (text.chars().count(), chars_max(kind, &file.source));
    if letters > letters_max {
        report.skip_long(&file.source, letters, letters_max);
        // As with a file larger than `file_bytes`: what it said when it was shorter is no answer.
        let is_ours = before.is_some_and(|before| before.origin == Origin::Indexer);
        report.removed += usize::from(is_ours && library.store().remove(&file.source).await?);
        return Ok(());
    }
    let rule = plan.rules.iter().find(|rule| rule.fits(&file.source));
    let document = Document {
        source_type: rule.map_or(kind.source_type().unwrap_or("file"), |rule| &rule.source_type),
        collection: rule.map_or("", |rule| &rule.collection),
        tags: rule.map_or(&[], |rule| &rule.tags),
        volatility: rule.map_or(Volatility::Normal, |rule| rule.volatility),
        dated: dated(&text),
        origin: Origin::Indexer,
        ..Document::plain(&file.source, "", &text)
    };
    if before.is_some_and(|before| library.has(before, &document)) {
        report.unchanged += 1;
        return Ok(());
    }
    let indexed = later::words_first(library.put(&document, Utc::now())).await?;
    spent.tokens += indexed.tokens;
    report.chunks += indexed.chunks;
    report.tokens += indexed.tokens;
    report.redacted += indexed.redacted;
    if indexed.unchanged {
        report.unchanged += 1
    } else {
        report.indexed += 1
    }
    Ok(())
}

/// Letters that a file may have. Code that is longer was written by a program, and so were data.
fn chars_max(kind: Kind, source: &str) -> usize {
    let is_code = kind == Kind::Text && Method::of(source) == Method::Code;
    if is_code { DOCUMENT_CHARS_MAX } else { BOOK_CHARS_MAX }
}

/// What a file is, and its text; `None` where it was skipped. What was indexed of it before stays then.
async fn text(file: &File, bytes: Vec<u8>, report: &mut IndexReport) -> Option<(Kind, String)> {
    let kind = Kind::of(&file.source, None, &bytes);
    let read = if kind == Kind::Text && !is_text(&bytes) {
        Err("not a text".to_owned())
    } else {
        thread::text(kind, bytes).await.map_err(|refusal| refusal.to_string())
    };
    let skipped = |why| report.skip(Skipped { source: file.source.clone(), why });
    read.map_err(skipped).ok().map(|text| (kind, text))
}

/// The day a text says it is of: `date: 2026-11-21` in the lines at its head.
fn dated(text: &str) -> Option<chrono::NaiveDate> {
    text.lines().take(20).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        let is_date = matches!(key.trim().to_lowercase().as_str(), "date" | "updated" | "valid from" | "last updated");
        is_date.then(|| value.trim().trim_matches(['"', '\'']).get(..10)?.parse().ok()).flatten()
    })
}

#[derive(Debug, Default)]
struct BudgetSpent {
    files: usize,
    bytes: u64,
    tokens: usize,
}

impl BudgetSpent {
    fn over(&self, budgets: &Budgets, next: &File) -> Option<&'static str> {
        if self.files >= budgets.files {
            Some("over the budget of files")
        } else if self.bytes + next.bytes > budgets.bytes {
            Some("over the budget of bytes")
        } else if self.tokens >= budgets.tokens {
            Some("over the budget of tokens")
        } else {
            None
        }
    }
}

impl IndexReport {
    fn skip(&mut self, skipped: Skipped) {
        *self.skipped.entry(skipped.why.clone()).or_default() += 1;
        self.skipped_files.push((skipped.source, skipped.why));
    }

    /// Skips a document for its length: counted by the limit, named with what is to be done.
    fn skip_long(&mut self, source: &str, letters: usize, letters_max: usize) {
        *self.skipped.entry(format!("longer than {letters_max} characters")).or_default() += 1;
        let why = format!("{letters} characters, it may have {letters_max}, whatever `file_bytes` allows: split it");
        if self.too_long.len() < TOO_LONG_NAMED {
            self.too_long.push((source.to_owned(), why.clone()));
        }
        self.skipped_files.push((source.to_owned(), why));
    }
}

impl IndexReport {
    /// How long it took.
    pub fn took(&self) -> Duration {
        Duration::from_millis(self.took_ms)
    }
}

/// Why a run broke off.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The files cannot be walked.
    #[error("{0}")]
    Walk(String),
    /// The library refused.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] crate::store::records::StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_counted_and_the_first_of_it_named() {
        let mut report = IndexReport::default();
        for number in 0..TOO_LONG_NAMED + 5 {
            report.skip_long(&format!("{number}.md"), 4_000_001 + number, chars_max(Kind::Text, "a.md"));
        }
        assert_eq!(report.skipped, BTreeMap::from([("longer than 4000000 characters".to_owned(), TOO_LONG_NAMED + 5)]));
        assert_eq!((report.too_long.len(), report.skipped_files.len()), (TOO_LONG_NAMED, TOO_LONG_NAMED + 5));
        let (source, why) = &report.too_long[1];
        assert_eq!(source, "1.md");
        for part in ["4000002 characters", "it may have 4000000", "`file_bytes`", "split it"] {
            assert!(why.contains(part), "{part}: {why}");
        }
        assert_eq!((chars_max(Kind::Text, "a.json"), chars_max(Kind::Pdf, "a.pdf")), (200_000, 4_000_000));
        let older = r#"{"scanned": 1, "indexed": 1, "unchanged": 0, "removed": 0, "skipped": {}, "chunks": 1,
            "tokens": 1, "redacted": 0, "resumed": false, "over_budget": false, "took_ms": 1,
            "ended_at": "2026-11-21T03:00:00Z"}"#;
        let older: IndexReport = serde_json::from_str(older).unwrap();
        assert!(older.too_long.is_empty(), "a report that an older program kept is read all the same");
    }
}

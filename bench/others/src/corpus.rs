//! Documents of others and the questions that were written for them, as `bench/others` names them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// Which half of the questions is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Half {
    /// What settings are chosen by.
    Tuning,
    /// What is said of them; every run of it belongs into the log of `bench/others/README.md`.
    Reported,
}

/// What a question is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// In words of the documents' own makers.
    Found,
    /// Written from the documents alone.
    Written,
    /// About the subject, and not answered.
    Inside,
    /// About something else.
    Outside,
}

/// A question, and which sources answer it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Asked {
    /// Its name in the log.
    pub(crate) id: String,
    pub(crate) half: Half,
    pub(crate) kind: Kind,
    pub(crate) question: String,
    /// The best first; empty where nothing answers.
    #[serde(default)]
    pub(crate) sources: Vec<String>,
    /// Stands verbatim in the first source.
    #[serde(default)]
    pub(crate) evidence: String,
    /// Whether it shares no stem of a content word with its first source.
    #[serde(default)]
    pub(crate) disjoint: bool,
}

/// A file of a package, without the lines that questions were taken from.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Documents and questions.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) name: String,
    pub(crate) sources: Vec<Source>,
    pub(crate) questions: Vec<Asked>,
}

#[derive(Debug, Deserialize)]
struct Described {
    files: BTreeMap<String, String>,
    left_out: BTreeMap<String, BTreeSet<String>>,
}

/// The names of the corpora that a folder describes, sorted.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn names(described: &Path) -> anyhow::Result<Vec<String>> {
    let listed = std::fs::read_dir(described).with_context(|| described.display().to_string())?;
    let mut names = Vec::new();
    for entry in listed {
        let name = entry?.file_name();
        names.extend(name.to_str().and_then(|name| name.strip_suffix(".corpus.json")).map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}

impl Corpus {
    /// Reads a corpus, and makes sure that its files are those that the questions were written for.
    ///
    /// # Errors
    /// A file that is missing or another, or a question that does not fit.
    pub(crate) fn read(name: &str, described: &Path, packages: &Path) -> anyhow::Result<Self> {
        let path = described.join(format!("{name}.corpus.json"));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let Described { files, left_out } = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let none = BTreeSet::new();
        let sources = files
            .iter()
            .map(|(file, sum)| source(&packages.join(name), file, sum, left_out.get(file).unwrap_or(&none)))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let path = described.join(format!("{name}.questions.jsonl"));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let questions = text
            .lines()
            .map(|line| serde_json::from_str(line).with_context(|| format!("{}: {line}", path.display())))
            .collect::<anyhow::Result<Vec<Asked>>>()?;
        let corpus = Self { name: name.to_owned(), sources, questions };
        corpus.fits()?;
        Ok(corpus)
    }

    /// Every evidence stands in its source, after the lines that were left out.
    fn fits(&self) -> anyhow::Result<()> {
        for asked in &self.questions {
            let Some(first) = asked.sources.first() else { continue };
            let Some(source) = self.sources.iter().find(|source| source.name == *first) else {
                bail!("{}: {first} is not in the corpus {}", asked.id, self.name);
            };
            ensure!(source.text.contains(&asked.evidence), "{}: its evidence is not in {first}", asked.id);
        }
        Ok(())
    }
}

fn source(folder: &Path, file: &str, sum: &str, left_out: &BTreeSet<String>) -> anyhow::Result<Source> {
    let path: PathBuf = folder.join(file);
    let bytes = std::fs::read(&path)
        .with_context(|| format!("{}: run bench/others/install.sh, and name its folder", path.display()))?;
    let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    ensure!(found == sum, "{}: it is another file than the questions were written for ({found})", path.display());
    let text = String::from_utf8_lossy(&bytes);
    let kept = text.lines().filter(|line| !left_out.contains(*line));
    Ok(Source { name: file.to_owned(), text: kept.flat_map(|line| [line, "\n"]).collect() })
}

//! `serin-others`: how well the reference server retrieves from documents of others.
//!
//! Read: `corpus` (documents and questions), `baselines` (what it is compared with), `chance` (what is only luck), `threshold`
//! (which `min_score` tells answers from none).
//! Beside every figure of the server stand BM25, TF-IDF and, with weights, vectors alone, over the same chunks.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::ensure;
use chrono::Utc;
use clap::Parser as _;
use serin_reference::chunk::{Chunk, Method};
use serin_reference::embed::provider::Provider;
use serin_reference::index::document::{Cutting, Document};
use serin_reference::index::library::{Library, Parts};
use serin_reference::index::preparing::{Preparing as _, Usual};
use serin_reference::search::question::Question;
use serin_reference::search::retrieval::Retrieval;
use serin_reference::search::settings::SearchSettings;
use serin_reference::store::contract::{Patience, Store as _};
use serin_reference::store::filter::Filter;
use serin_reference::store::sqlite::open::SqliteStore;

use crate::answered::{Answered, Arm, Measured, SOURCES};
use crate::baselines::Counted;
use crate::corpus::{Asked, Corpus, Half, Source};

mod answered;
mod baselines;
mod chance;
mod corpus;
mod figures;
mod table;
mod threshold;

/// Hits that a question brings.
const TOP_K: usize = 20;

/// Measures retrieval from documents of others, which `bench/others/install.sh` fetches
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "serin-others", version, max_term_width = 100)]
struct Args {
    /// The folder that install.sh has filled
    packages: PathBuf,
    /// Which corpora; all where none is named
    #[arg(long = "corpus")]
    corpora: Vec<String>,
    /// Where the questions are
    #[arg(long, default_value = "bench/others")]
    questions: PathBuf,
    /// Which half of the questions; write each run of the reported one into the log
    #[arg(long, value_enum, default_value = "tuning")]
    half: Half,
    /// A folder of weights to embed with; without, the server searches for words alone
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Chunks of each corpus; of a long source the stretch around what answers
    #[arg(long, default_value_t = 1_500)]
    chunks: usize,
    /// Keeps indexes, and with them vectors, in this folder from one run to the next
    #[arg(long)]
    kept: Option<PathBuf>,
    /// Says each question with its ranks
    #[arg(long)]
    each: bool,
    /// Fails where a corpus is certainly worse off than with the better baseline
    #[arg(long)]
    held: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    run(&Args::parse()).await.map_or_else(
        |error| {
            anstream::eprintln!("error: {error:#}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

/// Measures, and prints the tables.
///
/// # Errors
/// Files that are missing or others, weights that cannot be read, or what `held` does not find.
async fn run(args: &Args) -> anyhow::Result<()> {
    let names = if args.corpora.is_empty() { corpus::names(&args.questions)? } else { args.corpora.clone() };
    let mut measured = Vec::new();
    for name in &names {
        let corpus = Corpus::read(name, &args.questions, &args.packages)?;
        measured.push(one(&corpus, args).await?);
    }
    let worse = figures::print(&measured, args.half, args.each);
    ensure!(!args.held || worse.is_empty(), "certainly worse off than with plain words: {}", worse.join(", "));
    Ok(())
}

async fn one(corpus: &Corpus, args: &Args) -> anyhow::Result<Measured> {
    let folder =
        args.kept.clone().unwrap_or_else(|| std::env::temp_dir().join(format!("others-{}", std::process::id())));
    std::fs::create_dir_all(&folder)?;
    let store = SqliteStore::open(&folder.join(format!("{}.db", corpus.name))).await?;
    // What was embedded stays; the words are counted anew.
    store.wipe(false).await?;
    let library = Library::open(Parts::new(Arc::new(store), provider(args.weights.as_deref())?)).await?;
    let mut all = Vec::new();
    let each = (args.chunks / corpus.sources.len()).max(1);
    for source in &corpus.sources {
        let text = stretch(source, corpus, each);
        library.put(&Document::plain(&source.name, "documentation", text), Utc::now()).await?;
        all.extend(cut(&source.name, text).into_iter().map(|chunk| (source.name.clone(), chunk.searched())));
    }
    let counted = Counted::new(all.into_iter());
    let retrieval = Retrieval::new(library, SearchSettings::default());
    let mut answers = Vec::new();
    for asked in &corpus.questions {
        answers.push(answered(asked, &retrieval, &counted).await?);
    }
    retrieval.library.store().close().await;
    if args.kept.is_none() {
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(Measured { name: corpus.name.clone(), sources: corpus.sources.len(), chunks: counted.len(), answers })
}

/// A source's text, or of a long one the stretch of so many chunks around what answers, of whichever half, so that many
/// sources fit.
fn stretch<'s>(source: &'s Source, corpus: &Corpus, chunks: usize) -> &'s str {
    let cut = cut(&source.name, &source.text);
    let evidence = corpus.questions.iter().filter(|asked| asked.sources.first() == Some(&source.name));
    let at = |asked: &Asked| source.text.find(&asked.evidence).map(|at| source.text[..at].chars().count());
    let place = |at: usize| cut.iter().rposition(|chunk| chunk.char_start <= at).unwrap_or(0);
    let places: Vec<usize> = evidence.filter_map(at).map(place).collect();
    let (first, last) = (places.iter().min().copied().unwrap_or(0), places.iter().max().copied().unwrap_or(0));
    let first = first.saturating_sub(chunks.saturating_sub(last - first + 1) / 2);
    let last = last.max(first + chunks - 1).min(cut.len().saturating_sub(1));
    let (Some(first), Some(last)) = (cut.get(first), cut.get(last)) else { return &source.text };
    let byte = |character: usize| source.text.char_indices().nth(character).map_or(source.text.len(), |(byte, _)| byte);
    &source.text[byte(first.char_start)..byte(last.char_end)]
}

fn cut(name: &str, text: &str) -> Vec<Chunk> {
    let Cutting { method, settings } = Cutting::default();
    Usual.cut(name, method.unwrap_or_else(|| Method::of(name)), text, &settings)
}

async fn answered(asked: &Asked, retrieval: &Retrieval, counted: &Counted) -> anyhow::Result<Answered> {
    let findings = retrieval.search(&question(&asked.question)).await?;
    ensure!(findings.degraded.is_empty(), "{}: the answer is not whole", asked.id);
    let mut scores: Vec<(f64, bool)> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for hit in &findings.hits {
        if seen.len() < SOURCES && !seen.contains(&hit.chunk.source.as_str()) {
            seen.push(&hit.chunk.source);
            scores.push((hit.score, asked.sources.contains(&hit.chunk.source)));
        }
    }
    let mut ranks = vec![
        (Arm::Server, rank(asked, findings.hits.iter().map(|hit| hit.chunk.source.as_str()))),
        (Arm::Bm25, rank(asked, counted.bm25(&asked.question).into_iter().take(TOP_K))),
        (Arm::TfIdf, rank(asked, counted.tf_idf(&asked.question).into_iter().take(TOP_K))),
    ];
    let mut connection = retrieval.library.store().connect(Patience::Writer).await?;
    let (vector, _) = retrieval.embedding(false).question(connection.as_mut(), &asked.question).await?;
    if !vector.is_empty() {
        let near = connection.near(&vector, &Filter::default(), TOP_K).await?;
        ranks.push((Arm::Vectors, rank(asked, near.iter().map(|near| near.place.source.as_str()))));
    }
    Ok(Answered { asked: asked.clone(), ranks, scores })
}

/// The rank of the first source that answers among the first five.
fn rank<'s>(asked: &Asked, hits: impl Iterator<Item = &'s str>) -> Option<usize> {
    let mut seen: Vec<&str> = Vec::new();
    for source in hits {
        if !seen.contains(&source) {
            seen.push(source);
        }
    }
    seen.iter().take(SOURCES).position(|source| asked.sources.iter().any(|right| right == source)).map(|at| at + 1)
}

fn question(text: &str) -> Question {
    Question { passes_memory: true, ..Question::new(text, TOP_K) }
}

#[cfg(feature = "weights")]
fn provider(weights: Option<&Path>) -> anyhow::Result<Provider> {
    use serin_reference::embed::inputs::Prefixes;
    use serin_reference::embed::local::LocalEmbedder;
    let Some(folder) = weights else { return Ok(Provider::None) };
    LocalEmbedder::open(folder, Prefixes::default()).map(Provider::Local).map_err(anyhow::Error::msg)
}

#[cfg(not(feature = "weights"))]
fn provider(weights: Option<&Path>) -> anyhow::Result<Provider> {
    ensure!(weights.is_none(), "--weights: build this with `--features weights`");
    Ok(Provider::None)
}

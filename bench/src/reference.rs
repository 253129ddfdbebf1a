//! `serin bench reference`: what the reference server's index costs, on this machine, with
//! `sqlite-vec` beside it where it is built in (`--features sqlite-vec`).
//!
//! Each index and the vectors run in a process of their own, so that what one lets go is not taken off the other; on corpora of
//! the seeded generator, in a folder that goes again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::Utc;
use clap::Args;

use crate::report::row;
use crate::usage;
use serin_reference::data::manuals;
use serin_reference::data::plan::ManualsPlan;
use serin_reference::embed::Embedder as _;
use serin_reference::embed::hashing::HashingEmbedder;
use serin_reference::embed::provider::Provider;
use serin_reference::index::document::Document;
use serin_reference::index::library::{Library, Parts};
use serin_reference::rerank::joint::JointReranker;
use serin_reference::rerank::reranker::Reranker;
use serin_reference::search::answers::Remembering;
use serin_reference::search::question::Question;
use serin_reference::search::retrieval::Retrieval;
use serin_reference::search::settings::SearchSettings;
use serin_reference::store::filter::{Filter, SourceFacts};
use serin_reference::store::sqlite::memory::InMemoryVectors;
use serin_reference::store::sqlite::open::SqliteStore;
use serin_reference::text::draw::mix;
use serin_reference::text::tokens;

#[cfg(feature = "sqlite-vec")]
mod beside;

/// Numbers in a vector, as the built-in embedder makes them.
pub(crate) const WIDTH: usize = 384;
/// Hits that are searched for.
pub(crate) const DEPTH: usize = 20;
/// Seed of the corpora.
const SEED: u64 = 1;
/// Chunks of the corpus that is indexed and searched as a whole.
const CHUNKS: usize = 10_000;

/// Measures the reference server's index; a release build is needed to mean anything.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReferenceBench {
    /// A tenth of the vectors and questions, for a first impression
    #[arg(long)]
    quick: bool,
    /// A folder of BERT-class weights, whose rows come beside the others (a build with the feature `weights`)
    #[arg(long, value_name = "FOLDER")]
    weights: Option<PathBuf>,
    /// The part that this process is
    #[arg(long, hide = true)]
    part: Option<Part>,
}

/// What is measured in a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// An index without vectors, as `setup` writes it.
    Words,
    /// One with the laboratory's.
    BuiltIn,
    /// One with those of weights.
    Weights,
    Vectors,
}

/// Measures, and prints the table.
///
/// # Errors
/// Where an index cannot be made.
pub(crate) async fn run(args: ReferenceBench) -> anyhow::Result<()> {
    let many = if args.quick { 10_000 } else { 100_000 };
    let asked = if args.quick { 50 } else { 500 };
    let weights = args.weights.as_deref();
    let (provider, reranker): (Provider, Option<Arc<dyn Reranker>>) = match args.part {
        None => return each(&args).await,
        Some(Part::Vectors) => return in_memory(many, asked).await,
        Some(Part::Words) => (Provider::None, None),
        Some(Part::BuiltIn) => (Provider::Hashing(HashingEmbedder::INDEX), Some(Arc::new(JointReranker))),
        Some(Part::Weights) => (provider(weights)?, None),
    };
    let folder = std::env::temp_dir().join(format!("serin-bench-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir_all(&folder)?;
    let measured = index_and_search(&folder, asked, provider, reranker).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

/// Every part in a process of its own.
async fn each(args: &ReferenceBench) -> anyhow::Result<()> {
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    let parts = ["words", "built-in"].into_iter().chain(args.weights.as_ref().map(|_| "weights")).chain(["vectors"]);
    for part in parts {
        let mut this = tokio::process::Command::new(std::env::current_exe()?);
        this.args(["reference", "--part", part]).args(args.quick.then_some("--quick"));
        this.args(args.weights.iter().flat_map(|folder| ["--weights".as_ref(), folder.as_os_str()]));
        let ended = this.kill_on_drop(true).status().await?;
        anyhow::ensure!(ended.success(), "{part} could not be measured: {ended}");
    }
    Ok(())
}

/// Vectors alone, searched exactly.
async fn in_memory(many: u64, asked: u64) -> anyhow::Result<()> {
    let vectors = Vectors::new(many);
    let before = usage::resident_mb();
    let memory = vectors.remembered();
    row(
        &format!("memory of {many} vectors of {WIDTH} in the index"),
        &format!("{:.0} MB", usage::resident_mb() - before),
        "stated",
    );
    let exact = times((0..asked).map(|number| {
        let question = vectors.question(number);
        let since = Instant::now();
        let near = memory.near(&question, &Filter::default(), DEPTH);
        (since.elapsed(), near.len())
    }));
    row(&format!("exact search of {many} × {WIDTH}"), &exact, "≤ 15 ms at 100,000");
    drop(memory);
    beside(&vectors, asked).await
}

#[cfg(feature = "sqlite-vec")]
async fn beside(vectors: &Vectors, asked: u64) -> anyhow::Result<()> {
    let measured = beside::search(vectors, asked).await?;
    row(&format!("sqlite-vec 0.1.9, the same {} × {WIDTH}", vectors.many), &measured, "beside it");
    Ok(())
}

#[cfg(not(feature = "sqlite-vec"))]
async fn beside(_vectors: &Vectors, _asked: u64) -> anyhow::Result<()> {
    row("sqlite-vec 0.1.9", "not built in: --features sqlite-vec", "beside it");
    Ok(())
}

/// An index of the generator's manuals, made and searched.
async fn index_and_search(
    folder: &Path,
    asked: u64,
    provider: Provider,
    reranker: Option<Arc<dyn Reranker>>,
) -> anyhow::Result<()> {
    let store = SqliteStore::open(&folder.join("index.db")).await?;
    let library = Library::open(Parts::new(Arc::new(store), provider)).await?;
    let by = library.vectors().embedder().model().to_string();
    let plan = ManualsPlan::new(SEED, CHUNKS)?;
    let per_kind = usize::try_from(asked)? / 4 + 1;
    let documents: Vec<manuals::Manual> = manuals::documents(plan, per_kind).collect();
    // The first count of a process reads the vocabulary of tokens.
    tokens::count("warm up");
    let (before, since, cpu) = (usage::resident_mb(), Instant::now(), usage::cpu());
    let mut chunks = 0;
    for document in &documents {
        chunks += library.put(&Document::plain(&document.source, "manual", &document.text), Utc::now()).await?.chunks;
    }
    let rate = |took: Duration| chunks as f64 / took.as_secs_f64();
    let (rate, of_cpu) = (rate(since.elapsed()), rate(usage::cpu() - cpu));
    let goal = "≥ 2,000 chunks/s without weights, ≥ 25 a CPU-second with them";
    row(&format!("indexing {chunks} chunks: {by}"), &format!("{rate:.0} chunks/s, {of_cpu:.0} a CPU-second"), goal);
    let grown = (usage::resident_mb() - before) * 100_000.0 / chunks as f64;
    row("resident growth by it, as of 100,000 chunks", &format!("{grown:.0} MB"), "stated");
    let bytes = std::fs::metadata(folder.join("index.db"))?.len() as f64 / chunks as f64;
    row("file per chunk", &format!("{bytes:.0} bytes"), "stated");
    let settings = || SearchSettings { reranker: reranker.clone(), ..SearchSettings::default() };
    let forgetful = SearchSettings { remembering: Remembering { is_on: false }, ..settings() };
    let retrieval = Retrieval::new(library, forgetful);
    let questions: Vec<Question> =
        documents.iter().flat_map(|document| &document.questions).map(|known| question(&known.query)).collect();
    let fresh = searched(&retrieval, &questions).await?;
    row(&format!("query with its context at {chunks} chunks"), &fresh, "p95 ≤ 10 ms without weights");
    let retrieval = Retrieval::new(retrieval.library, settings());
    for question in &questions {
        retrieval.search(question).await?;
    }
    let hit = searched(&retrieval, &questions).await?;
    row("the same questions again, answers remembered", &hit, "≤ 1 ms");
    retrieval.library.store().close().await;
    Ok(())
}

async fn searched(retrieval: &Retrieval, questions: &[Question]) -> anyhow::Result<String> {
    let mut measured = Vec::with_capacity(questions.len());
    for question in questions {
        let since = Instant::now();
        let findings = retrieval.search(question).await?;
        measured.push((since.elapsed(), findings.hits.len()));
    }
    Ok(times(measured.into_iter()))
}

fn question(text: &str) -> Question {
    Question::new(text, 5)
}

/// Seeded vectors of length one.
#[derive(Debug)]
pub(crate) struct Vectors {
    /// How many.
    pub(crate) many: u64,
    numbers: Vec<f32>,
}

impl Vectors {
    fn new(many: u64) -> Self {
        let numbers = (0..many).flat_map(drawn).collect();
        Self { many, numbers }
    }

    /// Every vector, in the order of their numbers.
    #[cfg(feature = "sqlite-vec")]
    pub(crate) fn each(&self) -> impl Iterator<Item = &[f32]> {
        self.numbers.chunks_exact(WIDTH)
    }

    /// A vector that is none of these.
    pub(crate) fn question(&self, number: u64) -> Vec<f32> {
        drawn(mix(self.many) ^ number)
    }

    fn remembered(&self) -> InMemoryVectors {
        let mut memory = InMemoryVectors::default();
        // Ten chunks a source, as documents have them.
        for (source, vectors) in self.numbers.chunks(WIDTH * 10).enumerate() {
            let facts = SourceFacts { source: format!("s{source}"), ..SourceFacts::default() };
            let first = i64::try_from(source * 10).unwrap_or(i64::MAX);
            let chunks =
                (0_i64..).zip(vectors.chunks_exact(WIDTH)).map(|(place, vector)| (first + place, place, vector));
            memory.put(facts, 1, chunks);
        }
        memory
    }
}

fn drawn(seed: u64) -> Vec<f32> {
    let number = |place: u64| (mix(mix(seed) ^ place) >> 40) as f32 / (1_u64 << 23) as f32 - 1.0;
    let mut vector: Vec<f32> = (0..WIDTH as u64).map(number).collect();
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|number| *number /= length);
    vector
}

/// Median, 95th percentile and worst of durations; a search that found nothing is none.
pub(crate) fn times(measured: impl Iterator<Item = (Duration, usize)>) -> String {
    let mut found: Vec<Duration> = measured.filter(|(_, hits)| *hits > 0).map(|(took, _)| took).collect();
    found.sort_unstable();
    let at = |share: f64| found.get(((found.len() as f64 * share) as usize).min(found.len().saturating_sub(1)));
    let shown = |took: Option<&Duration>| took.map_or(f64::NAN, |took| took.as_secs_f64() * 1_000.0);
    format!(
        "p50 {:.2} ms, p95 {:.2} ms, worst {:.2} ms (n={})",
        shown(at(0.5)),
        shown(at(0.95)),
        shown(found.last()),
        found.len()
    )
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
    anyhow::ensure!(weights.is_none(), "--weights: build this with `--features weights`");
    Ok(Provider::None)
}

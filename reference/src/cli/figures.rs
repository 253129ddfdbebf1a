//! `serin reference generate` and `serin reference figures`: a corpus with known answers, and what a
//! server makes of it.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use crate::data::asking::Asker;
use crate::data::judging::{self, FiguresRow, GivenAnswer};
use crate::data::manuals;
use crate::data::plan::ManualsPlan;
use crate::data::question;
// Laboratory: figures of a server that is broken in one way after another.
use crate::lab::measuring::{self, Laboratory};
use crate::lab::signatures::SIGNATURES;

/// Questions of a kind at most: ten thousand are a day of asking.
const PER_KIND_MAX: u64 = 10_000;
/// Bytes of a file of answers that is read back: those of 100,000 questions.
const ANSWERS_BYTES_MAX: u64 = 1 << 30;

/// Writes fictional product manuals, and questions whose answers are known.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// How many chunks the manuals are to have, 100 to 1,000,000
    #[arg(long)]
    chunks: usize,
    /// Decides every word: the same seed and size give the same bytes everywhere
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Questions of each kind
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=PER_KIND_MAX))]
    per_kind: u64,
    /// The folder to write to; it is made where there is none
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write although the folder is not empty; files of the same names are replaced
    #[arg(long)]
    force: bool,
}

/// Asks a running server questions with known answers and prints hit@5, recall@5, MRR and nDCG@10 by kind.
#[derive(Debug, Args)]
pub struct FiguresArgs {
    /// The questions, one JSON object a line, as `generate` writes them
    #[arg(long, value_name = "FILE", required_unless_present = "signatures")]
    questions: Option<PathBuf>,
    /// The MCP endpoint to ask
    #[arg(long, default_value = "http://127.0.0.1:9101/mcp")]
    url: String,
    /// The bearer token it wants
    #[arg(long, env = "SERIN_REFERENCE_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Keep the answers in this file, to compare later runs with
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Compare with the answers of a healthy run, as --save wrote them: median RBO and top-1 ratio
    #[arg(long, value_name = "FILE")]
    healthy: Option<PathBuf>,
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
    /// Print how each fault looks, as Markdown: a server of its own over a generated corpus is broken in every way
    #[arg(long, conflicts_with_all = ["questions", "save", "healthy", "json"])]
    signatures: bool,
    /// Chunks of the corpus of --signatures
    #[arg(long, default_value_t = 2_400, requires = "signatures")]
    chunks: usize,
    /// Questions of each kind of --signatures
    #[arg(long, default_value_t = 24, requires = "signatures", value_parser = clap::value_parser!(u64).range(1..=PER_KIND_MAX))]
    per_kind: u64,
    /// Seed of the corpus of --signatures
    #[arg(long, default_value_t = 1, requires = "signatures")]
    seed: u64,
}

/// Writes the corpus.
///
/// # Errors
/// A size that is not made, or a folder that cannot or must not be written.
pub fn generate(args: &GenerateArgs) -> anyhow::Result<()> {
    let plan = ManualsPlan::new(args.seed, args.chunks)?;
    let written = manuals::write(plan, usize::try_from(args.per_kind)?, &args.out, args.force)?;
    anstream::println!(
        "{} chunks in {} documents, and {} questions in {}",
        plan.chunks(),
        written.documents,
        written.questions,
        args.out.join(manuals::QUESTIONS_FILE).display()
    );
    Ok(())
}

/// Asks, and prints the figures.
///
/// # Errors
/// Files that cannot be read or written, a server that answers nothing at all.
pub async fn figures(args: FiguresArgs) -> anyhow::Result<()> {
    if args.signatures {
        return all_signatures(ManualsPlan::new(args.seed, args.chunks)?, usize::try_from(args.per_kind)?).await;
    }
    let path = args.questions.context("--questions names the file to ask")?;
    let questions = question::read(&path)?;
    let healthy = args.healthy.as_deref().map(answers).transpose()?;
    let given = Asker::new(&args.url, args.token)?.ask(&questions).await;
    if let (true, Some(why)) = (given.iter().all(|answer| answer.hits.is_none()), given.first()) {
        anyhow::bail!("{} answers no question: {}", args.url, why.failure.as_deref().unwrap_or("no reason given"));
    }
    if let Some(path) = &args.save {
        let text = serde_json::to_vec(&given)?;
        std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let rows = judging::judge(&questions, &given, healthy.as_deref());
    if args.json {
        anstream::println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        anstream::print!("{}", table(&rows));
    }
    Ok(())
}

async fn all_signatures(plan: ManualsPlan, per_kind: usize) -> anyhow::Result<()> {
    let laboratory = Laboratory::start(plan, per_kind).await?;
    let healthy = laboratory.ask().await;
    let (was, fused) = (laboratory.figures(&healthy.reranked), laboratory.figures(&healthy.fused));
    anstream::print!("{}", measuring::table_head(&was));
    anstream::print!("{}", measuring::table_line("none, no reranker", &fused));
    for signature in SIGNATURES {
        let rows = laboratory.broken(signature, &healthy).await;
        anstream::print!("{}", measuring::table_line(signature.what, &rows));
        let before = if signature.is_unranked() { &fused } else { &was };
        for difference in signature.differences(before, &rows) {
            anstream::eprintln!("unlike its signature: {difference}");
        }
    }
    laboratory.stop().await;
    Ok(())
}

fn answers(path: &std::path::Path) -> anyhow::Result<Vec<GivenAnswer>> {
    let unread = || format!("{} cannot be read", path.display());
    let length = std::fs::metadata(path).with_context(unread)?.len();
    anyhow::ensure!(length <= ANSWERS_BYTES_MAX, "{} is no file of answers: it is too long", path.display());
    let text = std::fs::read(path).with_context(unread)?;
    serde_json::from_slice(&text).with_context(|| format!("{} does not hold what --save writes", path.display()))
}

fn table(rows: &[FiguresRow]) -> String {
    let mut table = format!(
        "{:<9} {:>6} {:>6} {:>6} {:>9} {:>6} {:>8} {:>10} {:>11}\n",
        "kind", "asked", "failed", "hit@5", "recall@5", "MRR", "nDCG@10", "median RBO", "top-1 ratio"
    );
    let shown = |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.3}"));
    for row in rows {
        table += &format!(
            "{:<9} {:>6} {:>6} {:>6} {:>9} {:>6} {:>8} {:>10} {:>11}\n",
            row.kind,
            row.asked,
            row.failed,
            shown(row.hit_at_5),
            shown(row.recall_at_5),
            shown(row.mrr),
            shown(row.ndcg_at_10),
            shown(row.median_rbo),
            shown(row.top1_ratio)
        );
    }
    table
}

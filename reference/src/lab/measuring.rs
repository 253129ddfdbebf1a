//! A reference server over a generated corpus, asked by its public tools: healthy first, and then broken
//! in one way after another.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

use crate::data::asked;
use crate::data::asking::Asker;
use crate::data::judging::{self, FiguresRow, GivenAnswer};
use crate::data::manuals;
use crate::data::plan::ManualsPlan;
use crate::data::question::JudgedQuestion;
use crate::index::corpus::Corpus;
use crate::lab::kinds::{Dose, Fault};
use crate::lab::options::LabOptions;
use crate::lab::server::{self, LabServer};
use crate::lab::signatures::Signature;

/// A server over a generated corpus, and what to ask it.
#[derive(Debug)]
pub struct Laboratory {
    running: LabServer,
    asker: Asker,
    runs: AtomicU64,
    /// Every question, negatives included.
    pub questions: Vec<JudgedQuestion>,
}

impl Laboratory {
    /// Starts an empty server and puts the corpus in by `index_document`.
    ///
    /// # Errors
    /// What kept the server from starting, or a document from getting in.
    pub async fn start(plan: ManualsPlan, per_kind: usize) -> anyhow::Result<Self> {
        let options = LabOptions { corpus: Corpus::Empty, ..LabOptions::default() };
        let running = server::serve(options, CancellationToken::new()).await?;
        let asker = Asker::new(&running.mcp_url(), None)?;
        let (mut chunks, mut questions) = (0, Vec::new());
        for document in manuals::documents(plan, per_kind) {
            chunks += asker.index(&document.source, &document.text).await?;
            questions.extend(document.questions);
        }
        anyhow::ensure!(chunks == plan.chunks() as u64, "{} chunks were meant and {chunks} came", plan.chunks());
        questions.extend(asked::negatives(per_kind));
        Ok(Self { running, asker, runs: AtomicU64::new(0), questions })
    }

    /// Asks every question of the healthy server, with its reranker and without.
    pub async fn ask(&self) -> Healthy {
        self.forget_answers().await;
        let reranked = self.asker.ask(&self.questions).await;
        self.forget_answers().await;
        let switches = self.running.faults();
        switches.on(Fault::RerankerOff, Dose::of(Fault::RerankerOff));
        let fused = self.asker.ask(&self.questions).await;
        switches.all_off();
        Healthy { reranked, fused }
    }

    /// Has the server forget every answer it remembers, as a new source makes it do: figures are of
    /// searches.
    async fn forget_answers(&self) {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let indexed = self.asker.index(&format!("laboratory/run-{run}.md"), "Nothing to be found.").await;
        if let Err(error) = indexed {
            tracing::warn!(%error, "the server may remember answers of the run before");
        }
    }

    /// Breaks the server as a signature says; gives the figures.
    pub async fn broken(&self, signature: &Signature, healthy: &Healthy) -> Vec<FiguresRow> {
        self.under(signature.faults, signature.every, healthy.before(signature)).await
    }

    /// Switches faults on, asks one of every so many questions, switches them off; gives the figures.
    pub async fn under(&self, faults: &[(Fault, Dose)], every: usize, healthy: &[GivenAnswer]) -> Vec<FiguresRow> {
        let switches = self.running.faults();
        for (fault, dose) in faults {
            switches.on(*fault, *dose);
        }
        switches.settled().await;
        self.forget_answers().await;
        let asked: Vec<JudgedQuestion> = self.questions.iter().step_by(every.max(1)).cloned().collect();
        let answers = self.asker.ask(&asked).await;
        switches.all_off();
        switches.settled().await;
        judging::judge(&asked, &answers, Some(healthy))
    }

    /// Figures of a healthy run, beside itself.
    pub fn figures(&self, answers: &[GivenAnswer]) -> Vec<FiguresRow> {
        judging::judge(&self.questions, answers, Some(answers))
    }

    /// Ends the server.
    pub async fn stop(self) {
        self.running.stop().await;
    }
}

/// What a healthy server answers, with its reranker and without: the fused order is all there is then.
#[derive(Debug)]
pub struct Healthy {
    /// With its reranker, as it is served.
    pub reranked: Vec<GivenAnswer>,
    /// Without.
    pub fused: Vec<GivenAnswer>,
}

impl Healthy {
    /// What a fault is compared with: one that acts on the fused order, with that.
    pub fn before(&self, signature: &Signature) -> &[GivenAnswer] {
        if signature.is_unranked() { &self.fused } else { &self.reranked }
    }
}

/// The head of the table, and its healthy line.
pub fn table_head(healthy: &[FiguresRow]) -> String {
    let mut table = String::from(
        "| fault | keyword | meaning | mixed | self | negatives quiet | median RBO | top-1 ratio |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    table += &table_line("none", healthy);
    table
}

/// A line of the Markdown table: hit@5 by kind, median RBO and top-1 ratio over the ordinary kinds.
pub fn table_line(what: &str, rows: &[FiguresRow]) -> String {
    let shown = |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.2}"));
    let mut line = format!("| {what} |");
    for kind in ["keyword", "meaning", "mixed", "self", "negative"] {
        // Writing to a String cannot fail.
        let _written = write!(line, " {} |", shown(judging::of(rows, kind).and_then(|row| row.hit_at_5)));
    }
    let all = judging::of(rows, "all");
    let (rbo, ratio) = (all.and_then(|row| row.median_rbo), all.and_then(|row| row.top1_ratio));
    line + &format!(" {} | {} |\n", shown(rbo), shown(ratio))
}

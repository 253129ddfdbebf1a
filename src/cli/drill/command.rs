//! The command: which cases on which shapes, and how the matrix is printed.

use std::process::ExitCode;

use crate::cli::drill::case::Case;
use crate::cli::drill::cases::{CASES, NOT_DRILLED};
use crate::cli::drill::matrix::{self, Cell};
use crate::cli::drill::shape::Shape;
use crate::cli::drill::stand::Stand;
use crate::cli::drill::trial;

/// Seeds at most: a night of drilling.
const SEEDS_MAX: u32 = 100;

/// Breaks reference servers in every way they know, and prints what Serin told of it.
///
/// The servers run within this process, on loopback, over Serin's own documentation; the probe and the judgement are those
/// of `serin run`. Nothing is sent to anybody. The exit code is 1 where somebody would have been woken for nothing.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DrillArgs {
    /// Seeds that each fault is tried with which strikes only a part, or draws; others are tried once.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(SEEDS_MAX)))]
    pub seeds: u32,
    /// The first of these seeds: others than those that something was tuned on.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub first_seed: u64,
    /// Only this fault or this shape of server (fused, cosine, reranked, scoreless); may be given several times.
    #[arg(long, value_name = "FAULT|SHAPE")]
    pub only: Vec<String>,
    /// Whether the servers remember answers.
    #[arg(long, value_enum, default_value_t = Caches::Both)]
    pub cache: Caches,
    /// Print one JSON document instead of text.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// How the matrix is printed.
    #[arg(long, value_enum, default_value_t = MatrixFormat::Text)]
    pub format: MatrixFormat,
}

/// Which servers are drilled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Caches {
    /// Those that remember answers, as shipped.
    On,
    /// Those that do not.
    Off,
    /// Both.
    Both,
}

/// How the matrix is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum MatrixFormat {
    /// A line a trial.
    Text,
    /// Tables, for a page.
    Markdown,
}

/// Drills, and prints the matrix.
///
/// # Errors
/// A name after `--only` that is none; what keeps a server from starting.
pub(crate) async fn run(args: DrillArgs) -> anyhow::Result<ExitCode> {
    let (shapes, cases) = chosen(&args.only)?;
    let cells = Box::pin(drill(&args, &shapes, &cases)).await?;
    if args.json {
        anstream::println!("{:#}", matrix::as_json(&cells));
    } else if args.format == MatrixFormat::Markdown {
        for (cache, title) in [(true, "With its answer cache on, as shipped"), (false, "With its answer cache off")] {
            if cells.iter().any(|cell| cell.cache == cache) {
                anstream::println!("{title}:\n\n{}", matrix::markdown(&cells, cache));
            }
        }
    } else {
        anstream::println!("{}", matrix::head());
        cells.iter().for_each(|cell| anstream::println!("{}", cell.line()));
        anstream::println!();
    }
    if !args.json {
        anstream::print!("{}{}", matrix::unseen(&cells), matrix::sum(&cells));
    }
    Ok(if cells.iter().any(Cell::woke_for_nothing) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The shapes and cases that are meant: all, where none is named.
fn chosen(only: &[String]) -> anyhow::Result<(Vec<Shape>, Vec<&'static Case>)> {
    let is_fault = |case: &Case, name: &str| case.name == name || case.name.split(':').next() == Some(name);
    let (mut shapes, mut cases) = (Vec::new(), Vec::new());
    for name in only {
        if let Some(shape) = Shape::ALL.into_iter().find(|shape| shape.slug() == name) {
            shapes.push(shape);
            continue;
        }
        let named: Vec<&Case> = CASES.iter().filter(|case| is_fault(case, name)).collect();
        if let Some((_, why)) = NOT_DRILLED.iter().find(|(fault, _)| fault.name() == name) {
            anyhow::bail!("'{name}' is not drilled: {why}");
        }
        if named.is_empty() {
            let shapes = Shape::ALL.map(Shape::slug).join(", ");
            let cases = CASES.iter().map(|case| case.name).collect::<Vec<_>>().join(", ");
            anyhow::bail!("'{name}' is no shape ({shapes}) and no fault of the drill ({cases})");
        }
        // `corpus_truncated` means its ways too: what is named twice is drilled once.
        let is_new = |case: &&Case| !cases.iter().any(|known: &&Case| known.name == case.name);
        let named: Vec<&Case> = named.into_iter().filter(is_new).collect();
        cases.extend(named);
    }
    let shapes = if shapes.is_empty() { Shape::ALL.to_vec() } else { shapes };
    Ok((shapes, if cases.is_empty() { CASES.iter().collect() } else { cases }))
}

/// Every cell that is asked for, in the order of cases and shapes.
async fn drill(args: &DrillArgs, shapes: &[Shape], cases: &[&'static Case]) -> anyhow::Result<Vec<Cell>> {
    let remembers: &[bool] = match args.cache {
        Caches::On => &[true],
        Caches::Off => &[false],
        Caches::Both => &[true, false],
    };
    let mut cells = Vec::new();
    // One after the other: servers that share a processor are slow for another reason than the one that is drilled.
    for (remembers, shape) in remembers.iter().flat_map(|on| shapes.iter().map(|shape| (*on, *shape))) {
        cells.extend(Box::pin(on_stand(shape, remembers, cases, args)).await?);
    }
    let place = |cell: &Cell| cases.iter().position(|case| case.name == cell.case);
    cells.sort_by_key(|cell| (!cell.cache, place(cell), cell.shape, cell.seed));
    Ok(cells)
}

/// Every cell of one shape, one after the other.
async fn on_stand(
    shape: Shape,
    remembers: bool,
    cases: &[&'static Case],
    args: &DrillArgs,
) -> anyhow::Result<Vec<Cell>> {
    let stand = Stand::make(shape, remembers).await?;
    let baseline = Box::pin(trial::baseline(&stand)).await?;
    tracing::info!(shape = shape.slug(), remembers, canaries = baseline.canaries.len(), "a stand is up");
    let mut cells = Vec::new();
    for case in cases.iter().filter(|case| case.shapes.contains(&shape) && (remembers || !case.needs_cache)) {
        let seeds = if case.is_drawn { args.seeds } else { 1 };
        for seed in (args.first_seed..).take(seeds as usize) {
            let cell = Box::pin(trial::run(&stand, &baseline, case, seed)).await?;
            anstream::eprintln!("{}", cell.line());
            cells.push(cell);
        }
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_twice_is_drilled_once() {
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
            chosen(&only).unwrap().1.iter().map(|case| case.name).collect::<Vec<_>>()
        };
        let both = ["corpus_truncated", "corpus_truncated:newest"];
        assert_eq!(names(&both), both, "a fault means its ways too");
        assert_eq!(names(&["corpus_truncated"]), both);
        assert_eq!(names(&["corpus_truncated:newest"]), ["corpus_truncated:newest"], "a way is itself alone");
    }
}

//! `serin reference query | health | check-constraints`: questions to an index or a server.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};
use serin_outbound::tls::trusting_config;
use url::Url;

use crate::project::opened::Project;
use crate::search::question::Question;
use crate::search::retrieval::Retrieval;
use crate::store::filter::Filter;
use crate::text::secrets;

/// How long a server may take to say how it is.
const HEALTH_WITHIN: Duration = Duration::from_secs(10);
/// Where a server says how it is, or whether it is there at all.
const HEALTH_PATHS: [&str; 3] = ["/health", "/ready", "/live"];
/// What else of a server people have at hand; the longer of two that end alike comes first.
const OTHER_PATHS: [&str; 6] = ["/legacy/mcp", "/mcp", "/search", "/sources", "/metrics", "/openapi.json"];
/// Bytes of a change that are read.
const CHANGE_BYTES_MAX: u64 = 4 << 20;
/// Letters of a change that are searched with.
const CHANGE_CHARS_ASKED: usize = 4_000;

/// Arguments of `query`.
#[derive(Debug, Args)]
pub struct QueryArgs {
    /// The question
    question: String,
    /// How many hits, 1 to 20
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=20))]
    top_k: u8,
    /// Only sources whose name begins with this
    #[arg(long, default_value = "")]
    source: String,
    /// Print the hits as JSON
    #[arg(long)]
    json: bool,
}

/// Asks the project's index.
///
/// # Errors
/// Where there is none, or it cannot be searched.
pub async fn query(args: QueryArgs) -> anyhow::Result<ExitCode> {
    let retrieval = opened().await?;
    let question = Question {
        filter: Filter { source: args.source, ..Filter::default() },
        ..Question::new(&args.question, usize::from(args.top_k))
    };
    let findings = retrieval.search(&question).await.map_err(|error| coded(&error))?;
    retrieval.library.store().close().await;
    if args.json {
        let hits: Vec<Value> = findings
            .hits
            .iter()
            .map(|hit| {
                json!({
                    "source": hit.chunk.source, "section": hit.chunk.section, "content": hit.chunk.content,
                    "score": hit.score, "final_score": hit.final_score, "chunk_id": hit.chunk.name(),
                })
            })
            .collect();
        anstream::println!("{}", json!({ "query": question.text, "results": hits, "degraded": findings.degraded }));
    } else {
        for (rank, hit) in (1..).zip(&findings.hits) {
            anstream::println!("{rank}. {} § {}  (score {:.2})", hit.chunk.source, hit.chunk.section, hit.score);
            anstream::println!("   {}\n", hit.chunk.content.replace('\n', "\n   "));
        }
        if findings.hits.is_empty() {
            anstream::println!("nothing fits");
        }
    }
    Ok(if findings.hits.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Arguments of `health`.
#[derive(Debug, Args)]
pub struct HealthArgs {
    /// The server, as in `localhost:9101`, or the URL of its /mcp or /health; that of this project where one runs,
    /// else the usual address
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// Asks a server how it is.
///
/// # Errors
/// Where none answers.
pub async fn health(args: HealthArgs) -> anyhow::Result<ExitCode> {
    let url = args.url.or_else(noted).unwrap_or_else(|| "127.0.0.1:9101".to_owned());
    let url = health_address(&url).map_err(anyhow::Error::msg)?;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(trusting_config())
        .no_proxy()
        .timeout(HEALTH_WITHIN)
        .build()?;
    let answer = client.get(url.clone()).send().await.with_context(|| format!("no server answers at {url}"))?;
    let is_well = answer.status().is_success();
    let report: Value = answer.json().await.with_context(|| format!("{url} answers something else than health"))?;
    anstream::println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Where a server says how it is, by whatever of its addresses somebody typed: its host, its MCP endpoint, its health.
///
/// # Errors
/// What was typed, and what would be right.
fn health_address(typed: &str) -> Result<Url, String> {
    let typed = typed.trim();
    let whole = if typed.contains("://") { typed.to_owned() } else { format!("http://{typed}") };
    let wrong =
        |why: String| format!("'{typed}' is no address of a server ({why}): give it as in http://localhost:9101");
    let mut url = Url::parse(&whole).map_err(|error| wrong(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it begins with neither http:// nor https://".to_owned()));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    if HEALTH_PATHS.iter().any(|end| path.ends_with(end)) {
        url.set_path(&path);
    } else {
        let below = OTHER_PATHS.iter().find_map(|end| path.strip_suffix(end)).unwrap_or(&path);
        url.set_path(&format!("{below}/health"));
    }
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

/// The health address of this project's server, as it wrote it down.
fn noted() -> Option<String> {
    let project = Project::find(&std::env::current_dir().ok()?).ok()?;
    let note: Value = serde_json::from_str(&std::fs::read_to_string(project.place.server_note()).ok()?).ok()?;
    note["health"].as_str().map(str::to_owned)
}

/// Arguments of `check-constraints`.
#[derive(Debug, Args)]
pub struct ConstraintsArgs {
    /// The change: its description or its diff; read from standard input where neither this nor --file is given
    change: Option<String>,
    /// Read the change from a file
    #[arg(long, value_name = "FILE", conflicts_with = "change")]
    file: Option<PathBuf>,
    /// A constraint among the first so many candidates applies
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=12))]
    max_rank: u8,
    /// Leave out constraints whose score (0 to 1) is lower; without it, those that are clearly of something else
    #[arg(long)]
    min_score: Option<f64>,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

/// The gate: exit code 0 where no constraint applies, 1 where one does that the change does not
/// name. A change that names a constraint's source has been thought about.
///
/// # Errors
/// Where there is no index, or no change to check.
pub async fn check_constraints(args: ConstraintsArgs) -> anyhow::Result<ExitCode> {
    let change = match (args.change, args.file) {
        (Some(change), _) => change,
        (None, Some(file)) => bounded(std::fs::File::open(&file).with_context(|| file.display().to_string())?)?,
        (None, None) => bounded(std::io::stdin())?,
    };
    let asked: String = change.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let asked: String = secrets::redact(asked.trim()).text.chars().take(CHANGE_CHARS_ASKED).collect();
    if asked.is_empty() {
        bail!("there is no change to check: give its description or its diff");
    }
    let retrieval = opened().await?;
    let applying = retrieval
        .constraints(&asked, usize::from(args.max_rank), args.min_score)
        .await
        .map_err(|error| coded(&error))?;
    retrieval.library.store().close().await;
    let (named, open): (Vec<_>, Vec<_>) =
        applying.into_iter().partition(|applying| change.contains(&applying.found.chunk.source));
    if args.json {
        let shown = |list: &[crate::search::codebase::Applying]| -> Vec<Value> {
            list.iter()
                .map(|applying| {
                    let chunk = &applying.found.chunk;
                    json!({ "rank": applying.rank, "source": chunk.source, "section": chunk.section,
                        "content": chunk.content, "score": applying.found.score })
                })
                .collect()
        };
        anstream::println!("{}", json!({ "open": shown(&open), "named": shown(&named) }));
    } else {
        for applying in &open {
            let chunk = &applying.found.chunk;
            anstream::println!(
                "{}. {} § {}  (score {:.2})",
                applying.rank,
                chunk.source,
                chunk.section,
                applying.found.score
            );
            anstream::println!("   {}\n", chunk.content.replace('\n', "\n   "));
        }
        anstream::println!("{} open, {} named by the change", open.len(), named.len());
        if !open.is_empty() {
            anstream::println!("say in the change how each is kept, by naming its source; or do not make the change");
        }
    }
    Ok(if open.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn bounded(reader: impl std::io::Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    reader.take(CHANGE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn opened() -> anyhow::Result<Retrieval> {
    let project = Project::find(&std::env::current_dir()?)?;
    let library = project.indexed_library().await?;
    Ok(Retrieval::new(library, project.settings()?))
}

fn coded(error: &crate::search::question::RetrievalError) -> anyhow::Error {
    let (code, next) = error.code();
    anyhow::anyhow!("{code}: {error}. {next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, typed: &str, expected: Result<&str, &str>) {
        match (health_address(typed), expected) {
            (Ok(url), Ok(address)) => assert_eq!(url.as_str(), address, "{says}"),
            (Err(why), Err(part)) => assert!(why.contains(part) && why.contains(typed.trim()), "{says}: {why}"),
            (got, _) => panic!("{says}: {got:?}"),
        }
    }

    #[test]
    fn whatever_people_type_leads_to_health() {
        let local = Ok("http://localhost:8000/health");
        check("a host and a port", "localhost:8000", local);
        check("a URL", "http://localhost:8000", local);
        check("a slash at its end", "http://localhost:8000/", local);
        check("blanks around it", " localhost:8000\n", local);
        check("its MCP endpoint", "http://localhost:8000/mcp", local);
        check("with a slash too", "localhost:8000/mcp/", local);
        check("that of older clients", "localhost:8000/legacy/mcp", local);
        check("its search", "localhost:8000/search?x=1#y", local);
        check("health itself", "http://localhost:8000/health", local);
        check("with slashes", "localhost:8000/health//", local);
        check("whether it is ready is asked as it stands", "localhost:8000/ready", Ok("http://localhost:8000/ready"));
        check("a folder of a proxy stays", "https://rag.example/docs/mcp", Ok("https://rag.example/docs/health"));
        check("an address of IPv6", "[::1]:9101", Ok("http://[::1]:9101/health"));
        check("no port that there is", "localhost:99999", Err("http://localhost:9101"));
        check("another protocol", "ftp://localhost/", Err("neither http://"));
        check("nothing", "", Err("http://localhost:9101"));
    }
}

//! The tools for codebases: what is asked of them, what they do, and how they answer.

use rmcp::handler::server::common::{schema_for_output, schema_for_type};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::search::codebase::{Applying, Impact};
use crate::serve::answer::{Envelope, Hit, hit};
use crate::serve::arguments::{self, name_fits, one_line};
use crate::serve::state::ServerState;

/// Letters of a change that is checked: a large pull request.
const CHANGE_CHARS_MAX: usize = 100_000;
/// Letters of a change that are searched with: its description and the head of its diff.
const CHANGE_CHARS_ASKED: usize = 4_000;
const CONSTRAINTS: &str = "Before you change code: gets the rules, decisions and invariants that the change touches. Read each \
    `content` and say how the change keeps it, or do not make the change. An empty list means that no known rule is near, \
    not that there is none.";
const IMPACT: &str = "Before you rename or change a function, type, file or setting: finds the sources that use it by its exact \
    name, and those that use its users. It counts words in indexed text: a name made at run time is not seen.";

/// Arguments of `check_constraints`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ConstraintArguments {
    /// What the change does and why, and its diff.
    pub change: String,
    /// How many of the nearest candidates count.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 12))]
    pub max_rank: u32,
    /// Leave out constraints whose score is lower; without it, what is clearly of something else.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_score: Option<f64>,
}

/// Arguments of `query_impact`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ImpactArguments {
    /// The exact name.
    pub symbol: String,
    /// Steps from user to user.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 3))]
    pub depth: u32,
}

fn three() -> u32 {
    3
}

fn two() -> u32 {
    2
}

/// What `check_constraints` brings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConstraintsData {
    /// Constraints that the change touches, the first first.
    pub constraints: Vec<Hit>,
    /// How many there are.
    pub total: usize,
    /// Arguments that this tool does not know, and that had no effect.
    pub ignored_arguments: Vec<String>,
}

/// What `query_impact` brings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImpactData {
    /// The name that was asked for.
    pub symbol: String,
    /// Sources that use it, the nearest first.
    pub sources: Vec<ImpactNote>,
    /// Sources that use it themselves.
    pub direct: usize,
    /// Sources that use what uses it.
    pub indirect: usize,
    /// Arguments that this tool does not know, and that had no effect.
    pub ignored_arguments: Vec<String>,
}

/// A source that a change reaches.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImpactNote {
    /// Its name.
    pub source: String,
    /// Its kind.
    pub source_type: String,
    /// Steps away, from 1.
    pub distance: u32,
    /// The name by which it is reached.
    pub through: String,
    /// Passages of it that hold that name.
    pub mentions: usize,
}

/// What a model reads of them.
pub fn tools() -> Vec<Tool> {
    vec![
        Tool::new("check_constraints", CONSTRAINTS, schema_for_type::<ConstraintArguments>())
            .with_raw_output_schema(schema_for_output::<Envelope<ConstraintsData>>())
            .with_annotations(
                ToolAnnotations::with_title("Check a change against constraints").read_only(true).open_world(false),
            ),
        Tool::new("query_impact", IMPACT, schema_for_type::<ImpactArguments>())
            .with_raw_output_schema(schema_for_output::<Envelope<ImpactData>>())
            .with_annotations(
                ToolAnnotations::with_title("Estimate a change's reach").read_only(true).open_world(false),
            ),
    ]
}

impl ServerState {
    /// `check_constraints`.
    pub async fn constraints(&self, arguments: JsonObject) -> Envelope<ConstraintsData> {
        let ignored = arguments::strange::<ConstraintArguments>(&arguments);
        let wanted = match arguments::read::<ConstraintArguments>(arguments) {
            Ok(wanted) => wanted,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        let change = match change(&wanted) {
            Ok(change) => change,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        let max_rank = usize::try_from(wanted.max_rank).unwrap_or(usize::MAX);
        match self.retrieval.constraints(&change, max_rank, wanted.min_score).await {
            Ok(applying) => Envelope::ok(constraints(applying, ignored)),
            Err(error) => Envelope::failed("Checking the change", &error),
        }
    }

    /// `query_impact`.
    pub async fn impact(&self, arguments: JsonObject) -> Envelope<ImpactData> {
        let ignored = arguments::strange::<ImpactArguments>(&arguments);
        let wanted = match arguments::read::<ImpactArguments>(arguments) {
            Ok(wanted) => wanted,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        let symbol = match symbol(&wanted) {
            Ok(symbol) => symbol,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        match self.retrieval.impact(&symbol, wanted.depth).await {
            Ok(impacts) => Envelope::ok(impact(symbol, impacts, ignored)),
            Err(error) => Envelope::failed(&format!("Looking for users of \"{symbol}\""), &error),
        }
    }
}

/// A change as a question: one line, its beginning where it is long.
///
/// # Errors
/// The limit that is passed, and the mend.
pub fn change(wanted: &ConstraintArguments) -> Result<String, String> {
    if wanted.min_score.is_some_and(|score| !(0.0..=1.0).contains(&score)) || !(1..=12).contains(&wanted.max_rank) {
        return Err("'min_score' is between 0 and 1, 'max_rank' between 1 and 12".to_owned());
    }
    let line = one_line("change", &wanted.change, CHANGE_CHARS_MAX, "check it file by file")?;
    Ok(line.chars().take(CHANGE_CHARS_ASKED).collect())
}

/// The name of a thing in code.
///
/// # Errors
/// The limit that is passed, and the mend.
pub fn symbol(wanted: &ImpactArguments) -> Result<String, String> {
    if !(1..=3).contains(&wanted.depth) {
        return Err("'depth' is between 1 and 3".to_owned());
    }
    name_fits("symbol", &wanted.symbol, false)?;
    Ok(wanted.symbol.trim().to_owned())
}

/// Constraints as a caller gets them.
pub fn constraints(applying: Vec<Applying>, ignored_arguments: Vec<String>) -> ConstraintsData {
    let constraints: Vec<Hit> = applying.into_iter().map(|applying| hit(applying.rank, applying.found)).collect();
    ConstraintsData { total: constraints.len(), constraints, ignored_arguments }
}

/// Reach as a caller gets it.
pub fn impact(symbol: String, impacts: Vec<Impact>, ignored_arguments: Vec<String>) -> ImpactData {
    let direct = impacts.iter().filter(|impact| impact.distance == 1).count();
    let note = |Impact { source, source_type, distance, through, mentions }| ImpactNote {
        source,
        source_type,
        distance,
        through,
        mentions,
    };
    ImpactData {
        symbol,
        direct,
        indirect: impacts.len() - direct,
        sources: impacts.into_iter().map(note).collect(),
        ignored_arguments,
    }
}

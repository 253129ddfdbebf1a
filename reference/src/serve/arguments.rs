//! What a caller may ask, and what is made of it: limits are checked here and nowhere else.

use chrono::NaiveDate;
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::chunk::{ChunkSettings, Method};
use crate::index::document::Cutting;
use crate::search::context::BUDGET_TOKENS;
use crate::search::question::Question;
use crate::store::filter::Filter;
use crate::store::records::Volatility;
use crate::text::cleaning::cleaned;

/// The longest request over MCP: a document of 200,000 characters, escaped.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// The most hits a search gives.
pub const TOP_K_MAX: usize = 20;
/// Letters of a question; longer ones are documents.
const QUESTION_CHARS_MAX: usize = 2_000;
/// Letters of a name: of a source, a collection, a conversation.
const NAME_CHARS_MAX: usize = 300;
/// Tags in a filter or of a document.
const TAGS_MAX: usize = 20;
/// Tokens of a context that may be asked for.
const BUDGET_TOKENS_MAX: usize = 16_000;
/// Unknown arguments that are named back.
const IGNORED_MAX: usize = 10;

/// Arguments of `search_documents`, and of `POST /search`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct SearchArguments {
    /// The question, in plain words or as an exact code. Whole questions find more than single words.
    query: String,
    /// How many hits to bring, 1 to 20.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    top_k: u32,
    /// Leave out hits whose score (0 to 1) is lower. 0 brings everything.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    min_score: f64,
    /// Only sources whose name begins with this, such as `reference/`. Empty means all.
    #[serde(default)]
    source: String,
    /// Only sources of this collection. Empty means all.
    #[serde(default)]
    collection: String,
    /// Only sources that have all of these tags.
    #[serde(default)]
    tags: Vec<String>,
    /// Only sources of one of these kinds, such as `documentation` or `constraints`.
    #[serde(default)]
    source_types: Vec<String>,
    /// Only sources dated this day or later, as in `2026-11-21`.
    #[serde(default)]
    since: Option<NaiveDate>,
    /// Only sources dated this day or earlier.
    #[serde(default)]
    until: Option<NaiveDate>,
    /// A name of your choice for the conversation you are in: what it was shown within the last hour
    /// is not brought again, unless it is clearly the best.
    #[serde(default)]
    conversation: String,
    /// Whether to bring the whole section of each hit, where the source was cut that way.
    #[serde(default)]
    expand: bool,
    /// Tokens that `context` may take.
    #[serde(default = "budget")]
    #[schemars(range(min = 100, max = 16_000))]
    budget_tokens: u32,
    /// `bypass` asks afresh: nothing that is remembered of questions is taken or kept, and no model rewords it.
    #[serde(default)]
    cache: CachePolicy,
}

/// Whether a remembered answer may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CachePolicy {
    #[default]
    Use,
    Bypass,
}

/// Names of the arguments of `search_documents`.
pub const SEARCH_NAMES: &[&str] = &[
    "query",
    "top_k",
    "min_score",
    "source",
    "collection",
    "tags",
    "source_types",
    "since",
    "until",
    "conversation",
    "expand",
    "budget_tokens",
    "cache",
];

/// Arguments of `index_document`: exactly one of `text`, `file` and `url`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct IndexArguments {
    /// The document's text; Markdown headings become sections. At most 200,000 characters.
    #[serde(default)]
    pub text: Option<String>,
    /// Instead of a text: a file below the folder that the operator allows, by its path within it.
    #[serde(default)]
    pub file: Option<String>,
    /// Instead of a text: a public http or https address.
    #[serde(default)]
    pub url: Option<String>,
    /// The name hits will cite, such as `notes/2026-11-21.md`. A source indexed again is replaced.
    /// Needed with `text`; otherwise the file's or the address's own is taken.
    #[serde(default)]
    pub source: String,
    /// What kind of source it is, such as `document` or `note`; `constraints`, `patterns` and `code`
    /// are the kinds of a codebase.
    #[serde(default = "document")]
    pub source_type: String,
    /// The collection it belongs to.
    #[serde(default)]
    pub collection: String,
    /// Its tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The day its content is of, as in `2026-11-21`.
    #[serde(default)]
    pub date: Option<NaiveDate>,
    /// How soon it is expected to change: it decides how long answers from it are remembered.
    #[serde(default)]
    pub volatility: Volatility,
    /// Where it is cut: `markdown`, `code`, `topics`, `fixed` or `parent_child`; by its name where
    /// nothing is said. `parent_child` lets a search `expand` a hit to its section.
    #[serde(default)]
    pub method: Option<String>,
    /// The most tokens of a chunk, 32 to 500; with `fixed` its characters, 64 to 2,000.
    #[serde(default)]
    pub chunk_size: Option<usize>,
    /// Sentences that neighbours share, 0 to 3; with `fixed` characters, up to half a chunk.
    #[serde(default)]
    pub chunk_overlap: Option<usize>,
}

/// Names of the arguments of `index_document`.
pub const INDEX_NAMES: &[&str] = &[
    "text",
    "file",
    "url",
    "source",
    "source_type",
    "collection",
    "tags",
    "date",
    "volatility",
    "method",
    "chunk_size",
    "chunk_overlap",
];

/// Arguments of a tool that has none.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NoArguments {}

fn five() -> u32 {
    5
}

fn document() -> String {
    "document".to_owned()
}

fn budget() -> u32 {
    u32::try_from(BUDGET_TOKENS).unwrap_or(u32::MAX)
}

/// Reads arguments.
///
/// # Errors
/// What does not fit, and where to look.
pub fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| format!("{error}. See the tool's input schema."))
}

/// Names of arguments that a tool does not know.
pub fn unknown(arguments: &JsonObject, known: &[&str]) -> Vec<String> {
    let strange = arguments.keys().filter(|name| !known.contains(&name.as_str()));
    strange.take(IGNORED_MAX).map(|name| name.chars().filter(|c| !c.is_control()).take(60).collect()).collect()
}

/// A question within its limits.
///
/// # Errors
/// The limit that is passed, and the mend.
pub fn question(wanted: SearchArguments) -> Result<Question, String> {
    let text = one_line("query", &wanted.query, QUESTION_CHARS_MAX, "ask less at once")?;
    if !(0.0..=1.0).contains(&wanted.min_score) {
        return Err("'min_score' is between 0 and 1".to_owned());
    }
    for (name, value) in [("collection", &wanted.collection), ("conversation", &wanted.conversation)] {
        name_fits(name, value, true)?;
    }
    let top_k = usize::try_from(wanted.top_k).unwrap_or(TOP_K_MAX).clamp(1, TOP_K_MAX);
    let budget_tokens = usize::try_from(wanted.budget_tokens).unwrap_or(0);
    if !(100..=BUDGET_TOKENS_MAX).contains(&budget_tokens) {
        return Err(format!("'budget_tokens' is between 100 and {BUDGET_TOKENS_MAX}"));
    }
    let filter = Filter {
        source: wanted.source,
        collection: (!wanted.collection.is_empty()).then_some(wanted.collection),
        tags: tags(wanted.tags)?,
        source_types: tags(wanted.source_types)?,
        since: wanted.since,
        until: wanted.until,
    };
    Ok(Question {
        text,
        top_k,
        min_score: wanted.min_score,
        filter,
        conversation: wanted.conversation,
        expand: wanted.expand,
        budget_tokens,
        passes_memory: wanted.cache == CachePolicy::Bypass,
    })
}

/// Checks a document's facts.
///
/// # Errors
/// The limit that is passed, and the mend.
pub fn document_fits(wanted: &IndexArguments) -> Result<(), String> {
    let ways = [&wanted.text, &wanted.file, &wanted.url].into_iter().filter(|way| way.is_some()).count();
    if ways != 1 {
        return Err("send exactly one of 'text', 'file' and 'url'".to_owned());
    }
    name_fits("source", &wanted.source, wanted.text.is_none())?;
    name_fits("source_type", &wanted.source_type, false)?;
    name_fits("collection", &wanted.collection, true)?;
    tags(wanted.tags.clone()).map(drop)
}

/// How a document is to be cut; `None` where nothing is said.
///
/// # Errors
/// The limit that is passed, and the mend.
pub fn cutting(wanted: &IndexArguments) -> Result<Option<Cutting>, String> {
    let (method, size, overlap) = (&wanted.method, wanted.chunk_size, wanted.chunk_overlap);
    if method.is_none() && size.is_none() && overlap.is_none() {
        return Ok(None);
    }
    let method = method.as_deref().map(str::parse::<Method>).transpose()?;
    let usual = ChunkSettings::default();
    let settings = if method.is_some_and(Method::counts_characters) {
        let characters = size.unwrap_or(usual.characters());
        let shared = overlap.unwrap_or(usual.character_overlap().min(characters / 2));
        ChunkSettings::checked(usual.tokens_max(), usual.overlap(), characters, shared)?
    } else {
        let (tokens, shared) = (size.unwrap_or(usual.tokens_max()), overlap.unwrap_or(usual.overlap()));
        ChunkSettings::checked(tokens, shared, usual.characters(), usual.character_overlap())?
    };
    Ok(Some(Cutting { method, settings }))
}

/// Tags, sorted, each once.
///
/// # Errors
/// The limit that is passed.
pub fn tags(mut tags: Vec<String>) -> Result<Vec<String>, String> {
    if tags.len() > TAGS_MAX {
        return Err(format!("{} tags or kinds, {TAGS_MAX} are allowed", tags.len()));
    }
    tags.iter().try_for_each(|tag| name_fits("tags", tag, false))?;
    tags.sort_unstable();
    tags.dedup();
    Ok(tags)
}

/// Checks a name.
///
/// # Errors
/// The limit that is passed.
pub fn name_fits(what: &str, name: &str, may_be_empty: bool) -> Result<(), String> {
    let letters = name.chars().count();
    let is_missing = name.trim().is_empty() && !may_be_empty;
    if is_missing || letters > NAME_CHARS_MAX || name.chars().any(char::is_control) {
        return Err(format!("'{what}' is a name of 1 to {NAME_CHARS_MAX} characters, without control characters"));
    }
    Ok(())
}

/// A text of one line, without what is secret in it.
///
/// # Errors
/// The limit that is passed, and the mend.
pub fn one_line(name: &str, text: &str, limit: usize, mend: &str) -> Result<String, String> {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = text.trim().to_owned();
    let letters = text.chars().count();
    if letters == 0 {
        return Err(format!("'{name}' is empty: say what you look for"));
    }
    if letters > limit {
        return Err(format!("'{name}' has {letters} characters, {limit} are allowed: {mend}"));
    }
    // A question is embedded, perhaps elsewhere, and remembered: what is secret in it stays here.
    Ok(cleaned(&text).0.into_owned())
}

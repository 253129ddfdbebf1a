//! What a caller may ask, and what is made of it: limits are checked here and nowhere else.

use std::any::Any;

use chrono::NaiveDate;
use rmcp::handler::server::common::schema_for_type;
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

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
/// The most sources on a page.
const PAGE_MAX: usize = 500;
/// Letters of a question; longer ones are documents.
const QUESTION_CHARS_MAX: usize = 2_000;
/// Letters of a name: of a source, a collection, a conversation.
const NAME_CHARS_MAX: usize = 300;
/// Tags in a filter or of a document.
const TAGS_MAX: usize = 20;
/// Tokens of a context that may be asked for.
const BUDGET_TOKENS_MAX: usize = 16_000;
/// Tokens of a context where nothing is said.
const USUAL_BUDGET: u32 = BUDGET_TOKENS as u32;
/// Unknown arguments that are named back.
const IGNORED_MAX: usize = 10;

/// Arguments of `search_documents`, and of `POST /search`. What a name says needs no docstring: models read them all.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct SearchArguments {
    /// A whole question, or an exact code or name.
    query: String,
    #[serde(default = "number::<5>")]
    #[schemars(range(min = 1, max = 20))]
    top_k: u32,
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    min_score: f64,
    /// Only sources whose name begins with this.
    #[serde(default)]
    source: String,
    #[serde(default)]
    collection: String,
    /// Only sources that have all of these.
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    source_types: Vec<String>,
    /// Only sources dated this day or later.
    #[serde(default)]
    since: Option<NaiveDate>,
    #[serde(default)]
    until: Option<NaiveDate>,
    /// A name of your choice: what it was shown within the hour is not brought again.
    #[serde(default)]
    conversation: String,
    /// Bring the whole section of each hit.
    #[serde(default)]
    expand: bool,
    /// Tokens that `context` may take.
    #[serde(default = "number::<USUAL_BUDGET>")]
    #[schemars(range(min = 100, max = 16_000))]
    budget_tokens: u32,
    /// `bypass` takes and keeps nothing remembered.
    #[serde(default)]
    cache: CachePolicy,
    #[serde(default = "yes")]
    allow_partial: bool,
}

fn yes() -> bool {
    true
}

/// Whether a remembered answer may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CachePolicy {
    #[default]
    Use,
    Bypass,
}

/// Arguments of `index_document`: exactly one of `text`, `file` and `url`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IndexArguments {
    /// Markdown headings become sections.
    pub(super) text: Option<String>,
    /// Instead of a text: a path below the folder that the operator allows.
    pub(super) file: Option<String>,
    /// Instead of a text: a public http or https address.
    pub(super) url: Option<String>,
    /// The name that hits cite; needed with `text`.
    pub(super) source: String,
    #[serde(default = "plain")]
    pub(super) source_type: String,
    pub(super) collection: String,
    pub(super) tags: Vec<String>,
    /// The day its content is of.
    pub(super) date: Option<NaiveDate>,
    /// How soon it changes.
    pub(super) volatility: Volatility,
    /// How it is cut: `markdown`, `code`, `topics`, `fixed` or `parent_child`.
    pub(super) method: Option<String>,
    /// Tokens, 32 to 500; with `fixed` characters, 64 to 2,000.
    pub(super) chunk_size: Option<usize>,
    /// Sentences, 0 to 3; with `fixed` characters.
    pub(super) chunk_overlap: Option<usize>,
}

/// Arguments of `list_sources`, and of `GET /sources`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ListArguments {
    /// `next_cursor` of the page before.
    #[serde(default)]
    cursor: String,
    #[serde(default = "number::<100>")]
    #[schemars(range(min = 1, max = 500))]
    limit: u32,
}

fn number<const N: u32>() -> u32 {
    N
}

/// The kind of a document where nobody says one.
pub const PLAIN_TYPE: &str = "document";

fn plain() -> String {
    PLAIN_TYPE.to_owned()
}

/// Reads arguments.
///
/// # Errors
/// What does not fit, and where to look.
pub fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| format!("{error}. See the tool's input schema."))
}

/// Names of arguments that a type has no field for.
pub fn strange<T: JsonSchema + Any>(arguments: &JsonObject) -> Vec<String> {
    let schema = schema_for_type::<T>();
    let known = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(JsonObject::keys);
    unknown(arguments, &known.map(String::as_str).collect::<Vec<_>>())
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
    name_fits("collection", &wanted.collection, true)?;
    name_fits("conversation", &wanted.conversation, true)?;
    let top_k = usize::try_from(wanted.top_k).unwrap_or(TOP_K_MAX).clamp(1, TOP_K_MAX);
    let budget_tokens = usize::try_from(wanted.budget_tokens).unwrap_or(0);
    if !(100..=BUDGET_TOKENS_MAX).contains(&budget_tokens) {
        return Err(format!("'budget_tokens' is between 100 and {BUDGET_TOKENS_MAX}"));
    }
    let filter = Filter {
        source: wanted.source,
        collection: (!wanted.collection.is_empty()).then_some(wanted.collection),
        collections: None,
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
        may_be_partial: wanted.allow_partial,
    })
}

/// The name that a page of sources comes after, empty for the first, and how many it has at most.
///
/// # Errors
/// A cursor that is none of ours, and the mend.
pub fn page(wanted: ListArguments) -> Result<(String, usize), String> {
    let after = wanted.cursor.split_once('.').map_or("", |(_, name)| name);
    if !wanted.cursor.is_empty() && wanted.cursor != cursor(after) {
        return Err("'cursor' is no `next_cursor` of this list: send one as it was given, or none to begin".to_owned());
    }
    let limit = usize::try_from(wanted.limit).unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
    Ok((after.to_owned(), limit))
}

/// What asks for the page after a name, which may be gone by then; the digest tells it from what was made up.
pub fn cursor(name: &str) -> String {
    format!("{}.{name}", digest(name, 4))
}

/// The first bytes of a text's digest, as they are written.
pub fn digest(text: &str, bytes: usize) -> String {
    Sha256::digest(text.as_bytes()).iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}

/// A document whose facts are within their limits, and how it is to be cut; `None` where nothing is said.
///
/// # Errors
/// The limit that is passed, and the mend.
pub fn document(mut wanted: IndexArguments) -> Result<(IndexArguments, Option<Cutting>), String> {
    let ways = [&wanted.text, &wanted.file, &wanted.url].into_iter().filter(|way| way.is_some()).count();
    if ways != 1 {
        return Err("send exactly one of 'text', 'file' and 'url'".to_owned());
    }
    name_fits("source", &wanted.source, wanted.text.is_none())?;
    name_fits("source_type", &wanted.source_type, false)?;
    name_fits("collection", &wanted.collection, true)?;
    wanted.tags = tags(wanted.tags)?;
    let cutting = cutting(&wanted)?;
    Ok((wanted, cutting))
}

fn cutting(wanted: &IndexArguments) -> Result<Option<Cutting>, String> {
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

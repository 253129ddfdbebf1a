//! The tools over MCP: what a model reads of them, what it may ask, and how it is answered.
//!
//! Three focused tools; no step of retrieval is exposed alone. Descriptions are prompts, for a model
//! is who reads them. A bad argument is answered by name with what would be right, an unknown one is
//! tolerated and named, a panic is answered too.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use chrono::Utc;
use futures_util::FutureExt as _;
use rmcp::handler::server::common::{schema_for_output, schema_for_type};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ErrorData, Implementation, JsonObject, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::rag::fault::kinds::{Drift, Fault};
use crate::rag::find::retrieval::{Question, RetrievalError};
use crate::rag::index::library::DOCUMENT_CHARS_MAX;
use crate::rag::serve::answer::{self, Envelope, IndexData, SearchData, SourcesData};
use crate::rag::serve::life::Life;
use crate::rag::store::sqlite::{self, StoreError};

/// The most hits a search gives.
pub const TOP_K_MAX: usize = 20;
/// Letters of a question; longer ones are documents.
const QUESTION_CHARS_MAX: usize = 2_000;
/// Letters of a source's name.
const SOURCE_CHARS_MAX: usize = 300;
/// Unknown arguments that are named back.
const IGNORED_MAX: usize = 10;

/// The MCP side of a life.
#[derive(Debug, Clone)]
pub struct Desk(pub Arc<Life>);

/// Arguments of `search_documents`.
#[derive(Debug, Deserialize, JsonSchema)]
struct SearchArguments {
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
}

/// Arguments of `index_document`.
#[derive(Debug, Deserialize, JsonSchema)]
struct IndexArguments {
    /// The document's text; Markdown headings become sections. At most 200,000 characters.
    text: String,
    /// The name hits will cite, such as `notes/2026-11-21.md`. A source indexed again is replaced.
    source: String,
    /// What kind of source it is, such as `document` or `note`.
    #[serde(default = "document")]
    source_type: String,
}

/// Arguments of `list_sources`: none.
#[derive(Debug, Deserialize, JsonSchema)]
struct NoArguments {}

fn five() -> u32 {
    5
}

fn document() -> String {
    "document".to_owned()
}

const SEARCH: &str = "Search the indexed documentation and get the passages that answer a question, best first. Use it \
    before you answer anything about this server, its runbooks or retrieval in general, and cite the `source` of what \
    you use. Works by words and by meaning at once: `{\"query\": \"how long does an unused token live?\"}` finds \
    text that says it differently, `{\"query\": \"RAG-1107\"}` finds an exact code. An empty list means that \
    nothing fits: say so, and do not answer from memory.";
const INDEX: &str = "Add a document to the index, or replace it if its `source` is there already; it can be searched when \
    this returns. Use it when a user hands you text to remember, as in `{\"source\": \"notes/standup.md\", \"text\": \
    \"# Standup\\n…\"}`. Do not send secrets.";
const LIST: &str = "List what is indexed: every source with its number of chunks and when it was last indexed. Use it to see \
    whether a document is known at all, or too old to be trusted.";
/// What a careless rewording looks like.
const SEARCH_REWORDED: &str = "Searches documents.";

impl ServerHandler for Desk {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(self.0.name.clone(), env!("CARGO_PKG_VERSION")))
            .with_instructions("Call search_documents before you answer, and cite the sources you used.")
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.clone();
        let call = AssertUnwindSafe(self.call(&name, request.arguments.unwrap_or_default()));
        let answered = call.catch_unwind().await.unwrap_or_else(|_panic| {
            tracing::error!(tool = %name, "a tool panicked");
            Ok(result::<()>(&Envelope::error("INTERNAL_ERROR", "The tool broke off. Ask again.".to_owned())))
        });
        answered.map(CallToolResponse::from)
    }

    // Lists that were never declared do not exist, rather than being empty.
    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}

impl Desk {
    fn drift(&self) -> Option<Drift> {
        self.0.faults.dose(Fault::SchemaDrift).map(|dose| dose.drift)
    }

    fn tools(&self) -> Vec<Tool> {
        let mut schema = JsonObject::clone(&schema_for_type::<SearchArguments>());
        let mut description = SEARCH;
        match self.drift() {
            None => {}
            Some(Drift::Wording) => description = SEARCH_REWORDED,
            Some(Drift::Compatible) => {
                let lang = json!({"type": "string", "default": "", "description": "Only sources in this language."});
                schema
                    .get_mut("properties")
                    .and_then(Value::as_object_mut)
                    .map(|all| all.insert("language".to_owned(), lang));
            }
            Some(Drift::Breaking) => {
                let all = schema.get_mut("properties").and_then(Value::as_object_mut);
                all.and_then(|all| all.remove("query").map(|query| all.insert("question".to_owned(), query)));
                schema.insert("required".to_owned(), json!(["question"]));
            }
        }
        vec![
            Tool::new("search_documents", description, Arc::new(schema))
                .with_raw_output_schema(schema_for_output::<Envelope<SearchData>>())
                .with_annotations(ToolAnnotations::with_title("Search documents").read_only(true).open_world(false)),
            Tool::new("index_document", INDEX, schema_for_type::<IndexArguments>())
                .with_raw_output_schema(schema_for_output::<Envelope<IndexData>>())
                .with_annotations(
                    ToolAnnotations::with_title("Index a document")
                        .destructive(true)
                        .idempotent(true)
                        .open_world(false),
                ),
            Tool::new("list_sources", LIST, schema_for_type::<NoArguments>())
                .with_raw_output_schema(schema_for_output::<Envelope<SourcesData>>())
                .with_annotations(ToolAnnotations::with_title("List sources").read_only(true).open_world(false)),
        ]
    }

    async fn call(&self, name: &str, mut arguments: JsonObject) -> Result<CallToolResult, ErrorData> {
        match name {
            "search_documents" => {
                if self.drift() == Some(Drift::Breaking) {
                    // The new name is the only one the code knows now.
                    arguments.remove("query");
                    if let Some(question) = arguments.remove("question") {
                        arguments.insert("query".to_owned(), question);
                    }
                }
                Ok(result(&self.search(arguments).await))
            }
            "index_document" => Ok(result(&self.index(arguments).await)),
            "list_sources" => Ok(result(&self.sources().await)),
            _ => Err(ErrorData::invalid_params(
                "there is no such tool; there are search_documents, index_document and list_sources",
                None,
            )),
        }
    }

    async fn search(&self, arguments: JsonObject) -> Envelope<SearchData> {
        if self.0.faults.strikes(Fault::Panic).is_some() {
            std::panic::panic_any("as requested");
        }
        let ignored = unknown(&arguments, &["query", "top_k", "min_score", "source"]);
        let wanted = match read::<SearchArguments>(arguments) {
            Ok(wanted) => wanted,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        let question = match question(wanted) {
            Ok(question) => question,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        let operation = uuid::Uuid::now_v7();
        match self.0.retrieval.search(&question).await {
            Ok(findings) => {
                let (hits, digest) = (findings.hits.len(), digest(&question.text));
                tracing::info!(%operation, query = digest, hits, "searched");
                Envelope::ok(answer::search(question, findings, ignored))
            }
            Err(error) => {
                tracing::warn!(%operation, query = digest(&question.text), %error, "search failed");
                Envelope::failed(&format!("Searching for \"{}\"", question.text), &error)
            }
        }
    }

    async fn index(&self, arguments: JsonObject) -> Envelope<IndexData> {
        let ignored = unknown(&arguments, &["text", "source", "source_type"]);
        let wanted = match read::<IndexArguments>(arguments).and_then(document_fits) {
            Ok(wanted) => wanted,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        let library = &self.0.retrieval.library;
        match library.put(&wanted.source, &wanted.source_type, &wanted.text, Utc::now()).await {
            Ok(indexed) => {
                tracing::info!(source = wanted.source, chunks = indexed.chunks, indexed.unchanged, "indexed");
                Envelope::ok(IndexData {
                    source: wanted.source,
                    chunk_count: indexed.chunks,
                    unchanged: indexed.unchanged,
                    ignored_arguments: ignored,
                })
            }
            Err(error) => {
                tracing::warn!(source = wanted.source, %error, "indexing failed");
                Envelope::failed(&format!("Indexing \"{}\"", wanted.source), &RetrievalError::Store(error))
            }
        }
    }

    async fn sources(&self) -> Envelope<SourcesData> {
        let listed: Result<_, StoreError> =
            async { sqlite::sources(&mut *self.0.retrieval.library.store.acquire().await?).await }.await;
        match listed {
            Ok(sources) => Envelope::ok(answer::sources(sources)),
            Err(error) => {
                tracing::warn!(%error, "listing sources failed");
                Envelope::failed("Listing sources", &RetrievalError::Store(error))
            }
        }
    }
}

/// The envelope as structured content, and as text for callers that read only text.
fn result<T: Serialize>(envelope: &Envelope<T>) -> CallToolResult {
    let is_error = envelope.status == "error";
    match serde_json::to_value(envelope) {
        Ok(value) if is_error => CallToolResult::structured_error(value),
        Ok(value) => CallToolResult::structured(value),
        Err(error) => CallToolResult::structured_error(json!({
            "status": "error", "data": null, "error_code": "INTERNAL_ERROR", "error_message": error.to_string(),
            "partial": false, "degraded_scopes": [],
        })),
    }
}

fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| format!("{error}. See the tool's input schema."))
}

/// Names of arguments that a tool does not know.
fn unknown(arguments: &JsonObject, known: &[&str]) -> Vec<String> {
    let strange = arguments.keys().filter(|name| !known.contains(&name.as_str()));
    strange.take(IGNORED_MAX).map(|name| name.chars().filter(|c| !c.is_control()).take(60).collect()).collect()
}

fn question(wanted: SearchArguments) -> Result<Question, String> {
    let text: String = wanted.query.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = text.trim().to_owned();
    let letters = text.chars().count();
    if letters == 0 {
        return Err("'query' is empty: ask a question".to_owned());
    }
    if letters > QUESTION_CHARS_MAX {
        return Err(format!("'query' has {letters} characters, {QUESTION_CHARS_MAX} are allowed: ask less at once"));
    }
    if !(0.0..=1.0).contains(&wanted.min_score) {
        return Err("'min_score' is between 0 and 1".to_owned());
    }
    let top_k = usize::try_from(wanted.top_k).unwrap_or(TOP_K_MAX).clamp(1, TOP_K_MAX);
    Ok(Question { text, top_k, min_score: wanted.min_score, source: wanted.source })
}

fn document_fits(wanted: IndexArguments) -> Result<IndexArguments, String> {
    for (name, value) in [("source", &wanted.source), ("source_type", &wanted.source_type)] {
        let letters = value.chars().count();
        if value.trim().is_empty() || letters > SOURCE_CHARS_MAX || value.chars().any(char::is_control) {
            return Err(format!(
                "'{name}' is a name of 1 to {SOURCE_CHARS_MAX} characters, without control characters"
            ));
        }
    }
    let letters = wanted.text.chars().count();
    if wanted.text.trim().is_empty() {
        return Err("'text' is empty: send the document's text".to_owned());
    }
    if letters > DOCUMENT_CHARS_MAX {
        return Err(format!("'text' has {letters} characters, {DOCUMENT_CHARS_MAX} are allowed: split the document"));
    }
    Ok(wanted)
}

/// A question in the log: the same for the same words, and not the words.
fn digest(question: &str) -> String {
    Sha256::digest(question.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

//! The tools over MCP: what a model reads of them, what it may ask, and how it is answered.
//!
//! A few focused tools; no step of retrieval is exposed alone. Descriptions are prompts, for a model
//! is who reads them. A bad argument is answered by name with what would be right, an unknown one is
//! tolerated and named, a panic is answered too.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use rmcp::handler::server::common::{schema_for_output, schema_for_type};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ErrorData, Implementation, JsonObject, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::Serialize;
use serde_json::json;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::serve::answer::{Envelope, IndexData, SearchData, SourcesData};
use crate::serve::arguments::{IndexArguments, NoArguments, SearchArguments};
#[cfg(feature = "project")]
use crate::serve::codebase;
#[cfg(feature = "vectors")]
use crate::serve::embedding;
#[cfg(feature = "strict")]
use crate::serve::schemas;
use crate::serve::state::ServerState;

/// The MCP side of a server.
#[derive(Debug, Clone)]
pub struct McpHandler(pub Arc<ServerState>);

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
impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(self.0.name.clone(), env!("CARGO_PKG_VERSION")))
            .with_instructions("Call search_documents before you answer, and cite the sources you used.")
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if page.is_some_and(|page| page.cursor.is_some()) {
            return Err(ErrorData::invalid_params("there is no such cursor: the list has one page", None));
        }
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
            Ok(result::<()>(Envelope::error("INTERNAL_ERROR", "The tool broke off. Ask again.".to_owned())))
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

impl McpHandler {
    fn tools(&self) -> Vec<Tool> {
        let tools = vec![
            Tool::new("search_documents", SEARCH, schema_for_type::<SearchArguments>())
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
        ];
        #[cfg(feature = "vectors")]
        let tools = [tools, vec![embedding::tool()]].concat();
        #[cfg(feature = "project")]
        let tools = [tools, codebase::tools()].concat();
        #[cfg(feature = "strict")]
        let tools = tools.into_iter().map(schemas::plain).collect();
        tools
    }

    async fn call(&self, name: &str, arguments: JsonObject) -> Result<CallToolResult, ErrorData> {
        let state = &self.0;
        let operation = Uuid::now_v7().to_string();
        let span = tracing::info_span!("call", operation, tool = name);
        let answering = async {
            Ok(match name {
                "search_documents" => result(state.search(arguments).await.of(&operation)),
                "index_document" => result(state.index(arguments).await.of(&operation)),
                "list_sources" => result(state.sources().await.of(&operation)),
                #[cfg(feature = "vectors")]
                "generate_embedding" => result(state.embedding(arguments).await.of(&operation)),
                #[cfg(feature = "project")]
                "check_constraints" => result(state.constraints(arguments).await.of(&operation)),
                #[cfg(feature = "project")]
                "query_impact" => result(state.impact(arguments).await.of(&operation)),
                _ => {
                    let known = self.tools().iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>().join(", ");
                    return Err(ErrorData::invalid_params(format!("there is no such tool; there are {known}"), None));
                }
            })
        };
        answering.instrument(span).await
    }
}

/// The envelope as structured content, and as text for callers that read only text.
fn result<T: Serialize>(envelope: Envelope<T>) -> CallToolResult {
    let is_error = envelope.status == "error";
    match serde_json::to_value(&envelope) {
        Ok(value) if is_error => CallToolResult::structured_error(value),
        Ok(value) => CallToolResult::structured(value),
        Err(error) => CallToolResult::structured_error(json!({
            "status": "error", "data": null, "error_code": "INTERNAL_ERROR", "error_message": error.to_string(),
            "partial": false, "degraded_scopes": [], "operation_id": envelope.operation_id,
        })),
    }
}

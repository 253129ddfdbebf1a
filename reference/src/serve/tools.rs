//! The tools over MCP: what a model reads of them, what it may ask, and how it is answered.
//!
//! A few focused tools; no step of retrieval is exposed alone. Descriptions are prompts, for a model is who reads
//! them. A bad argument is answered by name with what would be right, an unknown one is tolerated and named.

use std::sync::Arc;

use rmcp::handler::server::common::{schema_for_output, schema_for_type};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ErrorData, Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::Serialize;

use crate::serve::answer::{Envelope, IndexData, SearchData, SourcesData};
use crate::serve::arguments::{IndexArguments, ListArguments, SearchArguments};
use crate::serve::state::ServerState;
use crate::serve::work::answered;

/// The MCP side of a server.
#[derive(Debug, Clone)]
pub struct McpHandler(pub Arc<ServerState>);

type Page = Option<PaginatedRequestParams>;
type Context = RequestContext<RoleServer>;

const INDEX: &str = "Adds a document to the index, or replaces the one of the same `source`; it can be searched when this \
    returns. Use it when a user hands you text to remember. Send no secrets.";
const LIST: &str = "Lists what is indexed, page by page: sources by name, their chunks, when they were last indexed. Use it \
    to see whether a document is known at all, or too old to be trusted.";

/// The search, for whoever is to know when to use it: by what is searched.
fn search(subject: &str) -> String {
    format!(
        "Searches {subject}. Use it before you answer anything about that, and cite the `source` of what you use. An \
         empty list means that nothing fits: say so, and do not answer from memory."
    )
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(self.0.name.clone(), env!("CARGO_PKG_VERSION")))
            .with_instructions(format!(
                "This server searches {}. Call search_documents before you answer, and cite the sources you used.",
                self.0.subject
            ))
    }

    async fn list_tools(&self, page: Page, _: Context) -> Result<ListToolsResult, ErrorData> {
        if page.is_some_and(|page| page.cursor.is_some()) {
            return Err(ErrorData::invalid_params("there is no such cursor: the list has one page", None));
        }
        Ok(ListToolsResult::with_all_items(listed(&self.0.subject)))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        #[cfg(feature = "tenants")]
        if self.0.tenants.is_some() {
            let asker = crate::tenants::door::asker(&context);
            return Box::pin(asker.answered(self.called(request, context))).await;
        }
        Box::pin(self.called(request, context)).await
    }

    // Lists that were never declared do not exist, rather than being empty.
    async fn list_prompts(&self, _: Page, _: Context) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(&self, _: Page, _: Context) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(&self, _: Page, _: Context) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(&self, _: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}

impl McpHandler {
    #[cfg_attr(not(feature = "remote"), expect(unused_variables, reason = "nothing takes long"))]
    async fn called(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let (state, name, arguments) = (&self.0, &*request.name, request.arguments.unwrap_or_default());
        let answer = match name {
            "search_documents" => result(answered(name, state.search(arguments)).await),
            #[cfg(feature = "remote")]
            "index_document" => {
                result(crate::serve::progress::telling(context, answered(name, state.index(arguments))).await)
            }
            #[cfg(not(feature = "remote"))]
            "index_document" => result(answered(name, state.index(arguments)).await),
            "list_sources" => result(answered(name, state.sources(arguments)).await),
            #[cfg(feature = "vectors")]
            "generate_embedding" => result(answered(name, state.embedding(arguments)).await),
            #[cfg(feature = "project")]
            "check_constraints" => result(answered(name, state.constraints(arguments)).await),
            #[cfg(feature = "project")]
            "query_impact" => result(answered(name, state.impact(arguments)).await),
            _ => {
                let known = listed("").iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>().join(", ");
                return Err(ErrorData::invalid_params(format!("there is no such tool; there are {known}"), None));
            }
        };
        Ok(answer.into())
    }
}

/// The tools of a server that searches this subject.
pub fn listed(subject: &str) -> Vec<Tool> {
    let looks = |title| ToolAnnotations::with_title(title).read_only(true).open_world(false);
    let writes = ToolAnnotations::with_title("Index a document").destructive(true).idempotent(true).open_world(false);
    let tools = vec![
        Tool::new("search_documents", search(subject), schema_for_type::<SearchArguments>())
            .with_raw_output_schema(schema_for_output::<Envelope<SearchData>>())
            .with_annotations(looks("Search documents")),
        Tool::new("index_document", INDEX, schema_for_type::<IndexArguments>())
            .with_raw_output_schema(schema_for_output::<Envelope<IndexData>>())
            .with_annotations(writes),
        Tool::new("list_sources", LIST, schema_for_type::<ListArguments>())
            .with_raw_output_schema(schema_for_output::<Envelope<SourcesData>>())
            .with_annotations(looks("List sources")),
    ];
    #[cfg(feature = "vectors")]
    let tools = [tools, vec![crate::serve::embedding::tool()]].concat();
    #[cfg(feature = "project")]
    let tools = [tools, crate::serve::codebase::tools()].concat();
    #[cfg(feature = "strict")]
    let tools = tools.into_iter().map(crate::serve::schemas::plain).collect();
    tools
}

/// The envelope as structured content, and as text for callers that read only text.
fn result<T: Serialize>(envelope: Envelope<T>) -> CallToolResult {
    // All of them are plain data, which is always JSON.
    let value = serde_json::to_value(&envelope).unwrap_or_default();
    if envelope.status == "error" { CallToolResult::structured_error(value) } else { CallToolResult::structured(value) }
}

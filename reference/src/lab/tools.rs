//! Tools whose descriptions and schemas drift, or whose answers hold no scores, on request.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ErrorData,
    JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::serve::tools::McpHandler;

/// The tool that drifts.
const DRIFTS: &str = "search_documents";
/// What a hit says of how well it fits.
const SCORES: [&str; 4] = ["score", "final_score", "fused_score", "semantic_score"];
/// What a careless rewording looks like.
const REWORDED: &str = "Searches documents.";

/// The tools behind the switchboard.
#[derive(Debug, Clone)]
pub struct DriftingTools {
    inner: McpHandler,
    faults: Faults,
}

impl DriftingTools {
    /// Tools that drift as the switches say.
    pub fn new(inner: McpHandler, faults: Faults) -> Self {
        Self { inner, faults }
    }

    fn drift(&self) -> Option<&'static str> {
        self.faults.dose(Fault::SchemaDrift).map(|dose| dose.mode)
    }

    fn hides_scores(&self) -> bool {
        self.faults.dose(Fault::ScoresHidden).is_some()
    }
}

/// The tool after its drift.
fn drifted(mut tool: Tool, drift: &str) -> Tool {
    let mut schema = JsonObject::clone(&tool.input_schema);
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    match drift {
        "wording" => tool.description = Some(REWORDED.into()),
        "compatible" => {
            let lang = json!({"type": "string", "default": "", "description": "Only sources in this language."});
            properties.map(|all| all.insert("language".to_owned(), lang));
        }
        _breaking => {
            properties.and_then(|all| all.remove("query").map(|query| all.insert("question".to_owned(), query)));
            schema.insert("required".to_owned(), json!(["question"]));
        }
    }
    tool.input_schema = Arc::new(schema);
    tool
}

/// An answer without its scores; one that is no list of hits as it is.
fn unscored(response: CallToolResponse) -> CallToolResponse {
    let CallToolResponse::Complete(mut answer) = response else { return response };
    let Some(mut envelope) = answer.structured_content.take() else { return answer.into() };
    let hits = envelope.pointer_mut("/data/results").and_then(Value::as_array_mut);
    for hit in hits.into_iter().flatten().filter_map(Value::as_object_mut) {
        hit.retain(|name, _| !SCORES.contains(&name.as_str()));
    }
    let mut bare = CallToolResult::structured(envelope);
    bare.is_error = answer.is_error;
    bare.into()
}

impl ServerHandler for DriftingTools {
    fn get_info(&self) -> ServerConfig {
        self.inner.get_info()
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = self.inner.list_tools(page, context).await?;
        if let Some(drift) = self.drift() {
            let tool = |tool: Tool| if tool.name == DRIFTS { drifted(tool, drift) } else { tool };
            listed.tools = listed.tools.into_iter().map(tool).collect();
        }
        if self.hides_scores() {
            // Promised to nobody: a caller may hold an answer against it.
            listed.tools.iter_mut().filter(|tool| tool.name == DRIFTS).for_each(|tool| tool.output_schema = None);
        }
        Ok(listed)
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == DRIFTS && self.drift() == Some("breaking") {
            // The new name is the only one the code knows now.
            let arguments = request.arguments.get_or_insert_default();
            arguments.remove("query");
            if let Some(question) = arguments.remove("question") {
                arguments.insert("query".to_owned(), question);
            }
        }
        let hides = request.name == DRIFTS && self.hides_scores();
        let response = self.inner.call_tool(request, context).await?;
        Ok(if hides { unscored(response) } else { response })
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.inner.list_prompts(page, context).await
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.inner.list_resources(page, context).await
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.inner.list_resource_templates(page, context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.inner.complete(request, context).await
    }
}

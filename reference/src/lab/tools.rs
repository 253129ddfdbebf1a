//! Tools whose descriptions and schemas drift, on request.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorData, JsonObject,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::serve::tools::McpHandler;

/// The tool that drifts.
const DRIFTS: &str = "search_documents";
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
        self.inner.call_tool(request, context).await
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

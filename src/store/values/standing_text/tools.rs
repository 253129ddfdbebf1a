//! Which tools were seen last, without their list.

use serde::{Deserialize, Serialize};

use super::moment;
use crate::domain::protocol::Era;
use crate::domain::tools::{Instruction, KnownCalls};
use crate::live::published::SlimTools;
use crate::store::values::error::StoreError;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ToolsText {
    hash: String,
    seen_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    era: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    search_tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    invalid_call: Option<String>,
    /// Known, broken, and why: the canary's id and what does not fit.
    #[serde(default)]
    calls: (u32, u32, Vec<(String, String)>),
    /// Tool, place, sign and excerpt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    instructions: Vec<[String; 4]>,
}

pub(super) fn written(tools: &SlimTools) -> ToolsText {
    let instruction = |it: &Instruction| [&it.tool, &it.place, &it.sign, &it.excerpt].map(Clone::clone);
    let KnownCalls { known, broken, why } = tools.calls.clone();
    ToolsText {
        hash: tools.hash.clone(),
        seen_at: tools.seen_at.timestamp_micros(),
        era: tools.era.map(|era| era.slug().to_owned()),
        tokens: tools.tokens,
        search_tool: tools.search_tool.clone(),
        invalid_call: tools.invalid_call.clone(),
        calls: (known, broken, why),
        instructions: tools.instructions.iter().map(instruction).collect(),
    }
}

pub(super) fn read(text: ToolsText) -> Result<SlimTools, StoreError> {
    let (known, broken, why) = text.calls;
    let instruction = |[tool, place, sign, excerpt]: [String; 4]| Instruction { tool, place, sign, excerpt };
    Ok(SlimTools {
        hash: text.hash,
        seen_at: moment(text.seen_at)?,
        era: text.era.and_then(|era| Era::from_slug(&era)),
        tokens: text.tokens,
        search_tool: text.search_tool,
        invalid_call: text.invalid_call,
        calls: KnownCalls { known, broken, why },
        instructions: text.instructions.into_iter().map(instruction).collect(),
    })
}

//! A tools/call result as it stands on the wire.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::fault::FaultKind;
use crate::probe::decode::rpc::Misfit;
use crate::untrusted_text::readable;

/// A tools/call result as it came.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallResult<'a> {
    #[serde(borrow)]
    pub(super) result_type: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) ttl_ms: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) cache_scope: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) structured_content: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) content: Vec<ContentBlock>,
    #[serde(default)]
    pub(super) is_error: bool,
}

/// One block of its content.
#[derive(Deserialize)]
pub(super) struct ContentBlock {
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    resource: Option<Value>,
}

impl ContentBlock {
    /// Its text, or that of the resource in it; none: an image, a link.
    pub(super) fn told(&self) -> Option<&str> {
        self.text.as_deref().or_else(|| self.resource.as_ref()?.get("text")?.as_str())
    }
}

/// Reads one.
///
/// # Errors
/// `BadResult` where it is none.
pub(super) fn call_result(result: &RawValue) -> Result<CallResult<'_>, Misfit> {
    // A struct can be read from an array, too.
    let object = Some(result.get()).filter(|text| text.starts_with('{'));
    object.and_then(|text| serde_json::from_str(text).ok()).ok_or_else(|| Misfit {
        kind: FaultKind::BadResult,
        detail: format!("no tools/call result: {}", readable(result.get().as_bytes())),
    })
}

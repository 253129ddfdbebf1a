//! tools/list, over all its pages.

use serde_json::Value;

use crate::domain::observation::{Fault, FaultKind};
use crate::domain::protocol::Era;
use crate::probe::call::{Call, Caller};
use crate::probe::clock::Clock;
use crate::probe::discover::modern_result;
use crate::probe::evidence::readable;
use crate::probe::tools::TOOLS_MAX;

/// Pages of one tools/list: a thousand tools at twenty a page.
const PAGES_MAX: usize = 50;

/// Bytes of tools/list over all its pages.
const TOOLS_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Every tool, as the server describes it in this era.
pub(crate) async fn all_pages(caller: &mut Caller<'_>, era: Era, clock: &mut Clock) -> Result<Vec<Value>, Fault> {
    let mut tools = Vec::new();
    let mut cursors: Vec<String> = Vec::new();
    let mut bytes = 0;
    loop {
        let params =
            cursors.last().map(|cursor| format!(r#""cursor":{}"#, Value::from(cursor.as_str()))).unwrap_or_default();
        let call = Call { method: "tools/list", params: &params, ..Call::default() };
        let raw = caller.ask(era, &call, clock).await.map_err(|broken| broken.fault)?;
        if era == Era::Modern {
            modern_result(&raw, true, caller, clock)?;
        }
        bytes += raw.get().len();
        let mut page: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let Some(Value::Array(list)) = page.get_mut("tools").map(Value::take) else {
            let detail = format!("tools/list has no list of tools: {}", readable(raw.get().as_bytes()));
            return Err(caller.scrub.fault(FaultKind::BadResult, &detail));
        };
        tools.extend(list);
        let next = match page.get("nextCursor") {
            Some(Value::String(next)) => next.clone(),
            _ => return Ok(tools),
        };
        if cursors.contains(&next) {
            let detail = format!("after {} pages the cursor {next} came again", cursors.len() + 1);
            return Err(caller.scrub.fault(FaultKind::CursorLoop, &detail));
        }
        cursors.push(next);
        if cursors.len() >= PAGES_MAX || tools.len() > TOOLS_MAX || bytes > TOOLS_BYTES_MAX {
            let detail =
                format!("tools/list has more than {PAGES_MAX} pages, {TOOLS_MAX} tools or {TOOLS_BYTES_MAX} bytes");
            return Err(caller.scrub.fault(FaultKind::TooLarge, &detail));
        }
    }
}

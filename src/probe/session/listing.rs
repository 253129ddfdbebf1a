//! tools/list, over all its pages: counted before anything is built of it, and built, hashed and compared aside.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::Monitor;
use crate::domain::observation::ToolsSeen;
use crate::domain::protocol::Era;
use crate::probe::session::caller::Caller;
use crate::probe::session::discover::modern_result;
use crate::probe::session::message::Call;
use crate::probe::session::offload::offload;
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::reply::ANSWER_BYTES_MAX;
use crate::tool_lists::known::KnownLists;
use crate::tool_lists::tools::{self, TOOLS_MAX};
use crate::untrusted_text::readable;

/// Pages of one tools/list: a thousand tools at twenty a page.
const PAGES_MAX: usize = 50;

/// Bytes of tools/list over all its pages: what one answer may have. A large server's hundred tools have some 100 kB.
const LIST_BYTES_MAX: usize = ANSWER_BYTES_MAX;

/// JSON values of one tools/list: two hundred for each of a thousand tools. Built, each may take two hundred bytes.
const PARTS_MAX: usize = 200_000;

/// Tools looked through for instructions in one slice of work: some 10 ms where each is as long as it may be.
const SLICE: usize = 64;

/// Every tool of a server, as it describes them.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    tools: Arc<[Value]>,
    /// What they are as text, by which it is decided where they are worked on.
    bytes: usize,
}

impl std::ops::Deref for Listed {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.tools
    }
}

/// What is known of a page before anything is built of it.
struct ListingPage {
    raw: Box<RawValue>,
    /// Tools and JSON values; none where it has no list of tools.
    counted: Option<(usize, usize)>,
    next: Option<String>,
}

impl ListingPage {
    fn read(raw: Box<RawValue>) -> Self {
        #[derive(Deserialize)]
        struct Outline<'p> {
            tools: Count,
            #[serde(borrow, rename = "nextCursor")]
            next: Option<&'p RawValue>,
        }
        let (counted, next) = match serde_json::from_str::<Outline<'_>>(raw.get()) {
            Ok(outline) => {
                let next = outline.next.and_then(|next| serde_json::from_str(next.get()).ok());
                (Some((outline.tools.0, parts(raw.get()))), next)
            }
            Err(_) => (None, None),
        };
        Self { raw, counted, next }
    }
}

/// How long a list is; its members are passed over.
struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Count;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a list of tools")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Count, A::Error> {
                let mut count = 0;
                while members.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Count(count))
            }
        }
        deserializer.deserialize_seq(Members)
    }
}

/// How many values a JSON text has at most: each stands behind a comma, a colon or a bracket that opens.
fn parts(json: &str) -> usize {
    let (mut parts, mut in_text, mut escaped) = (1, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b':' | b'[' | b'{' if !in_text => parts += 1,
            _ => {}
        }
    }
    parts
}

/// What the pages so far have in all.
#[derive(Default)]
struct Sums {
    pages: usize,
    tools: usize,
    bytes: usize,
    parts: usize,
}

impl Sums {
    /// Why nobody can be asked to look at this; none where it is within the limits.
    fn too_large(&self, goes_on: bool) -> Option<String> {
        let Self { pages, tools, bytes, parts } = self;
        let rows = [
            (*tools, TOOLS_MAX, "tools"),
            (*bytes, LIST_BYTES_MAX, "bytes"),
            (*parts, PARTS_MAX, "JSON values"),
            (pages + usize::from(goes_on), PAGES_MAX, "pages"),
        ];
        let (count, most, what) = rows.into_iter().find(|(count, most, _)| count > most)?;
        Some(format!("tools/list has {count} {what} or more; a probe takes {most}: let the server list fewer tools"))
    }
}

/// Every tool, as the server describes it in this era.
pub(crate) async fn all_pages(caller: &mut Caller<'_>, era: Era, clock: &mut StepClock) -> Result<Listed, Fault> {
    let (mut pages, mut cursors, mut sums) = (Vec::new(), Vec::<String>::new(), Sums::default());
    loop {
        let params =
            cursors.last().map(|cursor| format!(r#""cursor":{}"#, Value::from(cursor.as_str()))).unwrap_or_default();
        let call = Call { method: "tools/list", params: &params, ..Call::default() };
        let raw = caller.ask(era, &call, clock).await.map_err(|broken| broken.fault)?;
        if era == Era::Modern {
            modern_result(&raw, true, caller, clock)?;
        }
        let bytes = raw.get().len();
        let ListingPage { raw, counted, next } = offload(bytes, || ListingPage::read(raw)).await;
        let Some((tools, parts)) = counted else {
            return Err(no_list(caller, &raw));
        };
        sums.pages += 1;
        sums.tools += tools;
        sums.bytes += bytes;
        sums.parts += parts;
        if let Some(detail) = sums.too_large(next.is_some()) {
            return Err(caller.scrub.fault(FaultKind::TooLarge, &detail));
        }
        pages.push(raw);
        let Some(next) = next else { break };
        if cursors.contains(&next) {
            let detail = format!("after {} pages the cursor {next} came again", cursors.len() + 1);
            return Err(caller.scrub.fault(FaultKind::CursorLoop, &detail));
        }
        cursors.push(next);
    }
    built(pages, sums.bytes).await.map_err(|page| no_list(caller, &page))
}

/// The tools of all pages; the first page of which none can be built, where there is one.
async fn built(pages: Vec<Box<RawValue>>, bytes: usize) -> Result<Listed, Box<RawValue>> {
    #[derive(Deserialize)]
    struct Whole {
        tools: Vec<Value>,
    }
    offload(bytes, move || {
        let mut tools = Vec::new();
        for page in pages {
            match serde_json::from_str::<Whole>(page.get()) {
                Ok(whole) => tools.extend(whole.tools),
                Err(_) => return Err(page),
            }
        }
        Ok(Listed { tools: tools.into(), bytes })
    })
    .await
}

fn no_list(caller: &Caller<'_>, page: &RawValue) -> Fault {
    let head = page.get().as_bytes();
    let detail = format!("tools/list has no list of tools: {}", readable(&head[..head.len().min(NO_LIST_BYTES)]));
    caller.scrub.fault(FaultKind::BadResult, &detail)
}

/// Bytes of a page that is no list, as evidence.
const NO_LIST_BYTES: usize = 4 * 1024;

impl Listed {
    /// Reduces the list to what is compared; see [`tools::reduce`].
    pub(crate) async fn reduced(&self, monitor: &Arc<Monitor>, lists: &KnownLists) -> ToolsSeen {
        let (tools, monitor, lists) = (Arc::clone(&self.tools), Arc::clone(monitor), lists.clone());
        offload(self.bytes, move || tools::reduce(&tools, &monitor.search, &lists)).await
    }

    /// Holds it against what is known: looks through a new list, slice by slice, and compares it; see [`tools::hold`].
    pub(crate) async fn held(&self, mut seen: ToolsSeen, monitor: &Arc<Monitor>, lists: &KnownLists) -> ToolsSeen {
        match tools::remembered(&seen, lists) {
            Some(known) => seen.listing = known,
            None => {
                let mut found = Vec::new();
                let mut from = 0;
                while from < self.len() && !tools::is_enough(&found) {
                    let (until, list) = ((from + SLICE).min(self.len()), Arc::clone(&self.tools));
                    let bytes = self.bytes;
                    found.extend(offload(bytes, move || tools::instructing(&list[from..until])).await);
                    from = until;
                }
                tools::note_instructions(&mut seen, found);
            }
        }
        let (tools, monitor, lists) = (Arc::clone(&self.tools), Arc::clone(monitor), lists.clone());
        offload(self.bytes, move || tools::compared(seen, &tools, &monitor, &lists)).await
    }

    /// Each tool's hash; see [`tools::hashes`].
    pub(crate) async fn hashes(&self) -> std::collections::BTreeMap<String, String> {
        let tools = Arc::clone(&self.tools);
        offload(self.bytes, move || tools::hashes(&tools)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_counted_before_anything_is_built_of_it() {
        let rows = [
            (r#"{"tools":[]}"#, Some(0), None, "none"),
            (r#"{"tools":[{"name":"a"},7,"x,[{"],"nextCursor":"2"}"#, Some(3), Some("2"), "whatever they are"),
            (r#"{"tools":[{}],"nextCursor":null}"#, Some(1), None, "the end, said aloud"),
            (r#"{"tools":[{}],"nextCursor":7}"#, Some(1), None, "a cursor that is no text is none"),
            (r#"{"tools":{"name":"a"}}"#, None, None, "no list"),
            (r#"{"nextCursor":"2"}"#, None, None, "nothing"),
        ];
        for (json, tools, next, sentence) in rows {
            let page = ListingPage::read(RawValue::from_string(json.to_owned()).unwrap());
            assert_eq!((page.counted.map(|(tools, _)| tools), page.next.as_deref()), (tools, next), "{sentence}");
        }
        for (json, count) in [("7", 1), (r#""a,b:[{\",""#, 1), (r#"[1,2]"#, 3), (r#"{"a":1,"b":[]}"#, 6)] {
            assert_eq!(parts(json), count, "{json}");
        }
    }

    #[test]
    fn limits_are_told_with_their_numbers() {
        let sums = |pages, tools, bytes, parts| Sums { pages, tools, bytes, parts };
        let rows = [
            (sums(1, 1_000, 4_194_304, 200_000), false, None, "all it may have"),
            (sums(1, 1_001, 1, 1), false, Some("1001 tools or more; a probe takes 1000"), "on the only page"),
            (sums(50, 1, 1, 1), false, None, "the last page"),
            (sums(50, 1, 1, 1), true, Some("51 pages or more; a probe takes 50"), "and one more"),
            (sums(1, 1, 4_194_305, 1), false, Some("4194305 bytes"), "bytes"),
            (sums(1, 1, 1, 200_001), false, Some("200001 JSON values"), "parts"),
        ];
        for (sums, goes_on, expected, sentence) in rows {
            let said = sums.too_large(goes_on);
            let fits = match (&said, expected) {
                (None, None) => true,
                (Some(said), Some(part)) => said.contains(part),
                _ => false,
            };
            assert!(fits, "{sentence}: {said:?}");
        }
    }
}

//! tools/list, over all its pages: counted before anything is built of it, and built, hashed and compared aside.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::Monitor;
use crate::domain::observation::ToolsSeen;
use crate::domain::protocol::Era;
use crate::probe::session::caller::Caller;
use crate::probe::session::discover::{CacheMarks, LACKS_MARKS, modern_result};
use crate::probe::session::listing_memory::{ListingMemory, REMEMBERED_BYTES_MAX, ReadListing};
use crate::probe::session::message::Call;
use crate::probe::session::offload::offload;
use crate::probe::session::parameter_headers::mirrors_arguments;
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
#[derive(Debug)]
pub(crate) struct Listed {
    /// Built where somebody wants them, of a list that was recognised: it is a short one.
    tools: OnceLock<Arc<[Value]>>,
    /// What they are as text, by which it is decided where they are worked on.
    bytes: usize,
    /// The text, where it came on one page and is short enough to be remembered.
    answer: Option<Box<RawValue>>,
    lacks_marks: bool,
    /// What was made of it, where it is the one that came before.
    known: Option<Arc<ReadListing>>,
}

impl std::ops::Deref for Listed {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        self.tools()
    }
}

#[derive(Deserialize)]
struct Whole {
    tools: Vec<Value>,
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
    all_pages_unless(None, caller, era, clock).await
}

/// The same, not read again where the first page is the answer that is known.
pub(crate) async fn all_pages_unless(
    known: Option<Arc<ReadListing>>,
    caller: &mut Caller<'_>,
    era: Era,
    clock: &mut StepClock,
) -> Result<Listed, Fault> {
    let (mut pages, mut cursors, mut sums) = (Vec::new(), Vec::<String>::new(), Sums::default());
    let mut lacks_marks = false;
    loop {
        let params =
            cursors.last().map(|cursor| format!(r#""cursor":{}"#, Value::from(cursor.as_str()))).unwrap_or_default();
        let call = Call { method: "tools/list", params: &params, ..Call::default() };
        let raw = caller.ask(era, &call, clock).await.map_err(|broken| broken.fault)?;
        if let Some(known) = known.as_ref().filter(|known| cursors.is_empty() && known.is(era, raw.get())) {
            known.lacks_marks.then(|| clock.note(LACKS_MARKS.to_owned()));
            return Ok(Listed::recognised(raw, Arc::clone(known)));
        }
        if era == Era::Modern && modern_result(&raw, caller)? == CacheMarks::Lacking {
            lacks_marks = true;
            clock.note(LACKS_MARKS.to_owned());
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
    let listed = built(pages, sums.bytes).await.map_err(|page| no_list(caller, &page))?;
    Ok(Listed { lacks_marks, ..listed })
}

/// The tools of all pages; the first page of which none can be built, where there is one.
async fn built(mut pages: Vec<Box<RawValue>>, bytes: usize) -> Result<Listed, Box<RawValue>> {
    offload(bytes, move || {
        let mut tools = Vec::new();
        for nth in 0..pages.len() {
            match serde_json::from_str::<Whole>(pages[nth].get()) {
                Ok(whole) => tools.extend(whole.tools),
                Err(_) => return Err(pages.swap_remove(nth)),
            }
        }
        let answer = pages.pop().filter(|_| pages.is_empty() && bytes <= REMEMBERED_BYTES_MAX);
        Ok(Listed { tools: OnceLock::from(Arc::from(tools)), bytes, answer, lacks_marks: false, known: None })
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
    fn recognised(answer: Box<RawValue>, known: Arc<ReadListing>) -> Self {
        let (bytes, lacks_marks) = (answer.get().len(), known.lacks_marks);
        Self { tools: OnceLock::new(), bytes, answer: Some(answer), lacks_marks, known: Some(known) }
    }

    fn tools(&self) -> &Arc<[Value]> {
        self.tools.get_or_init(|| {
            // It was built of the same text when it was read.
            let whole = self.answer.as_ref().and_then(|answer| serde_json::from_str::<Whole>(answer.get()).ok());
            whole.map(|whole| whole.tools).unwrap_or_default().into()
        })
    }

    /// What was made of the same list before.
    pub(crate) fn known(&self) -> Option<&ReadListing> {
        self.known.as_deref()
    }

    /// The schema of the search tool, as far as arguments of a call stand in headers too.
    pub(crate) fn mirrored(&self, search_tool: &str) -> &Value {
        if self.known().is_some_and(|known| !known.mirrors_arguments) {
            return &Value::Null;
        }
        tools::named(self, search_tool).map_or(&Value::Null, tools::input_schema)
    }

    /// What is to be remembered of it, where it came before and is not too long: `seen` and `dropped` were made of it.
    pub(crate) fn to_remember(
        &self,
        (era, lists): (Era, &KnownLists),
        (seen, dropped): (&ToolsSeen, Option<&str>),
        memory: &ListingMemory,
    ) -> Option<ReadListing> {
        let answer = self.answer.as_ref()?;
        lists.latest.as_ref().filter(|latest| Arc::ptr_eq(latest, &seen.listing))?;
        Some(ReadListing {
            era,
            answer: memory.shared(answer.get()),
            accepted: lists.accepted.clone(),
            seen: seen.clone(),
            dropped: dropped.map(str::to_owned),
            lacks_marks: self.lacks_marks,
            mirrors_arguments: mirrors_arguments(self.mirrored(seen.search_tool.as_deref().unwrap_or_default())),
        })
    }

    /// Reduces the list to what is compared; see [`tools::reduce`].
    pub(crate) async fn reduced(
        &self,
        instructions: Option<&str>,
        monitor: &Arc<Monitor>,
        lists: &KnownLists,
    ) -> ToolsSeen {
        let (tools, monitor, lists) = (Arc::clone(self.tools()), Arc::clone(monitor), lists.clone());
        let instructions: Option<Box<str>> = instructions.map(Box::from);
        offload(self.bytes, move || tools::reduce_with(&tools, instructions.as_deref(), &monitor.search, &lists)).await
    }

    /// Holds it against what is known: looks through a new list, slice by slice, and compares it; see [`tools::hold`].
    pub(crate) async fn held(&self, mut seen: ToolsSeen, monitor: &Arc<Monitor>, lists: &KnownLists) -> ToolsSeen {
        match tools::remembered(&seen, lists) {
            Some(known) => seen.listing = known,
            None => {
                let mut found = tools::instructing_server(&seen);
                let mut from = 0;
                while from < self.len() && !tools::is_enough(&found) {
                    let (until, list) = ((from + SLICE).min(self.len()), Arc::clone(self.tools()));
                    let bytes = self.bytes;
                    found.extend(offload(bytes, move || tools::instructing(&list[from..until])).await);
                    from = until;
                }
                tools::note_instructions(&mut seen, found);
            }
        }
        let (tools, monitor, lists) = (Arc::clone(self.tools()), Arc::clone(monitor), lists.clone());
        offload(self.bytes, move || tools::compared(seen, &tools, &monitor, &lists)).await
    }

    /// Each tool's hash; see [`tools::hashes`].
    pub(crate) async fn hashes(&self) -> std::collections::BTreeMap<String, String> {
        let tools = Arc::clone(self.tools());
        offload(self.bytes, move || tools::hashes(&tools)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::{Address, Secret};

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

    #[tokio::test]
    async fn a_list_that_came_before_is_not_read_again() {
        let text = r#"{"tools":[{"name":"search","inputSchema":{"properties":{"query":{"x-mcp-header":"Q"}}}}]}"#;
        let raw = || RawValue::from_string(text.to_owned()).unwrap();
        let monitor = Arc::new(Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") }));
        let memory = ListingMemory::default();
        let first = built(vec![raw()], text.len()).await.unwrap();
        let seen = first
            .held(first.reduced(None, &monitor, &KnownLists::default()).await, &monitor, &KnownLists::default())
            .await;
        let remember = |lists: &KnownLists| first.to_remember((Era::Modern, lists), (&seen, None), &memory);
        assert!(remember(&KnownLists::default()).is_none(), "it came for the first time");
        let lists = KnownLists { accepted: None, latest: Some(Arc::clone(&seen.listing)) };
        let known = Arc::new(remember(&lists).expect("it came again"));
        let again = Listed::recognised(raw(), Arc::clone(&known));
        assert_eq!(again.known().map(|known| &known.seen), Some(&seen), "all that was made of it");
        assert!(again.tools.get().is_none(), "and nothing is built");
        assert_eq!(again.mirrored("search")["properties"]["query"]["x-mcp-header"], "Q", "but where a call needs it");
        let plain = ReadListing { mirrors_arguments: false, ..remember(&lists).unwrap() };
        let plain = Listed::recognised(raw(), Arc::new(plain));
        assert!(plain.mirrored("search").is_null() && plain.tools.get().is_none(), "which most do not");
        let pages = built(vec![raw(), raw()], 2 * text.len()).await.unwrap();
        assert!(
            pages.to_remember((Era::Modern, &lists), (&seen, None), &memory).is_none(),
            "one of several pages is read"
        );
        let long = built(vec![raw()], REMEMBERED_BYTES_MAX + 1).await.unwrap();
        assert!(long.to_remember((Era::Modern, &lists), (&seen, None), &memory).is_none(), "and so is a long one");
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

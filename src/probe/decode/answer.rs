//! A search tool's answer, reduced to what is judged.
//!
//! Three shapes are found by themselves (`results[].text` with `total_results`; `results[].content` with `total_found`;
//! the envelope `data.results[].content` with `data.total_results`), in structured content or in a text block; others
//! by the monitor's JSON pointers, at a list or at columns. Where there is none, the text itself may be what is judged.

mod admissions;
mod call_result;
pub(crate) mod as_read;
mod columns;

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::answer::{Answer, HITS_MAX, Hit, SeenPassage};
use crate::domain::fault::FaultKind;
use crate::domain::search::{Search, SearchFields};
use crate::domain::wanted::{Pattern, TextSigns};
use crate::probe::decode::answer::admissions::{admissions, cache_word};
use crate::probe::decode::answer::as_read::{as_read, blocks_as_read};
use crate::probe::decode::answer::call_result::{CallResult, ContentBlock, call_result};
use crate::probe::decode::answer::columns::{OF_A_ROW, rows};
use crate::probe::decode::rpc::Misfit;
use crate::untrusted_text::{EXCERPT_CHARS_MAX, NAME_CHARS_MAX, escaped, excerpt};

/// Characters of one text looked at for questions: a long chunk's beginning.
const PASSAGE_CHARS_MAX: usize = 2_000;

/// Where the usual shapes keep their list.
const LISTS: [&str; 14] = [
    "/results",
    "/data/results",
    "/hits",
    "/data/hits",
    "/documents",
    "/data/documents",
    "/matches",
    "/chunks",
    "/data/chunks",
    "/items",
    "/result/results",
    "/result",
    "/data",
    "",
];
/// Where they keep the count.
const TOTALS: [&str; 8] = [
    "/total_results",
    "/total_found",
    "/data/total_results",
    "/data/total_found",
    "/total",
    "/data/total",
    "/total_count",
    "/count",
];
const SOURCES: [&str; 22] = [
    "/source",
    "/source_id",
    "/path",
    "/file_path",
    "/filepath",
    "/file",
    "/filename",
    "/document",
    "/document_id",
    "/doc_id",
    "/url",
    "/uri",
    "/metadata/source",
    "/metadata/path",
    "/metadata/file_path",
    "/metadata/filename",
    "/metadata/url",
    "/source/path",
    "/source/name",
    "/source/url",
    "/title",
    "/id",
];
const CONTENTS: [&str; 8] =
    ["/content", "/text", "/chunk", "/page_content", "/snippet", "/passage", "/body", "/chunk_text"];
const SCORES: [&str; 7] =
    ["/score", "/final_score", "/similarity", "/relevance_score", "/relevance", "/semantic_score", "/metadata/score"];

/// The JSON that a tool's result carries: structured content first, then each text block that is JSON.
pub(crate) struct Carried {
    /// Readable values, the likeliest first.
    pub(crate) values: Vec<Value>,
    /// What a model reads of it: every text block, or the structured content where there is none.
    pub(crate) whole: String,
    /// The same as people read it, where that differs and somebody reads it.
    pub(crate) read: Option<String>,
    /// Which of the values is the structured content; none where there is none.
    structured: Option<usize>,
    /// Bytes of the first text block in it.
    first: usize,
    /// Whether there is a block without a text: something that a model sees or follows, and nobody here.
    has_mute: bool,
}

impl Carried {
    /// The first words of its text, as evidence.
    pub(crate) fn first_words(&self) -> String {
        excerpt(&self.whole[..self.first], EXCERPT_CHARS_MAX)
    }
}

/// What the modern era says of a result with which a call is done.
const COMPLETE: &str = r#""complete""#;

/// Opens a tools/call result.
///
/// # Errors
/// `ToolError` where the tool says `isError: true`; `BadResult` where it is no tools/call result.
pub(crate) fn open(result: &RawValue) -> Result<Carried, Misfit> {
    carried(call_result(result)?, true)
}

/// `is_read`: somebody looks for words in its text.
fn carried(mut call: CallResult<'_>, is_read: bool) -> Result<Carried, Misfit> {
    let told: Vec<&str> = call.content.iter().filter_map(ContentBlock::told).collect();
    let (first, has_mute) = (told.first().map_or(0, |text| text.len()), told.len() < call.content.len());
    if call.is_error {
        let text = told.first().map(|text| excerpt(text, EXCERPT_CHARS_MAX)).unwrap_or_default();
        let said = if text.is_empty() { "without a text".to_owned() } else { text };
        return Err(Misfit { kind: FaultKind::ToolError, detail: format!("the tool answered isError: {said}") });
    }
    // Resources are read, and no lists are looked for in them: they are documents.
    let texts: Vec<&str> = call.content.iter().filter_map(|block| block.text.as_deref()).collect();
    let (mut values, mut structured) = (Vec::new(), None);
    if let Some(value) = call.structured_content.and_then(|raw| serde_json::from_str(raw.get()).ok()) {
        // A tool that returns a text comes structured as {"result": "…"}.
        if let Some(inner) = value_in_text(&value) {
            values.push(inner);
        }
        // Most servers say the same once more as text, which needs no second reading.
        let is_all = told.len() == 1
            && call.structured_content.is_some_and(|raw| texts[..] == [raw.get()])
            && !looks_like_a_hit(&value);
        structured = Some(values.len());
        values.push(value);
        if is_all {
            // The one text there is.
            let whole = call.content.iter_mut().find_map(|block| block.text.take()).unwrap_or_default();
            let read = Some(&whole).filter(|_| is_read).and_then(|whole| as_read(whole));
            return Ok(Carried { values, whole, read, structured, first, has_mute });
        }
    }
    let whole = match call.structured_content {
        Some(raw) if told.is_empty() => raw.get().to_owned(),
        _ => told.join("\n"),
    };
    let parsed: Vec<Value> = texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    // A tool that returns a list comes as one block an item.
    if parsed.len() == texts.len() && parsed.iter().all(looks_like_a_hit) && !parsed.is_empty() {
        values.push(Value::Array(parsed));
    } else {
        values.extend(parsed);
    }
    let read = if is_read { blocks_as_read(&told, &whole) } else { None };
    Ok(Carried { values, whole, read, structured, first, has_mute })
}

/// Reads the answer of a search.
///
/// # Errors
/// As `open`; `ToolError` where an envelope or the file's sign says that it failed; `AnswerUnreadable` where no list is
/// found.
pub fn read(result: &RawValue, search: &Search) -> Result<Answer, Misfit> {
    read_whole(result, search, Reader::default()).1
}

/// What whoever asked makes of the text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reader {
    /// It is read, and kept until it is judged.
    pub(crate) reads_text: bool,
    /// It is enough without a list of results.
    pub(crate) needs_no_list: bool,
}

/// The same; and whether the result says in the modern era's way, and without more to be looked at, that the call is done.
pub(crate) fn read_whole(result: &RawValue, search: &Search, reader: Reader) -> (bool, Result<Answer, Misfit>) {
    match call_result(result) {
        Err(misfit) => (false, Err(misfit)),
        Ok(call) => {
            let is_complete = call.result_type.is_some_and(|said| said.get() == COMPLETE)
                && call.ttl_ms.is_none()
                && call.cache_scope.is_none();
            let is_read = reader.reads_text || search.said.is_some();
            (is_complete, carried(call, is_read).and_then(|carried| answer(result, carried, search, reader)))
        }
    }
}

fn answer(result: &RawValue, carried: Carried, search: &Search, reader: Reader) -> Result<Answer, Misfit> {
    if let Some(why) = carried.values.iter().find_map(envelope_error) {
        return Err(Misfit { kind: FaultKind::ToolError, detail: why });
    }
    let found = carried.values.iter().find_map(|value| list_in(value, search).map(|list| (value, list)));
    let says = |sign: fn(&TextSigns) -> &Option<Pattern>| {
        let sign = search.said.as_deref().and_then(|signs| sign(signs).as_ref());
        sign.is_some_and(|pattern| {
            pattern.is_in(&carried.whole) || carried.read.as_deref().is_some_and(|read| pattern.is_in(read))
        })
    };
    // Documents may speak of errors: where results were found, they are what the answer says.
    if found.as_ref().is_none_or(|(_, list)| list.is_empty()) && says(|signs| &signs.error) {
        let detail = format!("the answer tells an error: {}", carried.first_words());
        return Err(Misfit { kind: FaultKind::ToolError, detail });
    }
    // A tool whose text tells everything and that says nothing has found nothing.
    let is_blank = reader.needs_no_list && carried.whole.trim().is_empty();
    let says_empty = found.is_none() && (is_blank && !carried.has_mute || says(|signs| &signs.empty));
    if found.is_none() && !says_empty && (is_blank || !reader.needs_no_list) {
        let nowhere = if is_blank { "no text, only images or links".to_owned() } else { nowhere(search) };
        let detail = format!("{nowhere} in the answer: {}", carried.first_words());
        return Err(Misfit { kind: FaultKind::AnswerUnreadable, detail });
    }
    let (value, list) = found.unzip();
    // What stands beside a text speaks of the answer; a text that is JSON may be a document, which speaks of itself.
    let envelope = value.or_else(|| carried.values.get(carried.structured?));
    let fields = if search.by_columns { &*OF_A_ROW } else { &search.fields };
    let total = value.and_then(|value| match &search.fields.total {
        Some(pointer) => at(value, pointer).and_then(Value::as_u64),
        None => TOTALS.iter().find_map(|pointer| at(value, pointer)?.as_u64()),
    });
    Ok(Answer {
        hits: list.iter().flat_map(|list| &**list).take(HITS_MAX).map(|item| hit(item, fields)).collect(),
        total,
        self_reported: envelope.map(admissions).unwrap_or_default(),
        cache: envelope.map(cache_word).unwrap_or_default(),
        bytes: result.get().len() as u64,
        tokens: None,
        text_only: list.is_none() && !says_empty,
        kept: None,
        passages: Vec::new(),
        begins: reader.reads_text.then(|| excerpt(&carried.whole, EXCERPT_CHARS_MAX)),
        text: Some(carried.whole.into_boxed_str()),
        read: carried.read.filter(|_| reader.reads_text).map(String::into_boxed_str),
    })
}

/// Where a list was looked for.
fn nowhere(search: &Search) -> String {
    match &search.results {
        _ if search.by_columns => "none of the declared columns".to_owned(),
        Some(at) => format!("no list at {at}"),
        None => "no list of results".to_owned(),
    }
}

/// The texts of an answer with their sources, longer than a beat keeps them, for whoever looks for questions to ask.
pub(crate) fn passages(result: &RawValue, search: &Search) -> Vec<SeenPassage> {
    passages_of(result, search, PASSAGE_CHARS_MAX)
}

/// The same with so many characters of each text.
pub(crate) fn passages_of(result: &RawValue, search: &Search, chars_max: usize) -> Vec<SeenPassage> {
    let Ok(carried) = open(result) else { return Vec::new() };
    let Some(list) = carried.values.iter().find_map(|value| list_in(value, search)) else { return Vec::new() };
    let fields = if search.by_columns { &*OF_A_ROW } else { &search.fields };
    let passage =
        |item| SeenPassage { source: source_of(item, fields), text: excerpt(text_of(item, fields), chars_max) };
    list.iter().take(HITS_MAX).map(passage).collect()
}

fn value_in_text(value: &Value) -> Option<Value> {
    serde_json::from_str(value.get("result")?.as_str()?).ok()
}

fn list_in<'a>(value: &'a Value, search: &Search) -> Option<Cow<'a, [Value]>> {
    let list = match &search.results {
        _ if search.by_columns => return rows(value, &search.fields).map(Cow::Owned),
        Some(pointer) => at(value, pointer)?.as_array(),
        None => LISTS.iter().find_map(|pointer| at(value, pointer)?.as_array()),
    };
    list.map(|list| Cow::Borrowed(&**list))
}

/// The value at a JSON pointer, as [`Value::pointer`] finds it; that one allocates for each part of each pointer tried.
fn at<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    if pointer.is_empty() {
        return Some(value);
    }
    if pointer.contains('~') {
        return value.pointer(pointer);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(value, |value, part| match value {
        Value::Object(members) => members.get(part),
        // A place in a list is a number with rules of its own.
        Value::Array(_) => value.pointer(&format!("/{part}")),
        _ => None,
    })
}

fn looks_like_a_hit(value: &Value) -> bool {
    value.is_object()
        && LISTS.iter().all(|pointer| !at(value, pointer).is_some_and(Value::is_array))
        && CONTENTS.iter().any(|pointer| at(value, pointer).is_some_and(Value::is_string))
}

fn hit(item: &Value, fields: &SearchFields) -> Hit {
    let text = text_of(item, fields);
    let score = part_of(item, &fields.score, &SCORES, Value::is_number).and_then(Value::as_f64);
    Hit {
        source: source_of(item, fields),
        score: score.filter(|score| score.is_finite()),
        chars: u32::try_from(text.chars().count()).unwrap_or(u32::MAX),
        excerpt: excerpt(text, EXCERPT_CHARS_MAX),
    }
}

fn text_of<'a>(item: &'a Value, fields: &SearchFields) -> &'a str {
    match item {
        Value::String(text) => text,
        _ => part_of(item, &fields.content, &CONTENTS, Value::is_string).and_then(Value::as_str).unwrap_or_default(),
    }
}

fn source_of(item: &Value, fields: &SearchFields) -> String {
    match part_of(item, &fields.source, &SOURCES, |value| value.is_string() || value.is_number()) {
        Some(Value::String(name)) => escaped(name, NAME_CHARS_MAX),
        Some(number) => number.to_string(),
        None => String::new(),
    }
}

/// The declared part of a result, else the first usual one that fits.
fn part_of<'a>(
    item: &'a Value,
    declared: &Option<String>,
    usual: &[&str],
    fits: fn(&Value) -> bool,
) -> Option<&'a Value> {
    match declared {
        Some(pointer) => at(item, pointer).filter(|value| fits(value)),
        None => usual.iter().find_map(|pointer| at(item, pointer).filter(|value| fits(value))),
    }
}

/// An envelope that says the search failed, although the call did not.
fn envelope_error(value: &Value) -> Option<String> {
    let word = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let failed = word("status")
        .is_some_and(|status| ["error", "failed", "failure"].contains(&status.to_ascii_lowercase().as_str()))
        || value.get("success") == Some(&Value::Bool(false))
        || (word("error").is_some() && LISTS.iter().all(|pointer| !at(value, pointer).is_some_and(Value::is_array)));
    if !failed {
        return None;
    }
    let said: Vec<&str> = [word("error_code"), word("code"), word("error_message"), word("message"), word("error")]
        .into_iter()
        .flatten()
        .collect();
    Some(excerpt(&format!("the answer's envelope says error: {}", said.join(": ")), EXCERPT_CHARS_MAX * 2))
}

#[cfg(test)]
mod tests;

//! Which tool of a stranger searches, and how it is called: found by names and schemas alone, nothing is sent.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::tool_lists::tools::{USUAL_NAMES, input_schema, name_of, named};
use crate::untrusted_text::{NAME_CHARS_MAX, escaped};

/// Arguments that take a question, the likeliest first.
const QUESTION_NAMES: [&str; 14] = [
    "query",
    "q",
    "question",
    "search_query",
    "searchQuery",
    "query_text",
    "queryText",
    "text",
    "input",
    "prompt",
    "search",
    "search_term",
    "keywords",
    "term",
];
/// Arguments that take several questions at once.
const QUESTIONS_NAMES: [&str; 5] = ["query_texts", "queries", "questions", "texts", "query_list"];
/// Texts that are no question, however alone they stand: a stranger's database or shell is not tried out.
const NO_QUESTIONS: [&str; 14] = [
    "sql",
    "statement",
    "code",
    "command",
    "cmd",
    "script",
    "path",
    "file",
    "url",
    "uri",
    "id",
    "email",
    "message",
    "body",
];
/// Arguments that take the number of results; a set number keeps answers, and what they cost, alike.
pub(crate) const COUNT_NAMES: [&str; 9] =
    ["top_k", "topK", "k", "limit", "n_results", "max_results", "maxResults", "num_results", "count"];
/// Results asked for: as deep as a rule looks.
const RESULTS_ASKED: i64 = 5;
/// Words of a tool's name by which it says that it searches.
const TELLING_WORDS: [&str; 7] = ["search", "retrieve", "query", "lookup", "find", "ask", "rag"];
const NAMED_MAX: usize = 5;
/// Arguments a call is given; a tool that demands more is not guessed.
const ARGUMENTS_MAX: usize = 20;
/// Bytes of one guessed argument: a default larger than this is none to write into a file.
const ARGUMENT_BYTES_MAX: usize = 500;

/// A search tool and its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Callable {
    pub tool: String,
    /// Where the question goes, as a JSON pointer into the arguments.
    pub query: String,
    /// Further arguments, each value as JSON text.
    pub arguments: BTreeMap<String, String>,
    /// What was guessed and should be looked at.
    pub guesses: Vec<String>,
}

/// Finds the tool that searches, or says why there is none to be called. `given` are arguments somebody knows.
///
/// # Errors
/// A sentence for a person: what is missing, and what they can say to help.
pub(crate) fn find(
    tools: &[Value],
    wanted: Option<&str>,
    query: Option<&str>,
    given: &BTreeMap<String, String>,
) -> Result<Callable, String> {
    let tool = match wanted {
        Some(name) => named(tools, name)
            .ok_or_else(|| format!("no tool `{}` among {}", shown(name), names(tools.iter().map(name_of))))?,
        None => likeliest(tools, query)?,
    };
    let schema = input_schema(tool);
    let question = match query {
        Some(place) if place.starts_with('/') => place.to_owned(),
        Some(name) => pointer(name),
        None => question_of(schema, true).ok_or_else(|| {
            format!("tool `{}` has no argument that takes a question; name one with --query", shown(name_of(tool)))
        })?,
    };
    let (arguments, guesses) = arguments_of(schema, &argument_of(&question), given).map_err(|missing| {
        format!(
            "tool `{}` needs arguments that cannot be guessed: {}; give them with --argument NAME=VALUE",
            shown(name_of(tool)),
            names(missing.iter().map(String::as_str))
        )
    })?;
    Ok(Callable { tool: name_of(tool).to_owned(), query: question, arguments, guesses })
}

/// One with a usual name that takes a question, else the only one whose name says that it searches.
fn likeliest<'a>(tools: &'a [Value], query: Option<&str>) -> Result<&'a Value, String> {
    let takes = |tool: &Value, strange: bool| match query {
        Some(place) => {
            let name = if place.starts_with('/') { argument_of(place) } else { place.to_owned() };
            input_schema(tool).pointer("/properties").is_some_and(|all| all.get(&name).is_some())
        }
        None => question_of(input_schema(tool), strange).is_some(),
    };
    let usual = USUAL_NAMES.iter().filter_map(|name| named(tools, name));
    if let Some(tool) = usual.into_iter().find(|tool| is_harmless(tool) && takes(tool, true)) {
        return Ok(tool);
    }
    let notifier: Vec<&Value> = tools
        .iter()
        .filter(|tool| words(name_of(tool)).iter().any(|word| TELLING_WORDS.contains(&word.as_str())))
        .filter(|tool| is_harmless(tool) && takes(tool, false))
        .collect();
    match notifier.as_slice() {
        [only] => Ok(only),
        [] if tools.is_empty() => Err("no search tool found: the server lists no tools".to_owned()),
        [] => Err(format!(
            "no search tool found among {}; name it with --tool if one searches",
            names(tools.iter().map(name_of))
        )),
        several => Err(format!(
            "no search tool found for certain: {} all sound like one; choose with --tool",
            names(several.iter().map(|tool| name_of(tool)))
        )),
    }
}

/// A name as a JSON pointer.
fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The argument that a pointer leads into.
fn argument_of(pointer: &str) -> String {
    let first = pointer[1..].split('/').next().unwrap_or_default();
    first.replace("~1", "/").replace("~0", "~")
}

/// Where the question goes, as a pointer. `strange` names are taken where they are the only text the tool asks for.
fn question_of(schema: &Value, strange: bool) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    let is_text = |property: &Value| match property.get("type") {
        Some(Value::String(name)) => name == "string",
        Some(Value::Array(names)) => names.iter().any(|name| name == "string"),
        _ => property.get("anyOf").is_none_or(|_| property.to_string().contains(r#""type":"string""#)),
    } && property.get("enum").is_none();
    if let Some(name) = QUESTION_NAMES.iter().find(|name| properties.get(**name).is_some_and(is_text)) {
        return Some(pointer(name));
    }
    let is_texts = |property: &Value| {
        property.get("type").is_some_and(|kind| kind == "array")
            && property.pointer("/items/type").is_some_and(|kind| kind == "string")
    };
    if let Some(name) = QUESTIONS_NAMES.iter().find(|name| properties.get(**name).is_some_and(is_texts)) {
        return Some(format!("{}/0", pointer(name)));
    }
    let texts = |required: bool| {
        let mut of = properties.iter().filter(|(name, property)| {
            (!required || is_required(schema, name))
                && is_text(property)
                && property.get("default").is_none()
                && !NO_QUESTIONS.iter().any(|other| words(name).contains(&(*other).to_owned()))
        });
        let only = of.next()?;
        of.next().is_none().then(|| pointer(only.0))
    };
    if strange { texts(true).or_else(|| texts(false)) } else { None }
}

/// Arguments by name, and a sentence for each that was guessed.
type Guessed = (BTreeMap<String, String>, Vec<String>);

/// Values for what the tool requires, and the number of results. The error names what cannot be guessed.
fn arguments_of(schema: &Value, question: &str, given: &BTreeMap<String, String>) -> Result<Guessed, Vec<String>> {
    let mut arguments = given.clone();
    let (mut guesses, mut missing) = (Vec::new(), Vec::new());
    let none = serde_json::Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for name in required.iter().filter_map(Value::as_str).filter(|name| *name != question) {
        if arguments.contains_key(name) {
            continue;
        }
        let guess = properties.get(name).and_then(|property| guess(name, property));
        match guess.map(|value| value.to_string()).filter(|text| text.len() <= ARGUMENT_BYTES_MAX) {
            Some(text) if arguments.len() < ARGUMENTS_MAX && writable(name) => {
                guesses.push(format!("`{}` is required; {} was guessed from the schema", shown(name), shown(&text)));
                arguments.insert(name.to_owned(), text);
            }
            _ => missing.push(name.to_owned()),
        }
    }
    if !missing.is_empty() {
        return Err(missing);
    }
    let counted = COUNT_NAMES.iter().any(|name| arguments.contains_key(*name));
    let count = COUNT_NAMES.iter().find_map(|name| Some((*name, properties.get(*name)?)));
    if let Some((name, property)) = count.filter(|_| !counted)
        && let Some(value) = guess(name, property)
    {
        arguments.insert(name.to_owned(), value.to_string());
    }
    Ok((arguments, guesses))
}

fn guess(name: &str, property: &Value) -> Option<Value> {
    let is = |wanted: &str| match property.get("type") {
        Some(Value::String(name)) => name == wanted,
        Some(Value::Array(names)) => names.iter().any(|name| name == wanted),
        _ => false,
    };
    let bound = |key: &str| property.get(key).and_then(Value::as_i64);
    if COUNT_NAMES.contains(&name) && (is("integer") || is("number")) {
        let most = bound("maximum").unwrap_or(RESULTS_ASKED).max(1);
        return Some(Value::from(RESULTS_ASKED.min(most).max(bound("minimum").unwrap_or(1))));
    }
    let plain = |value: &&Value| value.is_string() || value.is_number() || value.is_boolean();
    let first = |key: &str| property.get(key).and_then(Value::as_array)?.iter().find(plain).cloned();
    property
        .get("default")
        .or(property.get("const"))
        .filter(plain)
        .cloned()
        .or_else(|| first("enum"))
        .or_else(|| first("examples"))
        .or_else(|| property.get("minimum").filter(|value| value.is_number()).cloned())
        .or_else(|| is("boolean").then_some(Value::Bool(false)))
        .filter(|value| value.as_str().is_none_or(writable))
}

/// Whether a file can hold it: a text of one line, not empty.
fn writable(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= NAME_CHARS_MAX && escaped(text, NAME_CHARS_MAX) == text
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|list| list.iter().any(|item| item == name))
}

/// A tool that says it changes something, or runs as a task, is not tried out on somebody's server.
fn is_harmless(tool: &Value) -> bool {
    let says = |pointer: &str, value: bool| tool.pointer(pointer) == Some(&Value::Bool(value));
    !says("/annotations/readOnlyHint", false) && !says("/annotations/destructiveHint", true) && !is_task(tool)
        || says("/annotations/readOnlyHint", true) && !is_task(tool)
}

fn is_task(tool: &Value) -> bool {
    tool.pointer("/execution/taskSupport").is_some_and(|support| support == "required")
}

/// The words of a name: `kb_searchDocs-v2` is kb, search, docs, v2.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower) {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words
}

fn shown(text: &str) -> String {
    escaped(text, 60)
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<String> = names.map(|name| format!("`{}`", shown(name))).collect();
    let more = all.len().saturating_sub(NAMED_MAX);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", all[..all.len().min(NAMED_MAX)].join(", "))
}

#[cfg(test)]
mod tests;

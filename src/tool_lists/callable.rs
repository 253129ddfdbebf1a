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
/// The least of them: a tool that asks or that has to do with retrieval does not have to search.
const VAGUE_WORDS: [&str; 2] = ["ask", "rag"];
/// Words of a tool's name by which it says that it changes something.
const CHANGING_WORDS: [&str; 27] = [
    "add", "append", "clear", "create", "delete", "drop", "edit", "execute", "forget", "import", "ingest", "insert",
    "modify", "move", "purge", "remove", "rename", "replace", "run", "save", "send", "submit", "update", "upload",
    "upsert", "wipe", "write",
];
/// The same, but beside a word that searches they say where: `search_index`, `query_store`.
const PLACE_WORDS: [&str; 2] = ["index", "store"];
/// Whom a tool asks that disturbs a person.
const PERSONS: [&str; 3] = ["user", "human", "person"];
/// Those of the words that say nothing certain of a tool which a person has named.
const UNCERTAIN_WORDS: [&str; 2] = ["execute", "run"];
/// Names told at most: whoever looks for a tool's name wants to see it.
const NAMED_MAX: usize = 40;
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
        Some(name) => chosen(tools, name)?,
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

/// The tool that a person named, unless it says that it changes something, by its hints or by its name: questions made up
/// here would be written into somebody's notes.
fn chosen<'a>(tools: &'a [Value], name: &str) -> Result<&'a Value, String> {
    let tool = named(tools, name)
        .ok_or_else(|| format!("no tool `{}` among {}", shown(name), names(tools.iter().map(name_of))))?;
    if says_it_changes(tool) || !says_it_reads(tool) && sounds_changing(name, &UNCERTAIN_WORDS) {
        let by = if says_it_changes(tool) { "of itself" } else { "by its name" };
        return Err(format!(
            "tool `{}` says {by} that it changes something, and such a tool is never called; \
             name another with --tool, or write the monitor by hand",
            shown(name)
        ));
    }
    Ok(tool)
}

/// One with a usual name that takes a question, else the only one whose name says that it searches. One that takes
/// statements of a query language comes last.
fn likeliest<'a>(tools: &'a [Value], query: Option<&str>) -> Result<&'a Value, String> {
    let takes = |tool: &Value, strange: bool| match query {
        Some(place) => {
            let name = if place.starts_with('/') { argument_of(place) } else { place.to_owned() };
            input_schema(tool).pointer("/properties").is_some_and(|all| all.get(&name).is_some())
        }
        None => question_of(input_schema(tool), strange).is_some(),
    };
    let usual = USUAL_NAMES.iter().filter_map(|name| named(tools, name));
    let usual: Vec<&Value> = usual.filter(|tool| is_harmless(tool) && takes(tool, true)).collect();
    if let Some(tool) = usual.iter().find(|tool| !takes_statements(tool)) {
        return Ok(*tool);
    }
    let told = |tool: &&Value| words(name_of(tool)).iter().any(|word| TELLING_WORDS.contains(&word.as_str()));
    let telling: Vec<&Value> = tools.iter().filter(told).filter(|tool| is_harmless(tool)).collect();
    let (statements, plain): (Vec<&Value>, Vec<&Value>) =
        telling.iter().filter(|tool| takes(tool, false)).partition(|tool| takes_statements(tool));
    if let Some(tool) = usual.first().filter(|_| plain.is_empty()) {
        return Ok(*tool);
    }
    let sounding = if plain.is_empty() { statements } else { plain };
    match sounding.as_slice() {
        [only] => Ok(only),
        [] if tools.is_empty() => Err("no search tool found: the server lists no tools".to_owned()),
        [] => {
            let strange = match telling.as_slice() {
                [] => String::new(),
                telling => format!(
                    "; by its name {} may be one, and no argument of it is known to take a question",
                    names(telling.iter().map(|tool| name_of(tool)))
                ),
            };
            let all = names(tools.iter().map(name_of));
            Err(format!("no search tool found among {all}{strange}; name it with --tool if one searches"))
        }
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

/// The argument by which a tool is told how many results are wanted; none where it takes none that we know.
pub(crate) fn count_argument(tool: &Value) -> Option<&'static str> {
    let properties = input_schema(tool).get("properties")?;
    COUNT_NAMES.into_iter().find(|name| {
        properties.get(name).is_some_and(|property| property["type"] == "integer" || property["type"] == "number")
    })
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|list| list.iter().any(|item| item == name))
}

/// A tool that says it changes something, by its hints or by its name, or runs as a task, is not tried out on somebody's
/// server. A hint that it only reads goes before its name.
pub(crate) fn is_harmless(tool: &Value) -> bool {
    !is_task(tool) && (says_it_reads(tool) || !says_it_changes(tool) && !sounds_changing(name_of(tool), &[]))
}

fn says_it_reads(tool: &Value) -> bool {
    tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true))
}

/// Whether a tool's own hints say that it changes something.
fn says_it_changes(tool: &Value) -> bool {
    let hint = |name: &str| tool.get("annotations").and_then(|hints| hints.get(name)).and_then(Value::as_bool);
    match hint("readOnlyHint") {
        Some(is_read_only) => !is_read_only,
        None => hint("destructiveHint") == Some(true),
    }
}

/// Whether a tool's name says that it changes something, or disturbs a person, by any but these words.
fn sounds_changing(name: &str, but: &[&str]) -> bool {
    let words: Vec<String> = words(name).into_iter().filter(|word| !but.contains(&word.as_str())).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let is_search = |word: &str| TELLING_WORDS.contains(&word) && !VAGUE_WORDS.contains(&word);
    has(&CHANGING_WORDS)
        || has(&PLACE_WORDS) && !words.iter().any(|word| is_search(word))
        || has(&["ask"]) && has(&PERSONS)
}

/// Whether a tool's texts say that it takes statements of a query language: to it a stranger's words may be commands.
pub(crate) fn takes_statements(tool: &Value) -> bool {
    const LANGUAGES: [&str; 4] = ["sql", "select", "cypher", "sparql"];
    const STATEMENTS: [&str; 5] = ["query", "queries", "statement", "statements", "command"];
    let properties = input_schema(tool).get("properties").and_then(Value::as_object);
    let described = properties.into_iter().flat_map(|all| all.values()).filter_map(|one| one.get("description"));
    tool.get("description").into_iter().chain(described).filter_map(Value::as_str).any(|text| {
        let words: Vec<String> = words(text).into_iter().filter(|word| !word.is_empty()).collect();
        words.windows(2).any(|pair| LANGUAGES.contains(&pair[0].as_str()) && STATEMENTS.contains(&pair[1].as_str()))
    })
}

fn is_task(tool: &Value) -> bool {
    tool.pointer("/execution/taskSupport").is_some_and(|support| support == "required")
}

/// The words of a name: `kb_searchDocs-v2` is kb, search, docs, v2.
pub(crate) fn words(name: &str) -> Vec<String> {
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

//! Searching a server for the first time: its own words first, then the rare ones of what came back.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::domain::answer::{Answer, Hit, SeenPassage};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::CanaryKind;
use crate::domain::observation::Stage;
use crate::domain::protocol::Era;
use crate::domain::quality::propose::{Proposal, named_openers, openers};
use crate::domain::quality::propose_text::SeenText;
use crate::domain::search::{Search, SearchFields};
use crate::probe::decode::answer;
use crate::probe::decode::shape;
use crate::probe::decode::source_pages::SourcesRead;
use crate::probe::decode::sources;
use crate::probe::explore::explored::{CANARIES_MAX, Explored, Wish};
use crate::probe::session::caller::Caller;
use crate::probe::session::message::Call;
use crate::probe::stages::search::{call_tool, fault_of};
use crate::probe::wire::clock::StepClock;
use crate::tool_lists::asked;
use crate::tool_lists::callable::{is_harmless, takes_statements};
use crate::tool_lists::tools::{input_schema, name_of, named};
use crate::untrusted_text::escaped;

/// Requests of one exploration, opening and closing included: a person waits, and a server bears it. Each canary wanted
/// beyond the usual five may cost one more.
pub(crate) const REQUESTS_MAX: u32 = 22;

/// Canaries for which these leave room.
const USUAL_CANARIES: usize = 5;

/// Words of the server's own asked first.
const OPENERS: usize = 4;

/// Asked where the server's own words brought too little: what most texts have to do with.
const PLAIN_QUESTIONS: [&str; 2] = ["what is the first thing to know?", "how does it work?"];

/// Sources from which canaries can be taken without all of them hanging on one.
const SOURCES_ENOUGH: usize = 3;

/// Failed searches in a row after which no further one is sent.
const FAILURES_MAX: u32 = 2;

/// Characters of an answer's text in which words are looked for.
const TEXT_CHARS_MAX: usize = 20_000;

/// Requests kept for closing and the look whether the server bore it.
const KEPT_FOR_CLOSING: u32 = 4;

/// A question and the results that it brought.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) question: String,
    pub(super) hits: Vec<Hit>,
}

/// Searching a server that is found to be searchable.
pub(super) struct Talk<'t, 'a> {
    pub(super) caller: &'t mut Caller<'a>,
    pub(super) era: Era,
    pub(super) tools: &'t [Value],
    pub(super) search: Search,
    pub(super) found: &'t mut Explored,
    pub(super) passages: Vec<SeenPassage>,
    /// Answers that are lists, whatever was asked.
    pub(super) heard: Vec<Heard>,
    /// Answers that are texts and no JSON.
    pub(super) texts: Vec<SeenText>,
    requests_max: u32,
    answered: u32,
    failures: u32,
    /// Why an answer could not be read.
    unread: Option<String>,
}

impl<'t, 'a> Talk<'t, 'a> {
    pub(super) fn new(
        caller: &'t mut Caller<'a>,
        era: Era,
        tools: &'t [Value],
        search: Search,
        found: &'t mut Explored,
    ) -> Self {
        Self {
            caller,
            era,
            tools,
            search,
            found,
            passages: Vec::new(),
            heard: Vec::new(),
            texts: Vec::new(),
            requests_max: REQUESTS_MAX,
            answered: 0,
            failures: 0,
            unread: None,
        }
    }

    pub(super) async fn run(&mut self, wish: &Wish) {
        let wanted = wish.canaries.min(CANARIES_MAX);
        self.requests_max += u32::try_from(wanted.saturating_sub(USUAL_CANARIES)).unwrap_or_default();
        self.found.guesses.extend(wish.left_out());
        let mut names = self.material().await;
        names.retain(|name| !wish.is_expected(name));
        self.found.durations.clear();
        let mut given = Vec::new();
        for question in wish.asks.iter().take(CANARIES_MAX) {
            let answer = self.ask_freely(question).await;
            let first = answer.as_ref().and_then(|answer| answer.hits.first());
            given.push(proposed(question, first.map_or("", |hit| hit.source.as_str())));
        }
        if wish.asks.is_empty() && self.takes_statements() {
            let tool = escaped(self.search.tool.as_deref().unwrap_or_default(), 60);
            let why = "takes statements of a query language, and no words of a stranger are sent as one";
            self.found.gaps.push(format!("`{tool}` {why}; name statements that find something by --ask"));
        } else if wish.asks.is_empty() {
            self.look_around(&names).await;
        }
        // Whoever could not be understood is told where to fill in what.
        self.found.search = Some(self.search.clone());
        if !self.passages.is_empty() {
            if wanted > 0 {
                self.by_list(wish, given, wanted).await;
            }
            return;
        }
        if !self.texts.is_empty() && wanted > 0 {
            self.by_text(wish, wanted).await;
        }
        let is_asked = |(proposal, _): &(Proposal, Option<f64>)| proposal.kind != CanaryKind::Negative;
        if !self.found.canaries.iter().any(is_asked) && (self.answered > 0 || self.unread.is_some()) {
            self.found.gaps.extend(self.unread.take());
            let mend = "name questions that find something by --ask, or write canaries by hand";
            self.found.gaps.push(format!("no search brought a result with a source and a text; {mend}"));
        }
    }

    /// Asks what the server's own words suggest: half from the sources' names, the best there is, half from the tools' texts.
    pub(super) async fn look_around(&mut self, names: &[String]) {
        let tool = self.search.tool.clone().unwrap_or_default();
        let texts = self.texts_of(&tool);
        let mut questions = named_openers(names, OPENERS / 2);
        questions.extend(openers(texts.iter().map(String::as_str), OPENERS - questions.len()));
        for question in &questions {
            self.ask(question).await;
        }
        for question in PLAIN_QUESTIONS {
            let sources: BTreeSet<&str> = self.passages.iter().map(|passage| passage.source.as_str()).collect();
            if sources.len() < SOURCES_ENOUGH {
                self.ask(question).await;
            }
        }
    }

    /// Names of sources or resources, from whatever tells them.
    async fn material(&mut self) -> Vec<String> {
        let mut clock = StepClock::start(Stage::Search, "sources");
        let tool = sources::TOOL_NAMES.into_iter().find(|name| named(self.tools, name).is_some_and(is_harmless));
        let names = match tool {
            Some(name) => {
                let raw = call_tool(self.caller, self.era, name, "{}", &Value::Null, &mut clock).await;
                let page = raw.as_ref().ok().and_then(|raw| Some((sources::read(raw).ok()?, raw.get().len())));
                self.found.seen.sources = page.map(|(page, bytes)| SourcesRead::new(page, bytes).alone());
                raw.map(|raw| sources::names(&raw))
            }
            None => {
                let call = Call { method: "resources/list", ..Call::default() };
                let raw = self.caller.ask(self.era, &call, &mut clock).await.map_err(|broken| broken.fault);
                raw.map(|raw| resource_names(&raw))
            }
        };
        // Servers may have neither; that is no fault of theirs.
        if let Err(fault) = &names {
            clock.note(fault.detail.clone());
        }
        self.found.seen.steps.push(clock.stop(None));
        names.unwrap_or_default()
    }

    /// What the search tool says of itself, and the server's other tools.
    fn texts_of(&self, tool: &str) -> Vec<String> {
        let of = |tool: &Value| {
            let properties = input_schema(tool).get("properties").and_then(Value::as_object);
            let described =
                properties.into_iter().flat_map(|all| all.values()).filter_map(|one| one.get("description"));
            [tool.get("description"), tool.get("title")]
                .into_iter()
                .flatten()
                .chain(described)
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let own = named(self.tools, tool).map(of).unwrap_or_default();
        let others = self.tools.iter().filter(|other| name_of(other) != tool).flat_map(of);
        own.into_iter().chain(others).collect()
    }

    /// Whether the search tool takes statements instead of words.
    pub(super) fn takes_statements(&self) -> bool {
        named(self.tools, self.search.tool.as_deref().unwrap_or_default()).is_some_and(takes_statements)
    }

    /// One search that the tool may refuse: that speaks of this question, and not of the next.
    pub(super) async fn ask_freely(&mut self, question: &str) -> Option<Answer> {
        if self.spent().is_some() {
            return None;
        }
        let answer = self.ask(question).await;
        let fault = self.found.seen.steps.last().and_then(|step| step.fault.as_ref());
        if fault.is_some_and(|fault| matches!(fault.kind, FaultKind::ToolError | FaultKind::RpcError(_))) {
            self.failures = 0;
        }
        answer
    }

    /// One search; none where it failed, nothing more may be sent, or the answer cannot be read.
    pub(super) async fn ask(&mut self, question: &str) -> Option<Answer> {
        let arguments = asked::arguments(&self.search, question);
        let (clock, outcome) = self.call(question, &arguments).await?;
        let text = outcome.as_ref().ok().and_then(|raw| self.text_in(question, raw));
        let read = outcome.and_then(|raw| self.read(&raw).map(|answer| (raw, answer)));
        let is_text = text.is_some();
        self.texts.extend(text);
        let step = clock.stop(read.as_ref().err().filter(|_| !is_text).cloned());
        let elapsed = step.elapsed;
        self.found.seen.steps.push(step);
        if is_text || read.is_ok() {
            self.found.durations.push(elapsed);
        }
        match read {
            Ok((raw, answer)) => {
                self.failures = 0;
                self.answered += 1;
                let named = |passage: &SeenPassage| !passage.source.is_empty() && !passage.text.is_empty();
                self.passages.extend(answer::passages(&raw, &self.search).into_iter().filter(named));
                self.heard.push(Heard { question: question.to_owned(), hits: answer.hits.clone() });
                Some(answer)
            }
            // A server that answers what nobody can read yet is asked on.
            Err(fault) if fault.kind == FaultKind::AnswerUnreadable => {
                self.failures = 0;
                self.answered += u32::from(is_text);
                self.unread = Some(format!("an answer could not be read: {}", fault.detail));
                None
            }
            Err(fault) => {
                // Whoever asks for quiet gets it at once.
                let told = matches!(fault.kind, FaultKind::RateLimited { .. });
                self.failures = if told { FAILURES_MAX } else { self.failures + 1 };
                if self.failures == FAILURES_MAX || self.answered == 0 {
                    let tool = escaped(self.search.tool.as_deref().unwrap_or_default(), 60);
                    let said = format!("a search by `{tool}` failed: {}", fault.detail);
                    if !self.found.gaps.contains(&said) {
                        self.found.gaps.push(said);
                    }
                }
                None
            }
        }
    }

    /// One call with these arguments; none where nothing more may be sent.
    pub(super) async fn call(
        &mut self,
        label: &str,
        arguments: &Value,
    ) -> Option<(StepClock, Result<Box<RawValue>, Fault>)> {
        if self.spent().is_some() {
            return None;
        }
        let tool = self.search.tool.clone().unwrap_or_default();
        let schema = named(self.tools, &tool).map_or(&Value::Null, input_schema);
        let mut clock = StepClock::start(Stage::Search, &escaped(label, 60));
        let outcome = call_tool(self.caller, self.era, &tool, &arguments.to_string(), schema, &mut clock).await;
        Some((clock, outcome))
    }

    /// Why nothing more may be sent; none where something may.
    pub(super) fn spent(&self) -> Option<&'static str> {
        if self.failures >= FAILURES_MAX {
            Some("the server failed before, or asked for quiet")
        } else if self.caller.wire.footprint.requests + KEPT_FOR_CLOSING >= self.requests_max {
            Some("the limit of requests left no room")
        } else if Instant::now() >= self.caller.limits.until {
            Some("no time was left")
        } else {
            None
        }
    }

    /// An answer as a text, where it is one: JSON with lists in it has a shape, known or not.
    pub(super) fn text_in(&mut self, question: &str, raw: &RawValue) -> Option<SeenText> {
        let carried = answer::open(raw).ok()?;
        for list in shape::lists(&carried.values) {
            if !self.found.lists.contains(&list) {
                self.found.lists.push(list);
            }
        }
        let is_flat = |value: &Value| match value {
            Value::Object(members) => !members.values().any(|value| value.is_array() || value.is_object()),
            Value::Array(items) => items.iter().all(Value::is_string),
            _ => true,
        };
        let is_text = carried.values.iter().all(is_flat) && !carried.whole.trim().is_empty();
        let text: String = carried.read.as_deref().unwrap_or(&carried.whole).chars().take(TEXT_CHARS_MAX).collect();
        is_text.then(|| SeenText { question: question.to_owned(), text })
    }

    /// Reads an answer; where its usual places hold no results, looks for others and keeps what it found.
    fn read(&mut self, raw: &RawValue) -> Result<Answer, Fault> {
        let usual = answer::read(raw, &self.search);
        let whole = |answer: &Answer| answer.hits.iter().all(|hit| !hit.source.is_empty() && hit.chars > 0);
        let is_unset = self.search.results.is_none() && self.search.fields == SearchFields::default();
        if is_unset && !usual.as_ref().is_ok_and(whole) {
            let shape = answer::open(raw).ok().and_then(|carried| shape::find(&carried.values));
            if let Some(shape::AnswerShape { results, fields, by_columns }) = shape {
                let search = Search { results, fields, by_columns, ..self.search.clone() };
                if let Ok(answer) = answer::read(raw, &search)
                    && whole(&answer)
                {
                    self.found.guesses.push("where results stand was found by walking an answer".to_owned());
                    self.search = search;
                    return Ok(answer);
                }
            }
        }
        usual.map_err(|misfit| fault_of(self.caller, &misfit))
    }
}

/// A question that somebody gave, with the source that answered it.
fn proposed(question: &str, source: &str) -> Proposal {
    let kind = if question.contains(' ') { CanaryKind::Mixed } else { CanaryKind::Keyword };
    Proposal { query: question.to_owned(), kind, source: source.to_owned(), contains: Vec::new() }
}

fn resource_names(raw: &RawValue) -> Vec<String> {
    /// Resources whose names are looked at.
    const RESOURCES_MAX: usize = 200;
    let result: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let list = result.get("resources").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let name = |item: &Value| ["title", "name"].iter().find_map(|key| item.get(*key)?.as_str()).map(str::to_owned);
    list.iter().take(RESOURCES_MAX).filter_map(name).collect()
}

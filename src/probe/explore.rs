//! A first look at a server that nobody has described yet: what it speaks, how it is searched, what could be asked.
//!
//! One conversation, closed at its end, of at most [`REQUESTS_MAX`] requests. First the server's own words are asked
//! for, then the rare ones of what came back; only what the server then answered from the same source is proposed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;
use url::Url;

use crate::domain::answer::{Answer, Hit};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::{CanaryKind, Monitor, Search, SearchFields};
use crate::domain::observation::{BeatKind, Observation, Stage};
use crate::domain::protocol::Era;
use crate::domain::quality::canary::rank_of;
use crate::domain::quality::propose::{NONSENSE, Proposal, SeenPassage, max_score, named_openers, openers, proposals};
use crate::domain::server_profile::ServerProfile;
use crate::net::connect::Target;
use crate::probe::decode::answer;
use crate::probe::decode::shape;
use crate::probe::decode::sources;
use crate::probe::prober::Prober;
use crate::probe::session::caller::{Caller, Destination, bad_address};
use crate::probe::session::closing::close;
use crate::probe::session::handshake::{Opened, weigh_discover};
use crate::probe::session::listing::all_pages;
use crate::probe::session::message::Call;
use crate::probe::session::process_pool::ProcessPool;
use crate::probe::stages::steps::{NO_ADDRESS, call_tool, fault_of, meet, secrets_of};
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::egress::{ClientIdentity, egress};
use crate::tool_lists::callable::{Callable, find};
use crate::tool_lists::known::KnownLists;
use crate::tool_lists::tools::{input_schema, name_of, named, reduce};
use crate::untrusted_text::escaped;

/// Requests of one exploration, opening and closing included: a person waits, and a server bears it.
pub(crate) const REQUESTS_MAX: u32 = 22;
/// Canaries looked for at most: enough for a start, and each is asked here and again when it is confirmed.
pub(crate) const CANARIES_MAX: usize = 8;

/// The whole exploration, however slow the server.
const TIME_MAX: Duration = Duration::from_secs(90);
/// Words of the server's own asked first.
const OPENERS: usize = 4;
/// Asked where the server's own words brought too little: what most texts have to do with.
const PLAIN_QUESTIONS: [&str; 2] = ["what is the first thing to know?", "how does it work?"];
/// Sources from which canaries can be taken without all of them hanging on one.
const SOURCES_ENOUGH: usize = 3;
/// Failed searches in a row after which no further one is sent.
const FAILURES_MAX: u32 = 2;
/// Candidates tried beyond those wanted.
const SPARE_CANDIDATES: usize = 4;
/// A sentence's source came back within this rank, deeper ranks being no safe ground; a keyword's came first.
const RANK_MAX: u32 = 3;
/// Requests kept for closing and the look whether the server bore it.
const KEPT_FOR_CLOSING: u32 = 4;

/// What whoever explores already knows or wants.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// The tool that searches.
    pub tool: Option<String>,
    /// Its argument that takes the question.
    pub query: Option<String>,
    /// Further arguments, each value as JSON text.
    pub arguments: BTreeMap<String, String>,
    /// Canaries wanted, at most [`CANARIES_MAX`].
    pub canaries: usize,
}

/// What an exploration found.
#[derive(Debug, Clone)]
pub struct Explored {
    /// The conversation: steps, era, transport, identity, tools, sources, what it cost. Its asks stay empty.
    pub seen: Observation,
    /// What the next probe can use.
    pub profile: ServerProfile,
    /// How the server is searched; none where that was not found out.
    pub search: Option<Search>,
    /// Canaries that the server answered as proposed, with the highest score allowed to a negative one.
    pub canaries: Vec<(Proposal, Option<f64>)>,
    /// Durations of the searches that were answered; of tools/list where none was.
    pub durations: Vec<Duration>,
    /// What was guessed or left out, and should be looked at.
    pub guesses: Vec<String>,
    /// What could not be found out, a sentence each.
    pub gaps: Vec<String>,
}

impl Explored {
    /// Whether the server asked for quiet, so that nothing more should be sent.
    pub fn was_throttled(&self) -> bool {
        let faults = self.seen.steps.iter().filter_map(|step| step.fault.as_ref());
        faults.into_iter().any(|fault| matches!(fault.kind, FaultKind::RateLimited { .. }))
    }
}

impl Prober {
    /// Looks at a server for the first time. Only address, credentials and limits of `monitor` are used; `profile` is
    /// what is known of it from elsewhere.
    ///
    /// Never fails: what could not be found out is said in `Explored::gaps`.
    pub async fn explore(
        &self,
        monitor: &Monitor,
        wish: &Wish,
        profile: ServerProfile,
        now: DateTime<Utc>,
    ) -> Explored {
        let mut found = Explored {
            seen: Observation::blank(monitor.id.clone(), BeatKind::Burst, now, now),
            // Whether the session is there still shows in a beat, which opens another where it is not; here it would not.
            profile: ServerProfile { kept: None, ..profile },
            search: None,
            canaries: Vec::new(),
            durations: Vec::new(),
            guesses: Vec::new(),
            gaps: Vec::new(),
        };
        let began = Instant::now();
        let scrub = secrets_of(monitor);
        let address = if monitor.reach.program.is_some() { NO_ADDRESS } else { monitor.url.resolved.expose() };
        let parsed = Url::parse(address).ok().and_then(|url| Some((Target::of(&url)?, url)));
        let Some((target, url)) = parsed else {
            found.gaps.push(unreachable(Stage::Connect, &bad_address(&scrub)));
            return found;
        };
        let target = match egress(&self.connector, target, monitor, &scrub, ClientIdentity::Identity) {
            Ok(target) => target,
            Err(fault) => {
                found.gaps.push(unreachable(Stage::Connect, &fault));
                return found;
            }
        };
        let mut caller =
            Caller::new(self.means(), Destination { target, url, until: began + TIME_MAX }, &scrub, monitor, now);
        converse(&mut caller, &self.programs, monitor, wish, &mut found).await;
        weigh_discover(&mut found.seen.steps, &mut found.profile);
        close(&mut caller, &mut found.profile, &mut found.seen).await;
        if let Some(process) = caller.take_program() {
            process.stop().await;
        }
        caller.wire.hang_up();
        found.seen.footprint = caller.wire.footprint;
        found.seen.elapsed = began.elapsed();
        found
    }
}

/// From the connection to the last search; ends early where the next step has nothing to stand on.
async fn converse(
    caller: &mut Caller<'_>,
    programs: &ProcessPool,
    monitor: &Monitor,
    wish: &Wish,
    found: &mut Explored,
) {
    let Some(Opened { era, .. }) = meet(caller, programs, monitor, &mut found.profile, &mut found.seen).await else {
        let broken = found.seen.steps.iter().rev().find_map(|step| Some((step.stage, step.fault.as_ref()?)));
        found.gaps.extend(broken.map(|(stage, fault)| unreachable(stage, fault)));
        return;
    };
    let mut clock = StepClock::start(Stage::Tools, "tools/list");
    let listed = all_pages(caller, era, &mut clock).await;
    let step = clock.stop(listed.as_ref().err().cloned());
    found.durations.extend(step.fault.is_none().then_some(step.elapsed));
    found.seen.steps.push(step);
    let tools = match listed {
        Ok(tools) => tools,
        Err(fault) => {
            found.gaps.push(unreachable(Stage::Tools, &fault));
            return;
        }
    };
    let callable = find(&tools, wish.tool.as_deref(), wish.query.as_deref(), &wish.arguments);
    let search = callable.map(|callable| {
        found.guesses.extend(callable.guesses.iter().cloned());
        as_search(callable)
    });
    let reduced = search.as_ref().ok().unwrap_or(&monitor.search);
    found.seen.tools = Some(reduce(&tools, reduced, &KnownLists::default()));
    match search {
        Err(why) => found.gaps.push(why),
        Ok(search) => {
            let mut talk = Talk::new(caller, era, &tools, search, found);
            talk.run(wish.canaries.min(CANARIES_MAX)).await;
        }
    }
}

fn as_search(callable: Callable) -> Search {
    let Callable { tool, query, arguments, .. } = callable;
    Search { tool: Some(tool), query, arguments, results: None, fields: SearchFields::default(), per_beat: 2 }
}

/// Why the server could not be asked at all, and what would help.
fn unreachable(stage: Stage, fault: &Fault) -> String {
    let said = format!("at {}: {}", stage.slug(), fault.detail);
    match fault.kind {
        FaultKind::AuthRequired => format!("the server needs credentials, {said}; give them with --bearer-env"),
        FaultKind::AuthRejected => format!("the server refused these credentials, {said}"),
        _ => format!("the server could not be asked, {said}"),
    }
}

/// Searching a server that is found to be searchable.
struct Talk<'t, 'a> {
    caller: &'t mut Caller<'a>,
    era: Era,
    tools: &'t [Value],
    search: Search,
    found: &'t mut Explored,
    passages: Vec<SeenPassage>,
    answered: u32,
    failures: u32,
}

impl<'t, 'a> Talk<'t, 'a> {
    fn new(caller: &'t mut Caller<'a>, era: Era, tools: &'t [Value], search: Search, found: &'t mut Explored) -> Self {
        Self { caller, era, tools, search, found, passages: Vec::new(), answered: 0, failures: 0 }
    }

    async fn run(&mut self, wanted: usize) {
        let names = self.material().await;
        let tool = self.search.tool.clone().unwrap_or_default();
        let texts = self.texts_of(&tool);
        // Half from the sources' names, the best there is; half from the tools' own words.
        let mut questions = named_openers(&names, OPENERS / 2);
        questions.extend(openers(texts.iter().map(String::as_str), OPENERS - questions.len()));
        self.found.durations.clear();
        for question in &questions {
            self.ask(question).await;
        }
        for question in PLAIN_QUESTIONS {
            let sources: BTreeSet<&str> = self.passages.iter().map(|passage| passage.source.as_str()).collect();
            if sources.len() < SOURCES_ENOUGH {
                self.ask(question).await;
            }
        }
        if self.answered == 0 {
            return;
        }
        self.found.search = Some(self.search.clone());
        if self.passages.is_empty() {
            self.found.gaps.push(
                "no search brought a result with a source and a text; canaries have to be written by a person"
                    .to_owned(),
            );
            return;
        }
        if wanted > 0 {
            self.canaries(wanted).await;
        }
    }

    /// Tries what the passages suggest, nonsense first, and keeps what holds.
    async fn canaries(&mut self, wanted: usize) {
        let mut nonsense: Vec<Answer> = Vec::new();
        for question in NONSENSE {
            nonsense.extend(self.ask(question).await);
        }
        let positive = wanted.saturating_sub(1).max(1);
        let (mut sentences, mut words): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        // Collected before: what candidates bring back is no new material.
        let candidates = proposals(&self.passages);
        for proposal in candidates.into_iter().take(positive + SPARE_CANDIDATES) {
            if self.found.canaries.len() >= positive {
                break;
            }
            let Some(answer) = self.ask(&proposal.query).await else { continue };
            let expect = [proposal.source.clone()];
            let deepest = if proposal.kind == CanaryKind::Keyword { 1 } else { RANK_MAX };
            if rank_of(&expect, &answer.hits).is_some_and(|rank| rank <= deepest) {
                let scores = if proposal.kind == CanaryKind::Mixed { &mut sentences } else { &mut words };
                scores.extend(best(&answer.hits));
                self.found.canaries.push((proposal, None));
            }
        }
        if self.found.canaries.is_empty() {
            let why = "no question taken from an answer brought that answer's source back; canaries have to be written by a person";
            self.found.gaps.push(why.to_owned());
        }
        if wanted > 1 {
            // A lone code has no meaning, so that cosines of a right answer to it are as low as those of nonsense.
            self.negative(&nonsense, if sentences.is_empty() { &words } else { &sentences });
        }
    }

    /// A canary that asks nonsense, where the server answers it as it should.
    fn negative(&mut self, answers: &[Answer], right: &[f64]) {
        let Some(first) = answers.first() else { return };
        let proposal = Proposal { query: NONSENSE[0].to_owned(), kind: CanaryKind::Negative, source: String::new() };
        if answers.iter().all(|answer| answer.hits.is_empty()) {
            self.found.canaries.push((proposal, None));
            return;
        }
        let scores: Vec<f64> = answers.iter().filter_map(|answer| best(&answer.hits)).collect();
        let scored = first.hits.iter().all(|hit| hit.score.is_some());
        match max_score(&scores, right).filter(|_| scored) {
            Some(limit) => self.found.canaries.push((proposal, Some(limit))),
            None => self.found.guesses.push(
                "nonsense is answered with results that score like right ones, so no negative canary is proposed"
                    .to_owned(),
            ),
        }
    }

    /// Names of sources or resources, from whatever tells them.
    async fn material(&mut self) -> Vec<String> {
        let mut clock = StepClock::start(Stage::Search, "sources");
        let tool = sources::TOOL_NAMES.into_iter().find(|name| named(self.tools, name).is_some());
        let names = match tool {
            Some(name) => {
                let raw = call_tool(self.caller, self.era, name, "{}", &Value::Null, &mut clock).await;
                self.found.seen.sources = raw.as_ref().ok().and_then(|raw| sources::read(raw).ok());
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

    /// One search; none where it failed, nothing more may be sent, or the answer cannot be read.
    async fn ask(&mut self, question: &str) -> Option<Answer> {
        let sent = self.caller.wire.footprint.requests;
        let late = Instant::now() >= self.caller.until;
        if sent + KEPT_FOR_CLOSING >= REQUESTS_MAX || self.failures >= FAILURES_MAX || late {
            return None;
        }
        let tool = self.search.tool.clone().unwrap_or_default();
        let schema = named(self.tools, &tool).map_or(&Value::Null, input_schema);
        let mut arguments = format!("{{{}:{}", Value::from(self.search.query.as_str()), Value::from(question));
        for (name, value) in &self.search.arguments {
            arguments.push_str(&format!(",{}:{value}", Value::from(name.as_str())));
        }
        arguments.push('}');
        let mut clock = StepClock::start(Stage::Search, &escaped(question, 60));
        let outcome = call_tool(self.caller, self.era, &tool, &arguments, schema, &mut clock).await;
        let read = outcome.and_then(|raw| self.read(&raw).map(|answer| (raw, answer)));
        let step = clock.stop(read.as_ref().err().cloned());
        let elapsed = step.elapsed;
        self.found.seen.steps.push(step);
        match read {
            Ok((raw, answer)) => {
                self.failures = 0;
                self.answered += 1;
                self.found.durations.push(elapsed);
                let named = |passage: &SeenPassage| !passage.source.is_empty() && !passage.text.is_empty();
                self.passages.extend(answer::passages(&raw, &self.search).into_iter().filter(named));
                Some(answer)
            }
            Err(fault) => {
                // Whoever asks for quiet gets it at once.
                let told = matches!(fault.kind, FaultKind::RateLimited { .. });
                self.failures = if told { FAILURES_MAX } else { self.failures + 1 };
                if self.failures == FAILURES_MAX || self.answered == 0 {
                    let said = format!("a search by `{}` failed: {}", escaped(&tool, 60), fault.detail);
                    if !self.found.gaps.contains(&said) {
                        self.found.gaps.push(said);
                    }
                }
                None
            }
        }
    }

    /// Reads an answer; where its usual places hold no results, looks for others and keeps what it found.
    fn read(&mut self, raw: &RawValue) -> Result<Answer, Fault> {
        let usual = answer::read(raw, &self.search);
        let whole = |answer: &Answer| answer.hits.iter().all(|hit| !hit.source.is_empty() && hit.chars > 0);
        if self.search.results.is_none() && !usual.as_ref().is_ok_and(whole) {
            let shape = answer::open(raw).ok().and_then(|carried| shape::find(&carried.values));
            if let Some(shape::AnswerShape { results, fields }) = shape {
                let search = Search { results: Some(results), fields, ..self.search.clone() };
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

fn best(hits: &[Hit]) -> Option<f64> {
    hits.iter().filter_map(|hit| hit.score).max_by(f64::total_cmp)
}

fn resource_names(raw: &RawValue) -> Vec<String> {
    /// Resources whose names are looked at.
    const RESOURCES_MAX: usize = 200;
    let result: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let list = result.get("resources").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let name = |item: &Value| ["title", "name"].iter().find_map(|key| item.get(*key)?.as_str()).map(str::to_owned);
    list.iter().take(RESOURCES_MAX).filter_map(name).collect()
}

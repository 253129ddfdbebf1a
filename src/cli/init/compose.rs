//! A monitor written out as YAML, with what was found and what to look at as comments.

use std::fmt::Write as _;
use std::time::Duration;

use crate::cli::init::scalar::{comment, text, verbatim};
use crate::domain::monitor::{CanaryKind, Monitor};
use crate::domain::quality::propose::{Proposal, slug};
use crate::domain::search::Search;
use crate::domain::wording::as_written;
use crate::tool_lists::callable::COUNT_NAMES;

/// Everything a proposed monitor says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub id: String,
    /// The name people read; none: the id is name enough.
    pub name: Option<String>,
    /// The address as it may be written, references and all; empty for a program.
    pub url: String,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// Variables of its environment, secrets as references.
    pub env: Vec<(String, String)>,
    /// The bearer token as a reference.
    pub bearer: Option<String>,
    /// Further headers, each value as a reference.
    pub headers: Vec<(String, String)>,
    /// Tool and arguments; none where they were not found out.
    pub search: Option<Search>,
    /// Pointers to lists in answers, none of which was found to hold results.
    pub lists: Vec<String>,
    /// Canaries, with the highest score allowed to a negative one.
    pub canaries: Vec<(Proposal, Option<f64>)>,
    /// Durations that were measured, in any order.
    pub durations: Vec<Duration>,
    /// When the newest source was indexed, as a date.
    pub indexed: Option<String>,
    /// Whether a list says where the server is, so that nothing of that is written.
    pub is_listed: bool,
    /// Whether rhythm and limits are left to the file's `defaults`, which these would contradict.
    pub by_defaults: bool,
    /// The most requests a day, as the checker counts them.
    pub calls_per_day: Option<u64>,
    /// What was found, a line each.
    pub facts: Vec<String>,
    /// What could not be found out or should be looked at, a line each.
    pub doubts: Vec<String>,
}

/// Canaries asked in a beat, where there are so many.
const PER_BEAT: usize = 2;
/// P95 may be so many times what was measured: a first look meets an idle server.
const SLACK: u32 = 5;
/// No limit is below this: under it, the network's own moods page.
const P95_MIN: Duration = Duration::from_millis(200);
/// From here on a call gets [`TIMEOUT_SLOW`] instead of the usual 10 s.
const SLOW: Duration = Duration::from_secs(8);
const TIMEOUT_SLOW: Duration = Duration::from_secs(30);
/// A limit above this could not be told from a timeout.
const P95_MAX: Duration = Duration::from_secs(25);

impl Draft {
    /// The monitor as an item of `monitors:`, each line indented by so many blanks; ends with a line break.
    pub(crate) fn item(&self, indent: usize) -> String {
        let mut out = String::new();
        let mut line = |depth: usize, text: &str| {
            let _ = writeln!(out, "{:width$}{text}", "", width = depth * 2);
        };
        line(0, &format!("- id: {}", text(&self.id)));
        for fact in self.facts.iter().chain(&self.calls()) {
            line(1, &format!("# {}", comment(fact)));
        }
        for doubt in &self.doubts {
            line(1, &format!("# LOOK: {}", comment(doubt)));
        }
        if let Some(name) = &self.name {
            line(1, &format!("name: {}", text(name)));
        }
        match self.program.split_first() {
            None if self.is_listed => {}
            None => line(1, &format!("url: {}", address(&self.url))),
            Some((command, args)) => self.program(command, args, &mut line),
        }
        self.auth(&mut line);
        if self.is_listed {
            // Its template says the rest.
        } else if self.by_defaults {
            line(1, "# How often, how long and by which limits: as `defaults` says.");
        } else {
            line(1, "every: 60s");
        }
        if self.p95() > SLOW && !self.by_defaults {
            line(1, &format!("timeout: {}", as_written(TIMEOUT_SLOW)));
        }
        if let Some(search) = &self.search {
            self.search(search, &mut line);
        }
        self.canaries(&mut line);
        if !self.by_defaults {
            self.rules(&mut line);
        }
        let pad = " ".repeat(indent);
        out.lines().fold(String::new(), |text, line| text + &pad + line + "\n")
    }

    /// What the monitor costs its server, as a sentence.
    pub(crate) fn calls(&self) -> Option<String> {
        let calls = self.calls_per_day?;
        Some(format!("Up to {calls} calls a day; `every` and `search.per_beat` change that."))
    }

    fn auth(&self, line: &mut impl FnMut(usize, &str)) {
        if self.bearer.is_none() && self.headers.is_empty() {
            return;
        }
        line(1, "auth:");
        if let Some(bearer) = &self.bearer {
            line(2, &format!("bearer: {}", verbatim(bearer)));
        }
        if !self.headers.is_empty() {
            line(2, "headers:");
        }
        for (name, value) in &self.headers {
            line(3, &format!("{}: {}", text(name), verbatim(value)));
        }
    }

    fn program(&self, command: &str, args: &[String], line: &mut impl FnMut(usize, &str)) {
        line(1, &format!("command: {}", verbatim(command)));
        if !args.is_empty() {
            let args: Vec<String> = args.iter().map(|arg| verbatim(arg)).collect();
            line(1, &format!("args: [{}]", args.join(", ")));
        }
        if !self.env.is_empty() {
            line(1, "env:");
        }
        for (name, value) in &self.env {
            line(2, &format!("{}: {}", text(name), verbatim(value)));
        }
    }

    fn search(&self, search: &Search, line: &mut impl FnMut(usize, &str)) {
        line(1, "search:");
        if let Some(tool) = &search.tool {
            line(2, &format!("tool: {}", text(tool)));
        }
        match &search.query[..] {
            [pointer] if !pointer[1..].contains('/') => {
                let name = pointer[1..].replace("~1", "/").replace("~0", "~");
                // A name that begins as a pointer does would be read as one.
                line(2, &format!("query: {}", text(if name.starts_with('/') { pointer } else { &name })));
            }
            pointers => {
                line(2, "query:");
                pointers.iter().for_each(|pointer| line(2, &format!("- {}", text(pointer))));
            }
        }
        if !search.arguments.is_empty() {
            line(2, "arguments:");
        }
        for (name, value) in &search.arguments {
            line(3, &format!("{}: {}", verbatim(name), argument(value)));
        }
        if let Some(results) = &search.results {
            line(2, &format!("results: {}", text(results)));
        }
        let fields = &search.fields;
        let known: Vec<String> = [
            ("source", &fields.source),
            ("content", &fields.content),
            ("score", &fields.score),
            ("total", &fields.total),
        ]
        .into_iter()
        .filter_map(|(name, pointer)| Some(format!("{name}: {}", text(pointer.as_ref()?))))
        .collect();
        if !known.is_empty() {
            line(2, if search.by_columns { "columns:" } else { "fields:" });
        }
        for field in &known {
            line(3, field);
        }
        let said = search.said.as_deref();
        for (name, sign) in
            [("error", said.and_then(|said| said.error.as_ref())), ("empty", said.and_then(|said| said.empty.as_ref()))]
        {
            if let Some(sign) = sign {
                line(2, &format!("{name}: {}", text(sign.as_str())));
            }
        }
        if !self.canaries.is_empty() {
            line(2, &format!("per_beat: {}", PER_BEAT.min(self.canaries.len())));
        }
    }

    fn canaries(&self, line: &mut impl FnMut(usize, &str)) {
        if self.canaries.is_empty() {
            if self.search.is_some() {
                self.blanks(line);
            }
            return;
        }
        line(1, "# Each was asked three times and answered as written here. Is its source really the right one?");
        if !self.canaries.iter().any(|(proposal, _)| proposal.kind == CanaryKind::Meaning) {
            line(
                1,
                "# `kind: meaning`, a question in words that its source does not use, has to be written by a person.",
            );
        }
        line(1, "canaries:");
        self.canary_items(Vec::new(), line);
    }

    /// The canaries alone, as items of the list that a monitor of a file has; they take no id of that.
    pub(crate) fn canaries_to_paste(&self, monitor: &Monitor) -> String {
        let mut out = String::new();
        let ids = monitor.canaries.iter().map(|canary| canary.id.clone()).collect();
        self.canary_items(ids, &mut |depth, text| {
            let _ = writeln!(out, "  {:width$}{text}", "", width = depth * 2);
        });
        out
    }

    fn canary_items(&self, mut ids: Vec<String>, line: &mut impl FnMut(usize, &str)) {
        for (proposal, max_score) in &self.canaries {
            let id = unused_id(proposal, &ids);
            line(2, &format!("- id: {}", text(&id)));
            ids.push(id);
            line(3, &format!("query: {}", text(&proposal.query)));
            if !proposal.contains.is_empty() {
                let words: Vec<String> = proposal.contains.iter().map(|words| text(words)).collect();
                line(3, &format!("contains: [{}]", words.join(", ")));
            } else if proposal.kind != CanaryKind::Negative {
                line(3, &format!("expect: [{}]", text(&proposal.source)));
                let within = proposal.within();
                let within = self.results_asked().map_or(within, |asked| asked.clamp(1, within));
                line(3, &format!("within: {within}"));
            }
            line(3, &format!("kind: {}", proposal.kind.slug()));
            if let Some(limit) = max_score {
                line(3, &format!("max_score: {limit}"));
            }
        }
    }

    /// What a person has to fill in where no canary was found, by example.
    fn blanks(&self, line: &mut impl FnMut(usize, &str)) {
        line(
            1,
            "# To be filled in: where answers keep their results, and questions whose answers are known. Below `search:`",
        );
        let list = self.lists.first().map_or("/results", String::as_str);
        line(1, &format!("#   results: {}   # a list, and inside one result", comment(list)));
        line(1, "#   fields: { source: /name, content: /text }");
        line(
            1,
            "# or, where lists of names and texts stand side by side: `columns: { source: /ids/0, content: /documents/0 }`.",
        );
        line(1, "# canaries:");
        line(1, "#   - { id: first, query: \"…\", expect: [\"its source\"] }");
        line(
            1,
            "#   - { id: second, query: \"…\", contains: [\"words of the answer\"] }   # where the tool answers with text",
        );
    }

    fn rules(&self, line: &mut impl FnMut(usize, &str)) {
        let limit = as_written(self.p95());
        let what = if self.search.is_some() { "searches" } else { "tools/list" };
        line(1, "rules:");
        match self.durations.iter().max() {
            Some(longest) => {
                let (count, ms) = (self.durations.len(), longest.as_secs_f64() * 1e3);
                line(2, &format!("# measured on {count} {what}: {ms:.0} ms at most"));
                line(2, &format!("latency: {{ p95: {limit} }}"));
            }
            None => line(2, "latency: { p95: 800ms }   # not measured: what the server is used to"),
        }
        if let Some(date) = &self.indexed {
            line(
                2,
                &format!("# freshness: {{ older_than: 72h }}   # the newest source was indexed on {}", comment(date)),
            );
        }
    }

    /// The limit on P95: generous, rounded up to two digits.
    fn p95(&self) -> Duration {
        let longest = self.durations.iter().max().copied().unwrap_or_default();
        let ms = (longest * SLACK).as_millis().min(P95_MAX.as_millis());
        let ms = u64::try_from(ms).unwrap_or(u64::MAX);
        let step = 10_u64.pow(ms.max(1).ilog10().saturating_sub(1)).max(50);
        Duration::from_millis(ms.div_ceil(step) * step).clamp(P95_MIN, P95_MAX)
    }

    fn results_asked(&self) -> Option<u32> {
        let arguments = &self.search.as_ref()?.arguments;
        COUNT_NAMES.iter().find_map(|name| arguments.get(*name)?.parse().ok())
    }
}

/// A whole file around monitors that are written already: what the least file needs, and where people are told.
pub(crate) fn new_file(items: &str) -> String {
    format!(
        "# Written by `serin init`. `serin check` says whether it is right, `serin run` watches.\n\
         version: 1\n\
         serin:\n  \
           listen: 127.0.0.1:8080   # the pages; any address that is not loopback demands `token`\n  \
           database: serin.db\n\
         # Nobody is paged yet. To be told, fill this in:\n\
         # receivers:\n\
         #   oncall: {{ webhook: {{ url: \"${{env:ONCALL_URL}}\", secret: \"${{env:ONCALL_SECRET}}\" }} }}\n\
         # routes:\n\
         #   - {{ to: [oncall] }}\n\
         monitors:\n{items}"
    )
}

/// A URL is plain enough where it has nothing that YAML could read otherwise.
fn address(url: &str) -> String {
    let plain = url.starts_with("http")
        && url.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '/' | '.' | '-' | '_'))
        && !url.ends_with(':');
    if plain { url.to_owned() } else { verbatim(url) }
}

/// JSON text as YAML.
fn argument(json: &str) -> String {
    serde_json::from_str(json).map_or_else(|_| json.to_owned(), |value: serde_json::Value| flow(&value))
}

/// A value in flow style, which is JSON's: its texts stay texts, at every depth. Keys are never resolved, so that they are
/// written as they are.
fn flow(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(said) => text(said),
        serde_json::Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        serde_json::Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{}: {}", verbatim(name), flow(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

fn unused_id(proposal: &Proposal, ids: &[String]) -> String {
    /// Characters of an id made from a question.
    const CHARS_MAX: usize = 32;
    let base = match proposal.kind {
        CanaryKind::Negative => "nonsense".to_owned(),
        kind => slug(proposal.query.trim_start_matches("is it true that "), CHARS_MAX)
            .unwrap_or_else(|| kind.slug().to_owned()),
    };
    let numbered = (2..).map(|nth| format!("{base}-{nth}"));
    std::iter::once(base.clone()).chain(numbered).find(|id| !ids.contains(id)).unwrap_or(base)
}

#[cfg(test)]
mod tests;

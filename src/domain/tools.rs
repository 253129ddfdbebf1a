//! tools/list as it is remembered: the list, the calls we know of it, and how it differs from the accepted one.
//!
//! JSON stays outside: the probe takes lists apart and brings sentences. A list is shared, since the last one seen, the
//! accepted one and the candidate are one and the same on all but a few beats.

use std::collections::BTreeMap;

/// A list, reduced to what is compared and shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// SHA-256 over all tools, canonical JSON, sorted by name; lowercase hex.
    pub hash: String,
    /// The tools, sorted by name.
    pub tools: Vec<ToolSeen>,
    /// The canonical JSON, for the record and the diff; bounded by the probe.
    pub json: String,
    /// Tokens of the whole list's JSON; none where they were not counted.
    pub tokens: Option<u32>,
    /// Texts in it that read like instructions to a model, however long they have been there; a handful.
    pub instructions: Vec<Instruction>,
    /// The server's own `instructions` for models, bounded; empty where it gives none, and none where that is not known.
    pub server_instructions: Option<Box<str>>,
}

/// One tool, reduced to what is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSeen {
    /// Name of the tool, as clients call it.
    pub name: String,
    /// Hash over everything, texts included; `hash` leaves texts out.
    pub full_hash: String,
    /// Hash without titles and descriptions.
    pub shape_hash: String,
}

/// A text that reads like an instruction to a model rather than like documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Name of the tool.
    pub tool: String,
    /// Where in the tool, such as `description` or `argument query`.
    pub place: String,
    /// What gives it away, such as `asks to keep something from the user`.
    pub sign: String,
    /// The text around it, bounded and escaped.
    pub excerpt: String,
}

/// The calls that the monitor's canaries make, held against the schema just seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownCalls {
    /// How many there are: one a canary.
    pub known: u32,
    /// How many no longer fit.
    pub broken: u32,
    /// The first few of those: the canary's id, and why.
    pub why: Vec<(String, String)>,
}

impl KnownCalls {
    /// Such as `2 of 9 known calls break`; none where all fit.
    pub fn said(&self) -> Option<String> {
        (self.broken > 0).then(|| format!("{} of {} known calls break", self.broken, self.known))
    }
}

/// How a list differs from the accepted one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drift {
    /// The hash of the list it was held against.
    pub against: String,
    /// What changed, the gravest first; bounded by [`CHANGES_MAX`].
    pub changes: Vec<ToolChange>,
    /// Changes beyond that.
    pub more: u32,
}

/// Changes kept of one drift: a server that changed more than that has another contract altogether.
pub const CHANGES_MAX: usize = 100;

impl Drift {
    /// A drift of these changes, sorted and bounded.
    pub fn new(against: &str, mut changes: Vec<ToolChange>) -> Self {
        changes.sort_by(|a, b| (a.class, &a.tool, &a.what).cmp(&(b.class, &b.tool, &b.what)));
        changes.dedup();
        let more = u32::try_from(changes.len().saturating_sub(CHANGES_MAX)).unwrap_or(u32::MAX);
        changes.truncate(CHANGES_MAX);
        Self { against: against.to_owned(), changes, more }
    }

    /// The gravest class; none where nothing was found.
    pub fn class(&self) -> Option<ChangeClass> {
        self.changes.first().map(|change| change.class)
    }

    /// How many of the changes kept are of a class.
    pub fn count(&self, class: ChangeClass) -> usize {
        self.changes.iter().filter(|change| change.class == class).count()
    }

    /// What hashes alone can tell, where a list was too large to be kept whole.
    ///
    /// A schema that changed in an unknown way counts as breaking: whether it is, only the known calls can say.
    pub fn by_hashes(against: &str, before: &[ToolSeen], now: &[ToolSeen]) -> Self {
        // By name, the first of each: a list of a thousand is not searched a thousand times.
        fn by_name(tools: &[ToolSeen]) -> BTreeMap<&str, &ToolSeen> {
            tools.iter().rev().map(|tool| (tool.name.as_str(), tool)).collect()
        }
        let (was, is) = (by_name(before), by_name(now));
        let gone = before.iter().filter(|tool| !is.contains_key(tool.name.as_str()));
        let mut changes: Vec<ToolChange> =
            gone.map(|tool| ToolChange::new(ChangeClass::Breaking, &tool.name, GONE.to_owned())).collect();
        for tool in now {
            let change = match was.get(tool.name.as_str()) {
                None => ToolChange::new(ChangeClass::Compatible, &tool.name, NEW.to_owned()),
                Some(old) if old.shape_hash != tool.shape_hash => {
                    ToolChange::new(ChangeClass::Breaking, &tool.name, "its schema changed".to_owned())
                }
                Some(old) if old.full_hash != tool.full_hash => {
                    ToolChange::new(ChangeClass::Wording, &tool.name, "its texts changed".to_owned())
                }
                Some(_) => continue,
            };
            changes.push(change);
        }
        Self::new(against, changes)
    }
}

/// Stands for the server itself among the names of its tools.
pub const SERVER: &str = "the server";
/// What is said of a tool that is no longer listed.
pub const GONE: &str = "the tool is gone";
/// What is said of a tool that was not listed before.
pub const NEW: &str = "the tool is new";

/// One difference between two lists, as a line for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolChange {
    /// Whether it breaks calls, is a wording only, or tells models what to do.
    pub class: ChangeClass,
    /// Name of the tool.
    pub tool: String,
    /// One line without the tool's name, such as ``argument `lang` is now required``.
    pub what: String,
}

impl ToolChange {
    /// `tool` and `what` are to be bounded and escaped by the caller.
    pub fn new(class: ChangeClass, tool: &str, what: String) -> Self {
        Self { class, tool: tool.to_owned(), what }
    }

    /// The whole line, such as ``search_documents: argument `lang` is now required``.
    pub fn line(&self) -> String {
        format!("{}: {}", self.tool, self.what)
    }
}

/// How much a change matters, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeClass {
    /// A text newly reads like an instruction to the model: somebody may be steering our users' agents.
    Instruction,
    /// A call that was right before may be wrong now, or an answer lacks what it had.
    Breaking,
    /// Every call that was right before still is.
    Compatible,
    /// Only titles and descriptions differ.
    Wording,
}

impl ChangeClass {
    /// Every class, the gravest first.
    pub const ALL: [Self; 4] = [Self::Instruction, Self::Breaking, Self::Compatible, Self::Wording];

    /// The word used in YAML, evidence and table.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Instruction => "instruction",
            Self::Breaking => "breaking",
            Self::Compatible => "compatible",
            Self::Wording => "wording",
        }
    }

    /// The class a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.slug() == slug)
    }
}

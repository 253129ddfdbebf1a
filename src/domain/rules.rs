//! When each signal of a monitor opens and closes, as the file declares it.

use std::time::Duration;

use crate::domain::reason::Severity;

/// When each signal of a monitor opens and closes (DESIGN §4).
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Transport, protocol, handshake and tools faults.
    pub availability: StreakRule,
    /// When credentials, certificates and closed doors count as an incident.
    pub access: StreakRule,
    /// The share of failed search calls.
    pub errors: ErrorsRule,
    /// When search calls are too slow.
    pub latency: LatencyRule,
    /// What a changed list of tools is worth.
    pub contract: ContractRule,
    /// When the server's own word that it is unwell counts.
    pub health: StreakRule,
    /// How many wrong answers in a row count as an incident.
    pub quality: QualityRule,
    /// Age of the newest index; none: not judged.
    pub freshness: Option<FreshnessRule>,
    /// Tokens of tools and answers; none: not judged.
    pub context: Option<ContextRule>,
}

impl Rules {
    /// The defaults of DESIGN §4, as if declared on `line`.
    pub const fn standard(line: u32) -> Self {
        Self {
            availability: StreakRule::standard(Duration::from_secs(45), line),
            access: StreakRule::standard(Duration::ZERO, line),
            errors: ErrorsRule {
                share: 0.05,
                window: Duration::from_secs(30 * 60),
                min_bad: 3,
                severity: Severity::Page,
                line,
            },
            latency: LatencyRule {
                p95: Duration::from_millis(800),
                window: Duration::from_secs(20 * 60),
                window_derived: true,
                sustained: Duration::from_secs(20 * 60),
                min_samples: 20,
                severity: Severity::Ticket,
                line,
            },
            contract: ContractRule {
                breaking: Severity::Page,
                compatible: Severity::Notice,
                wording: Severity::Ticket,
                line,
            },
            health: StreakRule::standard(Duration::ZERO, line),
            quality: QualityRule {
                within: 5,
                after: After::Auto,
                severity: Severity::Page,
                checks: QualityChecks::STANDARD,
                line,
            },
            freshness: None,
            context: None,
        }
    }
}

/// File, line and commit of a rule, for messages and pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulePlace {
    /// Path of the file, as people open it.
    pub file: String,
    /// Line of the rule in that file, from 1.
    pub line: u32,
    /// The commit, where the file is in git.
    pub commit: Option<String>,
}

impl RulePlace {
    /// In one word, such as `monitors.yaml:24@1f6a2b3`.
    pub fn written(&self) -> String {
        let commit = self.commit.as_ref().map(|commit| format!("@{commit}")).unwrap_or_default();
        format!("{}:{}{commit}", self.file, self.line)
    }
}

/// Opens after so many bad beats, in a row or of the latest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreakRule {
    /// Bad beats.
    pub after: u32,
    /// Of so many of the latest that said something, `after` at least and 60 at most; none: in a row.
    pub of: Option<u32>,
    /// Good beats in a row that end it.
    pub recover_after: u32,
    /// Covered time from the first bad beat before anybody is told.
    pub page_after: Duration,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

impl StreakRule {
    const fn standard(page_after: Duration, line: u32) -> Self {
        Self { after: 3, of: None, recover_after: 2, page_after, severity: Severity::Page, line }
    }
}

/// Opens when the share of failed calls in a window is too high.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorsRule {
    /// Failed ÷ asked, 0–1.
    pub share: f64,
    /// How far back failed calls count.
    pub window: Duration,
    /// Failed calls there must be at least.
    pub min_bad: u32,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

/// Opens when P95 stays above a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyRule {
    /// P95 above this is elevated.
    pub p95: Duration,
    /// The sliding window P95 is taken over.
    pub window: Duration,
    /// Whether nobody wrote the window, or one that is too short for its samples, so that its length follows from how often
    /// the server is asked.
    pub window_derived: bool,
    /// Covered time above the limit before it opens, and below it before it closes.
    pub sustained: Duration,
    /// Samples that the window has to hold.
    pub min_samples: u32,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

/// How loud each class of a contract change is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractRule {
    /// A declared canary's call no longer fits, or a text turned into an instruction; one step quieter where a change
    /// could break a call and breaks none that is known.
    pub breaking: Severity,
    /// Anything else that is not only text.
    pub compatible: Severity,
    /// Only texts differ.
    pub wording: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

/// How many wrong answers of a canary in a row are an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// As few as this server's own blips allow.
    Auto,
    /// So many, whatever it costs in false pages.
    Answers(u32),
}

/// Opens when a canary's answer is wrong so many times in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct QualityRule {
    /// Default rank for canaries that name none.
    pub within: u32,
    /// The canary's wrong answers in a row.
    pub after: After,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// What else of answers is judged.
    pub checks: QualityChecks,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

/// What else of answers is judged, beside whether they are right (RETRIEVAL.md §3). Most of it takes a lock to compare
/// with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QualityChecks {
    /// Too few results, missing scores, a broken order; such an answer is wrong.
    pub results: ResultsCheck,
    /// The answers' own word that they are partial or degraded.
    pub self_reported: CheckRule,
    /// Lists of sources that moved.
    pub lists: ListsCheck,
    /// First scores that moved.
    pub scores: CheckRule,
    /// Lists in another order and scores on another scale, at once; none: not told as such.
    pub reranker: Option<Severity>,
    /// Chunks of other lengths.
    pub chunks: ChunksCheck,
    /// One question asked twice, and two lists.
    pub relations: CheckRule,
    /// One question asked with caches and past them, and two lists.
    pub caches: CheckRule,
    /// Two questions that look alike, and one list; `after` of the last five looks.
    pub pairs: CheckRule,
    /// Lists of a replica and of its original.
    pub replicas: ListsCheck,
}

impl QualityChecks {
    /// What is judged where the file says nothing of it.
    pub const STANDARD: Self = Self {
        results: ResultsCheck { judge: true, least: 0.5 },
        self_reported: CheckRule { after: 3, severity: Some(Severity::Ticket) },
        lists: ListsCheck { similar: 0.8, share: 0.5, rule: CheckRule { after: 2, severity: Some(Severity::Notice) } },
        scores: CheckRule { after: 2, severity: Some(Severity::Notice) },
        reranker: Some(Severity::Ticket),
        chunks: ChunksCheck { factor: 2, rule: CheckRule { after: 3, severity: Some(Severity::Notice) } },
        relations: CheckRule { after: 3, severity: Some(Severity::Ticket) },
        caches: CheckRule { after: 3, severity: Some(Severity::Notice) },
        pairs: CheckRule { after: 3, severity: Some(Severity::Ticket) },
        replicas: ListsCheck {
            similar: 0.8,
            share: 0.5,
            rule: CheckRule { after: 3, severity: Some(Severity::Ticket) },
        },
    };
}

/// When a check opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckRule {
    /// Beats in a row, or rounds where the check looks at whole ones.
    pub after: u32,
    /// How loud it is; none: not judged.
    pub severity: Option<Severity>,
}

/// Answers against what is pinned of their form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResultsCheck {
    /// Whether it is judged.
    pub judge: bool,
    /// Results there have to be ÷ the fewest of the pin runs, above 0 and below 1.
    pub least: f64,
}

/// Lists against those that are pinned, or those of another server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ListsCheck {
    /// A list that overlaps less with the nearest pinned one, or with the other server's, is another: rank-biased overlap,
    /// 0 to 1.
    pub similar: f64,
    /// So large a share of the canaries has to have another one, 0 to 1.
    pub share: f64,
    /// In how many rounds, and how loud it is.
    pub rule: CheckRule,
}

/// Lengths of chunks against those that are pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunksCheck {
    /// So many times as long, or as short, at least.
    pub factor: u32,
    /// In how many beats, and how loud it is.
    pub rule: CheckRule,
}

/// Opens when sources go missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShrinksRule {
    /// Missing ÷ known sources, 0 to 1.
    pub by: f64,
    /// How loud it is; none: not judged.
    pub severity: Option<Severity>,
}

impl ShrinksRule {
    /// What holds where the file says nothing of it.
    pub const STANDARD: Self = Self { by: 0.02, severity: Some(Severity::Page) };
}

/// Opens when the index is older than it may be, or has lost sources.
#[derive(Debug, Clone, PartialEq)]
pub struct FreshnessRule {
    /// How old the newest source may be.
    pub older_than: Duration,
    /// When sources are missing.
    pub shrinks: ShrinksRule,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

/// Opens when tools or answers take too much of a model's context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRule {
    /// Tokens that the list of tools may have; none: any number.
    pub tools_tokens: Option<u32>,
    /// Tokens that one answer may have; none: any number.
    pub answer_tokens: Option<u32>,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// The line that declares it, or the monitor's own.
    pub line: u32,
}

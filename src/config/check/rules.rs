//! `rules:`: when each signal opens and closes, and whether a rule can mean what it says.
//!
//! A window that nobody wrote grows until it can hold the samples it needs, that of latency half as many again; one that
//! somebody wrote and that cannot is a fault, because its signal would be silent for ever.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::checker::{Checker, Fields};
use crate::config::check::keys;
use crate::config::check::layers::Layers;
use crate::config::check::m_of_n::m_of_n;
use crate::config::check::numbers::IN_A_ROW;
use crate::config::check::quality_checks::{quality_checks, shrinks};
use crate::config::read::diagnostic::{Diagnostic, TextSpan};
use crate::config::read::node::{MapEntry, Node};
use crate::domain::answer::HITS_MAX;
use crate::domain::reason::Severity;
use crate::domain::rules::{
    After, ContextRule, ContractRule, ErrorsRule, FreshnessRule, LatencyRule, QualityRule, Rules, StreakRule,
};
use crate::domain::schedule::PLAIN_EVERY;
use crate::domain::wording::{as_written, counted as counted_words};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Samples are kept for so long (DESIGN §8); a longer window would look at nothing.
const WINDOW_MAX: Duration = Duration::from_secs(35 * 24 * 3600);
const WINDOWS: RangeInclusive<Duration> = SECOND..=WINDOW_MAX;
/// Bounds of `every`: more often than each second is load, not watching; sources are listed hourly and days are counted, so that a rarer look says little.
pub(in crate::config) const EVERY: RangeInclusive<Duration> = SECOND..=DAY;
/// Tokens that a limit may be: the greatest contexts there are hold a few million.
const TOKENS: RangeInclusive<u32> = 1..=10_000_000;
/// A percentile over fewer samples is one bad call (DESIGN §4).
const LATENCY_SAMPLES_MIN: u32 = 20;
/// Samples that a window nobody wrote has room for. Calls that fail leave none, and a beat may come late: with room for
/// the least alone, P95 would stay unknown for as long as one call in twenty fails.
const LATENCY_SAMPLES_ROOM: u32 = LATENCY_SAMPLES_MIN * 3 / 2;

const SEVERITIES: &[(&str, Severity)] =
    &[("page", Severity::Page), ("ticket", Severity::Ticket), ("notice", Severity::Notice)];

/// The keys under `rules:`, each with its map.
#[derive(Debug, Clone, Default)]
pub(in crate::config) struct RuleFields<'n, 'a>(Vec<(&'static str, TextSpan, Fields<'n, 'a>)>);

impl<'n, 'a> RuleFields<'n, 'a> {
    /// Reads the keys under `rules:`, not yet what they say.
    pub(in crate::config) fn read(checker: &mut Checker<'_>, what: &str, node: Option<&'n Node<'a>>) -> Self {
        const SECTION: &str = "monitors.rules";
        let fields = node.and_then(|node| checker.fields(format_args!("'rules' of {what}"), node, SECTION));
        let mut found = Vec::new();
        for name in keys::known(SECTION) {
            let Some(entry) = fields.and_then(|fields| fields.get(name)) else { continue };
            let section = format!("{SECTION}.{name}");
            let fields = checker.fields(format_args!("rule '{name}'"), &entry.value, &section);
            if let Some(fields) = fields {
                look_below(checker, fields, &section);
            }
            found.extend(fields.map(|fields| (*name, entry.place, fields)));
        }
        Self(found)
    }

    fn get(&self, name: &str) -> Option<(TextSpan, Fields<'n, 'a>)> {
        self.0.iter().find(|(known, ..)| *known == name).map(|(_, place, fields)| (*place, *fields))
    }
}

/// Looks at the keys of the maps below a map, so that those of `defaults` are known even where no monitor takes them.
fn look_below(checker: &mut Checker<'_>, fields: Fields<'_, '_>, section: &str) {
    for name in keys::known(section) {
        let below = format!("{section}.{name}");
        if keys::known(&below).is_empty() {
            continue;
        }
        let entry = fields.get(name);
        let fields = entry.and_then(|entry| checker.fields(format_args!("'{name}'"), &entry.value, &below));
        if let Some(fields) = fields {
            look_below(checker, fields, &below);
        }
    }
}

/// What a monitor's rules stand on.
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct RuleBasis {
    pub every: Duration,
    pub timeout: Duration,
    pub per_beat: u32,
    /// Whether questions may go past the server's caches, so that those that are asked plainly are no samples.
    pub passes_caches: bool,
    /// How many are declared.
    pub canaries: usize,
    /// How many health addresses are declared.
    pub health: usize,
    /// Results a search asks for, where it says so.
    pub results_asked: Option<u32>,
    pub place: TextSpan,
}

/// One rule, as a monitor and `defaults` write it.
struct LayeredRule<'n, 'a> {
    layers: Layers<'n, 'a>,
    own: Option<TextSpan>,
    line: u32,
}

/// Reads the rules of a monitor over those of `defaults`.
pub(in crate::config) fn rules(
    checker: &mut Checker<'_>,
    own: &RuleFields<'_, '_>,
    shared: &RuleFields<'_, '_>,
    basis: RuleBasis,
) -> Rules {
    let rule = |name: &str| {
        let (own, shared) = (own.get(name), shared.get(name));
        let line = own.or(shared).map_or(basis.place.line, |(place, _)| place.line);
        let layers = Layers::new(own.map(|(_, fields)| fields), shared.map(|(_, fields)| fields));
        LayeredRule { layers, own: own.map(|(place, _)| place), line }
    };
    needs(checker, &rule("errors"), basis.canaries > 0, "rule 'errors' judges searches, and no canary is declared");
    needs(checker, &rule("quality"), basis.canaries > 0, "rule 'quality' judges canaries, and none is declared");
    needs(checker, &rule("health"), basis.health > 0, "rule 'health' judges health addresses, and none is declared");
    Rules {
        availability: streak(checker, &rule("availability"), 45 * SECOND, basis),
        access: streak(checker, &rule("access"), Duration::ZERO, basis),
        errors: errors(checker, &rule("errors"), basis),
        latency: latency(checker, &rule("latency"), basis),
        contract: contract(checker, &rule("contract")),
        health: streak(checker, &rule("health"), Duration::ZERO, basis),
        quality: quality(checker, &rule("quality"), basis),
        freshness: freshness(checker, &rule("freshness")),
        context: context(checker, &rule("context"), basis),
    }
}

/// A rule that a monitor writes itself has something to judge; one in `defaults` is for those that have.
fn needs(checker: &mut Checker<'_>, rule: &LayeredRule<'_, '_>, there: bool, message: &str) {
    if let Some(place) = rule.own.filter(|_| !there) {
        checker.report(Diagnostic::new(place, message).help("leave the rule out, or declare what it needs"));
    }
}

impl<'n, 'a> LayeredRule<'n, 'a> {
    /// Says that what is written cannot mean what it says; where `defaults` writes it, with the monitor that shows so.
    fn cannot(&self, checker: &mut Checker<'_>, entry: &MapEntry<'_>, message: String, mend: &str, basis: RuleBasis) {
        let diagnostic = Diagnostic::new(entry.value.place, message).help(mend);
        let own = self.layers.own(&entry.key).is_some();
        checker.report(if own { diagnostic } else { diagnostic.note(basis.place, "as this monitor probes") });
    }

    fn severity(&self, checker: &mut Checker<'_>, key: &str, otherwise: Severity) -> Severity {
        let entry = self.layers.get(key);
        entry.and_then(|entry| checker.choice(format_args!("'{key}'"), &entry.value, SEVERITIES)).unwrap_or(otherwise)
    }

    fn count(&self, checker: &mut Checker<'_>, key: &str, otherwise: u32) -> u32 {
        let entry = self.layers.get(key);
        entry.and_then(|entry| checker.whole(format_args!("'{key}'"), &entry.value, IN_A_ROW)).unwrap_or(otherwise)
    }

    /// The key, unless the other one, which says the same in another way, is written nearer to the monitor.
    fn nearer(&self, checker: &mut Checker<'_>, key: &str, other: &str) -> Option<&'n MapEntry<'a>> {
        let layers = [self.layers.own(key), self.layers.shared(key)].into_iter();
        let mut layers = layers.zip([self.layers.own(other), self.layers.shared(other)]);
        let (entry, beside) = layers.find(|(one, other)| one.is_some() || other.is_some())?;
        if let (Some(entry), Some(_)) = (entry, beside) {
            let message = format!("'{key}' and '{other}' both say how many bad beats open it");
            checker.report(Diagnostic::new(entry.place, message).help("leave one of them out"));
        }
        entry
    }

    /// A duration and where it is written; none where it is not, or is faulty.
    fn duration(
        &self,
        checker: &mut Checker<'_>,
        key: &str,
        range: RangeInclusive<Duration>,
    ) -> Option<(Duration, &'n MapEntry<'a>)> {
        let entry = self.layers.get(key)?;
        Some((checker.duration(format_args!("'{key}'"), &entry.value, range)?, entry))
    }
}

fn streak(checker: &mut Checker<'_>, rule: &LayeredRule<'_, '_>, page_after: Duration, basis: RuleBasis) -> StreakRule {
    let written = rule.duration(checker, "page_after", Duration::ZERO..=DAY);
    let page_after = written.map_or(page_after, |(duration, _)| duration);
    let in_a_row = rule.count(checker, "after", 3);
    let written = rule.nearer(checker, "m_of_n", "after");
    let counted = written.and_then(|entry| m_of_n(checker, entry));
    let never_lasts = |n: u32| !page_after.is_zero() && (n - 1) * basis.every <= page_after;
    if let Some((entry, (_, n))) = written.zip(counted).filter(|(_, (_, n))| never_lasts(*n)) {
        let message = format!(
            "{}, one each {}, never last longer than 'page_after: {}', so that it never opens",
            counted_words(n, "beat", "beats"),
            as_written(basis.every),
            as_written(page_after)
        );
        rule.cannot(checker, entry, message, "look at more beats, or shorten 'page_after'", basis);
    }
    StreakRule {
        after: counted.map_or(in_a_row, |(m, _)| m),
        of: counted.map(|(_, n)| n),
        recover_after: rule.count(checker, "recover_after", 2),
        page_after,
        severity: rule.severity(checker, "severity", Severity::Page),
        line: rule.line,
    }
}

fn errors(checker: &mut Checker<'_>, rule: &LayeredRule<'_, '_>, basis: RuleBasis) -> ErrorsRule {
    const SHARE: f64 = 0.05;
    let share_written = rule.layers.get("share");
    let share_read = share_written.and_then(|entry| checker.share("'share'", &entry.value));
    let share = share_read.unwrap_or(SHARE);
    let share_is_faulty = share_written.is_some() && share_read.is_none();
    let min_bad = rule.count(checker, "min_bad", 3);
    let written = rule.duration(checker, "window", WINDOWS);
    let least = calls_needed(share, min_bad);
    let window = written.map_or_else(|| (30 * MINUTE).max(fitting(least, basis)), |(window, _)| window);
    if let Some((window, entry)) = written.filter(|_| basis.per_beat > 0 && !share_is_faulty) {
        let calls = samples(window, basis);
        let mend = format!("a window of at least {}", as_written(fitting(least, basis)));
        let percent = (share * 1e5).round() / 1e3;
        if window < basis.every {
            too_short(checker, rule, "'window'", entry, basis);
        } else if calls < u64::from(min_bad) {
            let message = format!(
                "a window of {} holds {calls} searches at most, so that 'min_bad: {min_bad}' is never reached",
                as_written(window)
            );
            rule.cannot(checker, entry, message, &mend, basis);
        } else if share * calls as f64 + 1e-9 < 1.0 {
            let message = format!(
                "{percent}% of the {calls} searches that a window of {} can hold is less than one",
                as_written(window)
            );
            rule.cannot(checker, entry, message, &mend, basis);
        }
    }
    let severity = rule.severity(checker, "severity", Severity::Page);
    ErrorsRule { share, window: window.min(WINDOW_MAX), min_bad, severity, line: rule.line }
}

/// Calls that a window has to hold before a share of them and a least count both say something.
fn calls_needed(share: f64, min_bad: u32) -> u32 {
    let for_share = (1.0 / share - 1e-9).ceil().clamp(1.0, 1e6) as u32;
    for_share.max(min_bad)
}

fn latency(checker: &mut Checker<'_>, rule: &LayeredRule<'_, '_>, basis: RuleBasis) -> LatencyRule {
    let basis = RuleBasis { per_beat: basis.per_beat.max(1), ..basis };
    let p95 = rule.duration(checker, "p95", Duration::from_millis(1)..=10 * MINUTE);
    if let Some((p95, entry)) = p95.filter(|(p95, _)| *p95 >= basis.timeout) {
        let message = format!("no call takes {}: it is given up after {}", as_written(p95), as_written(basis.timeout));
        rule.cannot(checker, entry, message, "lower 'p95', or raise 'timeout'", basis);
    }
    let window = rule.duration(checker, "window", WINDOWS);
    if let Some((window, entry)) = window {
        let held = samples(window, basis);
        if window < basis.every {
            too_short(checker, rule, "'window'", entry, basis);
        } else if held < u64::from(LATENCY_SAMPLES_MIN) {
            let message = format!(
                "a window of {} holds {held} samples at most, and P95 needs {LATENCY_SAMPLES_MIN}",
                as_written(window)
            );
            let mend = format!("a window of at least {}", as_written(fitting(LATENCY_SAMPLES_MIN, basis)));
            rule.cannot(checker, entry, message, &mend, basis);
        }
    }
    let sustained = rule.duration(checker, "for", WINDOWS);
    if let Some((_, entry)) = sustained.filter(|(sustained, _)| *sustained < basis.every) {
        too_short(checker, rule, "'for'", entry, basis);
    }
    // Where caches are passed by, what is asked plainly is no sample of the index.
    let rounds = if basis.passes_caches { (PLAIN_EVERY, PLAIN_EVERY - 1) } else { (1, 1) };
    let needed = fitting((LATENCY_SAMPLES_MIN * rounds.0).div_ceil(rounds.1), basis);
    let written = window.map(|(window, _)| window);
    LatencyRule {
        // Below the limit on a call even where that is short, else it would never be exceeded.
        p95: p95.map_or(Duration::from_millis(800).min(basis.timeout * 3 / 4), |(p95, _)| p95),
        window: written.map_or_else(
            || (20 * MINUTE).max(fitting(LATENCY_SAMPLES_ROOM, basis)).min(WINDOW_MAX),
            |window| window.max(needed),
        ),
        window_derived: written.is_none_or(|window| window < needed),
        sustained: sustained.map_or((20 * MINUTE).max(basis.every), |(sustained, _)| sustained),
        min_samples: LATENCY_SAMPLES_MIN,
        severity: rule.severity(checker, "severity", Severity::Ticket),
        line: rule.line,
    }
}

fn too_short(
    checker: &mut Checker<'_>,
    rule: &LayeredRule<'_, '_>,
    what: &str,
    entry: &MapEntry<'_>,
    basis: RuleBasis,
) {
    let message = format!("{what} is shorter than the {} between two beats", as_written(basis.every));
    rule.cannot(checker, entry, message, "lengthen it, or shorten 'every'", basis);
}

/// Samples that a window holds at most.
fn samples(window: Duration, basis: RuleBasis) -> u64 {
    let beats = window.as_millis() / basis.every.as_millis().max(1);
    u64::try_from(beats).unwrap_or(u64::MAX).saturating_mul(u64::from(basis.per_beat))
}

/// The shortest window that holds so many samples.
fn fitting(samples: u32, basis: RuleBasis) -> Duration {
    basis.every.saturating_mul(samples.div_ceil(basis.per_beat.max(1)))
}

fn contract(checker: &mut Checker<'_>, rule: &LayeredRule<'_, '_>) -> ContractRule {
    ContractRule {
        breaking: rule.severity(checker, "breaking", Severity::Page),
        compatible: rule.severity(checker, "compatible", Severity::Notice),
        wording: rule.severity(checker, "wording", Severity::Ticket),
        line: rule.line,
    }
}

fn quality(checker: &mut Checker<'_>, rule: &LayeredRule<'_, '_>, basis: RuleBasis) -> QualityRule {
    let written = rule.layers.get("within");
    let after = rule.layers.get("after");
    let after = after.and_then(|entry| checker.whole_or_auto("'after'", &entry.value, IN_A_ROW)).flatten();
    let within =
        written.and_then(|entry| within(checker, entry, basis.results_asked, rule.layers.own("within").is_some()));
    QualityRule {
        within: within.unwrap_or(5).min(basis.results_asked.unwrap_or(u32::MAX)),
        after: after.map_or(After::Auto, After::Answers),
        severity: rule.severity(checker, "severity", Severity::Page),
        checks: quality_checks(checker, rule.layers),
        line: rule.line,
    }
}

/// A rank that a search can reach. `strict`: it was written for this very monitor.
pub(in crate::config) fn within(
    checker: &mut Checker<'_>,
    entry: &MapEntry<'_>,
    results_asked: Option<u32>,
    strict: bool,
) -> Option<u32> {
    let rank = checker.whole("'within'", &entry.value, 1..=HITS_MAX as u32)?;
    if let Some(asked) = results_asked.filter(|asked| strict && rank > *asked) {
        let message = format!("rank {rank} is never reached: a search asks for {asked} results");
        checker.report(
            Diagnostic::new(entry.value.place, message).help(format!("at most {asked}, or raise the argument")),
        );
    }
    Some(rank)
}

fn freshness(checker: &mut Checker<'_>, rule: &LayeredRule<'_, '_>) -> Option<FreshnessRule> {
    if !rule.layers.written() {
        return None;
    }
    let severity = rule.severity(checker, "severity", Severity::Ticket);
    if rule.layers.get("older_than").is_none() {
        let place = rule.own.unwrap_or(TextSpan { line: rule.line, ..TextSpan::default() });
        // Neither layer has it, so that it is a fault of both together and not of the map it is missed in.
        let diagnostic = Diagnostic::new(place, "rule 'freshness' has no 'older_than'");
        checker.report(diagnostic.help("such as `older_than: 72h`"));
    }
    let (older_than, _) = rule.duration(checker, "older_than", MINUTE..=400 * DAY)?;
    let shrinks = shrinks(checker, rule.layers);
    Some(FreshnessRule { older_than, shrinks, severity, line: rule.line })
}

fn context(checker: &mut Checker<'_>, rule: &LayeredRule<'_, '_>, basis: RuleBasis) -> Option<ContextRule> {
    if !rule.layers.written() {
        return None;
    }
    let severity = rule.severity(checker, "severity", Severity::Ticket);
    let place = rule.own.unwrap_or(TextSpan { line: rule.line, ..TextSpan::default() });
    let written = ["tools_tokens", "answer_tokens"].map(|key| rule.layers.get(key));
    if written.iter().all(Option::is_none) {
        let diagnostic = Diagnostic::new(place, "rule 'context' has no 'tools_tokens'");
        checker.report(diagnostic.help("such as `tools_tokens: 20000`, or `answer_tokens: 8000`"));
    }
    let own_answers = rule.layers.own("answer_tokens").filter(|_| basis.canaries == 0);
    if let Some(entry) = own_answers {
        let message = "'answer_tokens' weighs answers, and no canary is declared";
        checker.report(Diagnostic::new(entry.value.place, message).help("leave the key out, or declare a canary"));
    }
    let [tools_tokens, answer_tokens] = written
        .map(|entry| entry.and_then(|entry| checker.whole(format_args!("'{}'", entry.key), &entry.value, TOKENS)));
    Some(ContextRule { tools_tokens, answer_tokens, severity, line: rule.line })
}

//! When a signal opens and when it closes, said for people: pages and messages use the same sentences.

use crate::domain::incident::Incident;
use crate::domain::monitor::Monitor;
use crate::domain::quality::blips::{AFTER_LEAST, AFTER_MOST};
use crate::domain::quality::erosion::RECENT;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::rules::{After, Rules};
use crate::domain::signal::Signal;
use crate::domain::wording::{as_written, counted};

/// A rule as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleText {
    pub opens: String,
    pub resolves: String,
    /// How loud, where the rule has one severity for everything.
    pub severity: Option<Severity>,
    /// The line that declares it.
    pub line: u32,
}

/// One signal's rule in words; none where the signal is not judged.
pub(crate) fn rule_text(monitor: &Monitor, signal: Signal) -> Option<RuleText> {
    let rules = &monitor.rules;
    let (opens, resolves, severity, line) = match signal {
        Signal::Access if monitor.forbids_sources() => {
            let text = streak(rules, signal);
            let opens = format!("{}; or a canary gets a forbidden source twice in a row (page)", text.opens);
            return Some(RuleText { opens, ..text });
        }
        Signal::Availability | Signal::Access | Signal::Health => return Some(streak(rules, signal)),
        Signal::Errors => {
            let rule = &rules.errors;
            let (share, window) = (rule.share * 100.0, as_written(rule.window));
            let opens = format!("more than {share} % of search calls fail in {window}, at least {}", rule.min_bad);
            let resolves = format!("the share of failed search calls over {window} falls under {} %", share / 2.0);
            (opens, resolves, Some(rule.severity), rule.line)
        }
        Signal::Latency => {
            let rule = &rules.latency;
            let (limit, sustained) = (as_written(rule.p95), as_written(rule.sustained));
            let window = as_written(rule.window);
            let n = rule.min_samples;
            let opens = format!(
                "P95 over {window} stays above {limit} for {sustained}, with at least {}",
                counted(n, "sample", "samples")
            );
            (opens, format!("P95 over {window} stays below {limit} for {sustained}"), Some(rule.severity), rule.line)
        }
        Signal::Contract => {
            let rule = &rules.contract;
            let opens = format!(
                "tools differ from the baseline on 2 beats (breaking {}, compatible {}, wording {})",
                rule.breaking.slug(),
                rule.compatible.slug(),
                rule.wording.slug()
            );
            let (mut opens, mut resolves) =
                (opens, "the tools return to the baseline, or the new ones are accepted".to_owned());
            if let Some(context) = &rules.context {
                let limits = [("the tools", context.tools_tokens), ("an answer", context.answer_tokens)];
                let limits =
                    limits.into_iter().filter_map(|(what, limit)| Some(format!("{what} over {} tokens", limit?)));
                let limits = limits.collect::<Vec<_>>().join(" or ");
                opens.push_str(&format!("; {limits} on 2 beats ({})", context.severity.slug()));
                resolves.push_str("; or what took too many tokens takes fewer");
            }
            (opens, resolves, None, rule.line)
        }
        Signal::Quality => {
            let rule = &rules.quality;
            let opens = match rule.after {
                After::Answers(1) => "a canary's answer is wrong once".to_owned(),
                After::Answers(after) => format!("a canary's answer is wrong {after} times in a row"),
                After::Auto => format!(
                    "a canary's answer is wrong {AFTER_LEAST} to {AFTER_MOST} times in a row, the fewer the less this \
                     server blips"
                ),
            };
            let resolves = "each failing canary is answered rightly twice in a row".to_owned();
            (opens, resolves, Some(rule.severity), rule.line)
        }
        Signal::Freshness => {
            let Some(rule) = rules.freshness.as_ref() else {
                let shrinks = monitor.shrinks()?;
                let opens = format!("{:.0} % fewer sources than in monitors.lock, on 2 looks", shrinks.by * 100.0);
                let resolves = "a look finds them again, or another lock is loaded".to_owned();
                return Some(RuleText { opens, resolves, severity: shrinks.severity, line: monitor.line });
            };
            let age = as_written(rule.older_than);
            let opens = format!("the newest source was indexed more than {age} ago, on 2 looks");
            let resolves = format!("a source is indexed again, and the next look finds it younger than {age}");
            (opens, resolves, Some(rule.severity), rule.line)
        }
    };
    Some(RuleText { opens, resolves, severity, line })
}

/// What ends an incident: of one that flaps, a long calm; of a hit rate that fell, its return; else what ends any of its
/// signal.
pub(crate) fn resolves(monitor: &Monitor, incident: &Incident) -> Option<String> {
    if let Some(flapping) = incident.course.flapping {
        return Some(flapping.ends_said());
    }
    if incident.reason == FailureReason::RetrievalRegression {
        return Some(format!("the kind's last {RECENT} looks are as often right as was promised before it fell"));
    }
    rule_text(monitor, incident.signal).map(|said| said.resolves)
}

fn streak(rules: &Rules, signal: Signal) -> RuleText {
    let (rule, bad) = match signal {
        Signal::Access => (&rules.access, "refused"),
        Signal::Health => (&rules.health, "unhealthy"),
        _ => (&rules.availability, "failed"),
    };
    let told = if rule.page_after.is_zero() {
        String::new()
    } else {
        format!(", over at least {}", as_written(rule.page_after))
    };
    RuleText {
        opens: match rule.of {
            Some(of) if of > 1 => format!("{} of the last {of} beats {bad}{told}", rule.after),
            _ => format!("{}{told}", in_a_row(rule.after, bad)),
        },
        resolves: in_a_row(rule.recover_after, "good"),
        severity: Some(rule.severity),
        line: rule.line,
    }
}

/// Such as `3 failed beats in a row`; of a single one there is no row.
fn in_a_row(n: u32, what: &str) -> String {
    counted(n, &format!("{what} beat"), &format!("{what} beats in a row"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn one_beat_is_not_several() {
        let address = Address { shown: String::new(), resolved: Secret::new("") };
        let mut monitor = Monitor::undeclared("docs", address);
        let rules = &mut monitor.rules;
        (rules.availability.after, rules.availability.recover_after) = (1, 1);
        rules.availability.page_after = std::time::Duration::ZERO;
        rules.quality.after = After::Answers(1);
        let check = |monitor: &Monitor, signal, opens: &str, resolves: &str| {
            let said = rule_text(monitor, signal).unwrap();
            assert_eq!((said.opens.as_str(), said.resolves.as_str()), (opens, resolves));
        };
        check(&monitor, Signal::Availability, "1 failed beat", "1 good beat");
        let twice = "each failing canary is answered rightly twice in a row";
        check(&monitor, Signal::Quality, "a canary's answer is wrong once", twice);
        (monitor.rules.availability.after, monitor.rules.availability.recover_after) = (3, 2);
        monitor.rules.availability.of = Some(5);
        check(&monitor, Signal::Availability, "3 of the last 5 beats failed", "2 good beats in a row");
        monitor.rules.availability.of = None;
        check(&monitor, Signal::Availability, "3 failed beats in a row", "2 good beats in a row");
    }
}

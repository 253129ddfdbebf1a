//! When a signal opens and when it closes, said for people: pages and messages use the same sentences.

use std::time::Duration;

use crate::domain::fleet::Rules;
use crate::domain::reason::Severity;
use crate::domain::signal::Signal;

/// A rule as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What opens an incident.
    pub opens: String,
    /// What would resolve it.
    pub resolves: String,
    /// How loud, where the rule has one severity for everything.
    pub severity: Option<Severity>,
    /// The line that declares it.
    pub line: u32,
}

/// One signal's rule in words; none where the signal is not judged.
pub fn said(rules: &Rules, signal: Signal) -> Option<Said> {
    let (opens, resolves, severity, line) = match signal {
        Signal::Availability | Signal::Access | Signal::Health => return Some(streak(rules, signal)),
        Signal::Errors => {
            let rule = &rules.errors;
            let (share, window) = (rule.share * 100.0, length(rule.window));
            let opens = format!("more than {share} % of search calls fail in {window}, at least {}", rule.min_bad);
            let resolves = format!("the share of failed search calls over {window} falls under {} %", share / 2.0);
            (opens, resolves, Some(rule.severity), rule.line)
        }
        Signal::Latency => {
            let rule = &rules.latency;
            let (limit, sustained) = (length(rule.p95), length(rule.sustained));
            let window = length(rule.window);
            let n = rule.min_samples;
            let opens = format!("P95 over {window} stays above {limit} for {sustained}, with at least {n} samples");
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
            let opens = format!("a canary's answer is wrong {} times in a row", rule.after);
            let resolves = "each failing canary is answered rightly twice in a row".to_owned();
            (opens, resolves, Some(rule.severity), rule.line)
        }
        Signal::Freshness => {
            let rule = rules.freshness.as_ref()?;
            let age = length(rule.older_than);
            let opens = format!("the newest source was indexed more than {age} ago, on 2 looks");
            let resolves = format!("a source is indexed again, and the next look finds it younger than {age}");
            (opens, resolves, Some(rule.severity), rule.line)
        }
    };
    Some(Said { opens, resolves, severity, line })
}

fn streak(rules: &Rules, signal: Signal) -> Said {
    let (rule, bad) = match signal {
        Signal::Access => (&rules.access, "refused"),
        Signal::Health => (&rules.health, "unhealthy"),
        _ => (&rules.availability, "failed"),
    };
    let told =
        if rule.page_after.is_zero() { String::new() } else { format!(", over at least {}", length(rule.page_after)) };
    Said {
        opens: format!("{} {bad} beats in a row{told}", rule.after),
        resolves: format!("{} good beats in a row", rule.recover_after),
        severity: Some(rule.severity),
        line: rule.line,
    }
}

/// A length as the file writes it, such as `20m` or `800ms`.
pub fn length(length: Duration) -> String {
    const UNITS: [(u128, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let ms = length.as_millis();
    UNITS
        .into_iter()
        .find(|(unit, _)| ms > 0 && ms.is_multiple_of(*unit))
        .or((ms == 0).then_some((1_000, "s")))
        .map_or_else(|| format!("{ms}ms"), |(unit, word)| format!("{}{word}", ms / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_said_as_the_file_writes_them() {
        for (ms, said) in
            [(0, "0s"), (800, "800ms"), (45_000, "45s"), (1_200_000, "20m"), (259_200_000, "3d"), (5_400_000, "90m")]
        {
            assert_eq!(length(Duration::from_millis(ms)), said);
        }
    }
}

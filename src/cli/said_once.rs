//! What several commands say of an error or a finding, and none of it twice.

use crate::config::read::diagnostic::Diagnostics;

/// An error as a terminal shows it, to be printed through `anstream`. Faults of a file name themselves errors.
pub(crate) fn error(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Diagnostics>() {
        Some(faults) => faults.styled(),
        None => format!("error: {error:#}"),
    }
}

/// A finding in one line; the summary of one that was made from a fault begins with its reason in words already, and
/// mostly with its stage.
pub(crate) fn finding(reason: &str, stage: &str, summary: &str) -> String {
    let words = reason.replace('_', " ");
    let rest = summary.strip_prefix(&words).map(|rest| rest.strip_prefix(&format!(" at {stage}")).unwrap_or(rest));
    match rest.filter(|rest| rest.starts_with(": ") || rest.starts_with(" (")) {
        Some(rest) => format!("{reason} at {stage}{rest}"),
        None => format!("{reason} at {stage}: {summary}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_its_reason_and_its_stage_once() {
        let rows = [
            ("tool error at search: no such table", "tool_error at search: no such table", "made from a fault"),
            ("tool error (of the first)", "tool_error at search (of the first)", "with its place instead of a stage"),
            ("1 of 1 canary asked was wrong", "tool_error at search: 1 of 1 canary asked was wrong", "in other words"),
            ("tool error at tools: gone", "tool_error at search: tool error at tools: gone", "of another stage"),
            ("tool errors abound", "tool_error at search: tool errors abound", "with words that only look so"),
        ];
        for (summary, expected, sentence) in rows {
            assert_eq!(finding("tool_error", "search", summary), expected, "{sentence}");
        }
    }

    #[test]
    fn an_error_is_told_with_its_causes() {
        let found = anyhow::anyhow!("no such file").context("monitors.yaml cannot be read");
        assert_eq!(error(&found), "error: monitors.yaml cannot be read: no such file");
    }
}

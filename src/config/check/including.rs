//! `include:`, checked: what was found of its globs is said at their places.

use crate::config::check::checker::Checker;
use crate::config::read::diagnostic::Diagnostic;
use crate::config::read::include::{GLOBS_MAX, GlobFinding};
use crate::config::read::node::{MapEntry, NodeValue};

/// Checks the `include:` of one file and says what was found about its globs.
pub(in crate::config) fn include(
    checker: &mut Checker<'_>,
    entry: &MapEntry<'_>,
    file: usize,
    findings: &[GlobFinding],
) {
    let one = std::slice::from_ref(&entry.value);
    let items = match &entry.value.value {
        NodeValue::Scalar { .. } if !entry.value.is_null() => one,
        _ => checker.list("'include'", &entry.value).unwrap_or_default(),
    };
    if items.len() > GLOBS_MAX {
        let diagnostic = Diagnostic::new(entry.place, format!("'include' names {} globs", items.len()));
        checker.report(diagnostic.help(format!("at most {GLOBS_MAX}: let one glob match more files")));
    }
    for (nth, item) in items.iter().enumerate().take(GLOBS_MAX) {
        if checker.text("a glob of 'include'", item).is_none() {
            continue;
        }
        for finding in findings.iter().filter(|finding| (finding.file, finding.nth) == (file, nth)) {
            let diagnostic = if finding.warning { Diagnostic::warning } else { Diagnostic::new };
            checker.report(diagnostic(item.place, finding.message.clone()).help(finding.mend.clone()));
        }
    }
}

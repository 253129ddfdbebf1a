//! `include:`, checked: what was found of its globs is said at their places.

use crate::config::check::checker::Checker;
use crate::config::read::fault::Fault;
use crate::config::read::include::{Finding, GLOBS_MAX};
use crate::config::read::tree::{Entry, Value};

/// Checks the `include:` of one file and says what was found about its globs.
pub fn include(checker: &mut Checker<'_>, entry: &Entry<'_>, file: usize, findings: &[Finding]) {
    let one = std::slice::from_ref(&entry.value);
    let items = match &entry.value.value {
        Value::Scalar { .. } if !entry.value.is_null() => one,
        _ => checker.list("'include'", &entry.value).unwrap_or_default(),
    };
    if items.len() > GLOBS_MAX {
        let fault = Fault::new(entry.place, format!("'include' names {} globs", items.len()));
        checker.fault(fault.help(format!("at most {GLOBS_MAX}: let one glob match more files")));
    }
    for (nth, item) in items.iter().enumerate().take(GLOBS_MAX) {
        if checker.text("a glob of 'include'", item).is_none() {
            continue;
        }
        for finding in findings.iter().filter(|finding| (finding.file, finding.nth) == (file, nth)) {
            let fault = if finding.warning { Fault::warning } else { Fault::new };
            checker.fault(fault(item.place, finding.message.clone()).help(finding.mend.clone()));
        }
    }
}

//! `m_of_n`: bad beats that need not come in a row.

use std::ops::RangeInclusive;

use crate::config::check::checker::Checker;
use crate::config::read::diagnostic::Diagnostic;
use crate::config::read::node::MapEntry;
use crate::domain::recent_beats::BEATS_MAX;

const OF_THE_LATEST: RangeInclusive<u32> = 1..=BEATS_MAX;

/// So many bad beats of so many of the latest, such as `[3, 5]`.
pub(super) fn m_of_n(checker: &mut Checker<'_>, entry: &MapEntry<'_>) -> Option<(u32, u32)> {
    const SUCH_AS: &str = "such as `m_of_n: [3, 5]`, for 3 bad beats of the last 5";
    let items = checker.list("'m_of_n'", &entry.value)?;
    let read: Vec<_> = items.iter().map(|item| checker.whole("'m_of_n'", item, OF_THE_LATEST)).collect();
    let message = match read[..] {
        [Some(m), Some(n)] if m <= n => return Some((m, n)),
        [Some(m), Some(n)] => format!("no more than {n} of {n} beats can be bad, and 'm_of_n' wants {m}"),
        // What cannot be read is told already.
        _ if read.contains(&None) => return None,
        _ => format!("'m_of_n' takes two numbers, and these are {}", read.len()),
    };
    checker.report(Diagnostic::new(entry.value.place, message).help(SUCH_AS));
    None
}

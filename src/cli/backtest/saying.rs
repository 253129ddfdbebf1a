//! A back-test as people read it: in a terminal, or in a pull request. Each line can be understood alone.

use std::fmt::Write;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::cli::backtest::comparing::{Change, Difference};
use crate::cli::backtest::report::{MonitorReport, Report};
use crate::domain::fleet::Provenance;
use crate::domain::wording::{counted, span};
use crate::hindsight::replaying::ToldIncident;

/// Differences that are written; the others are counted, and JSON has them all.
const LINES_MAX: usize = 200;

/// For a terminal.
pub(crate) fn text(report: &Report) -> String {
    let mut text = String::new();
    line(&mut text, &format!("{}, {}", version(&report.provenance), tried(report)));
    if report.differences() == 0 {
        line(&mut text, "nobody would have been notified otherwise");
    } else {
        line(&mut text, "\nWho would have been notified otherwise");
        let all = report.monitors.iter().flat_map(|monitor| monitor.differences.iter().map(move |one| (monitor, one)));
        for (monitor, one) in all.take(LINES_MAX) {
            line(&mut text, &format!("  {} {}  {}: {}", sign(one), monitor.id, what(one), incident(one)));
        }
        if let Some(more) = more(report) {
            line(&mut text, &format!("  {more}"));
        }
    }
    section(&mut text, "\nNot comparable", &not_comparable(report));
    section(&mut text, "\nNot in the record", &not_in_record(report));
    line(&mut text, &format!("\n{}", pages(report)));
    text
}

/// For a pull request.
pub(crate) fn markdown(report: &Report) -> String {
    let mut text = String::new();
    line(&mut text, &format!("### Back-test of {}\n", version(&report.provenance)));
    line(&mut text, &format!("{}. **{}**", capital(&tried(report)), pages(report)));
    if report.differences() == 0 {
        line(&mut text, "\nNobody would have been notified otherwise.");
    } else {
        line(&mut text, "\n| monitor | what changes | incident |\n|---|---|---|");
        let all = report.monitors.iter().flat_map(|monitor| monitor.differences.iter().map(move |one| (monitor, one)));
        for (monitor, one) in all.take(LINES_MAX) {
            line(&mut text, &format!("| `{}` | {} | {} |", monitor.id, what(one), incident(one)));
        }
        if let Some(more) = more(report) {
            line(&mut text, &format!("\n{more}"));
        }
    }
    list(&mut text, "Not comparable", &not_comparable(report));
    list(&mut text, "Not in the record", &not_in_record(report));
    text
}

fn version(from: &Provenance) -> String {
    let commit = from.commit.as_deref().map(|commit| format!(" at {commit}")).unwrap_or_default();
    format!("{}{commit}", from.file)
}

fn tried(report: &Report) -> String {
    let days = |at: DateTime<Utc>| at.format("%Y-%m-%d");
    format!(
        "tried on {} of {} from {} to {}",
        counted(usize::try_from(report.beats()).unwrap_or(usize::MAX), "beat", "beats"),
        counted(report.monitors.len(), "monitor", "monitors"),
        days(report.stretch.from),
        days(report.stretch.until)
    )
}

/// Such as `pages: 12 happened, 9 with this file (1.5 → 1.1 a monitor and month)`.
fn pages(report: &Report) -> String {
    let ((then, now), months) = (report.pages(), report.monitor_months());
    let rate = |pages: usize| pages as f64 / months;
    // From less than a day nobody tells a month.
    let rates = match months >= 1.0 / 30.0 {
        true => format!(" ({:.2} → {:.2} a monitor and month of 30 days)", rate(then), rate(now)),
        false => String::new(),
    };
    format!("pages: {then} happened, {now} with this file{rates}")
}

fn more(report: &Report) -> Option<String> {
    let more = report.differences().saturating_sub(LINES_MAX);
    (more > 0).then(|| format!("and {more} more; `--json` has them all"))
}

const fn sign(one: &Difference) -> char {
    match (&one.then, &one.now) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    }
}

/// What changes, such as `later by 20 min, quieter (page → ticket)`.
pub(super) fn what(one: &Difference) -> String {
    let said: Vec<String> = one.changes.iter().map(|change| said(*change, one)).collect();
    said.join(", ")
}

fn said(change: Change, one: &Difference) -> String {
    let pair = one.then.as_ref().zip(one.now.as_ref()).map(|(then, now)| (&then.incident, &now.incident));
    let of = |word: &str, by: Duration| format!("{word} by {}", span(by));
    let severities =
        || pair.map_or(String::new(), |(then, now)| format!("{} → {}", then.severity.slug(), now.severity.slug()));
    match change {
        Change::Gone => "gone".to_owned(),
        Change::New => "new".to_owned(),
        Change::Sooner(by) => of("sooner", by),
        Change::Later(by) => of("later", by),
        Change::NowTold => "notified, which it was not".to_owned(),
        Change::NoLongerTold => "nobody notified".to_owned(),
        Change::Louder => format!("louder ({})", severities()),
        Change::Quieter => format!("quieter ({})", severities()),
        Change::OtherReason => {
            let reasons = pair.map_or(String::new(), |(then, now)| format!("{} → {}", then.reason, now.reason));
            format!("other reason ({reasons})")
        }
        Change::EndsSooner(by) => of("ends sooner", by),
        Change::EndsLater(Some(by)) => of("ends later", by),
        Change::EndsLater(None) => "does not end".to_owned(),
    }
}

/// Such as `page, timeout (availability), 2026-11-03 09:14 UTC for 42 min`.
fn incident(one: &Difference) -> String {
    let Some(told) = one.then.as_ref().or(one.now.as_ref()) else { return String::new() };
    let incident = &told.incident;
    // Packs keep moments to the hundredth of a second: 20 minutes are not to be 19.
    let seconds = |length: TimeDelta| (length + TimeDelta::milliseconds(500)).num_seconds().unsigned_abs();
    let length = incident.resolved_at.map(|end| span(Duration::from_secs(seconds(end - incident.opened_at))));
    let lasts = length.map_or_else(|| "still open".to_owned(), |length| format!("for {length}"));
    format!(
        "{}, {} ({}), {} {lasts}{}",
        incident.severity.slug(),
        incident.reason,
        incident.signal.slug(),
        incident.opened_at.format("%Y-%m-%d %H:%M UTC"),
        quiet(told)
    )
}

/// Whether nobody was told, or somebody later than it opened.
pub(super) const fn quiet(told: &ToldIncident) -> &'static str {
    match (told.told_at, told.in_maintenance) {
        (None, true) => ", in maintenance, nobody notified",
        (None, false) => ", nobody notified",
        (Some(_), true) => ", notified when maintenance was over",
        (Some(_), false) => "",
    }
}

/// What the record has no answer to, a line each.
pub(super) fn not_comparable(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for id in &report.unknown {
        lines.push(format!("{id}: it is new, and was never looked at"));
    }
    for (id, pages) in &report.removed {
        lines.push(format!("{id}: the file does not declare it; {} happened", counted(*pages, "page", "pages")));
    }
    for monitor in &report.monitors {
        let not = &monitor.not_comparable;
        for (canary, why) in &not.canaries {
            lines.push(format!("{}: canary {canary}: {why}", monitor.id));
        }
        if let Some(original) = &not.original {
            lines.push(format!(
                "{}: replica_divergence is left out: how {original} stood at each of its beats is not in the record",
                monitor.id
            ));
        }
        if !not.keys.is_empty() {
            let keys = not.keys.join(", ");
            lines.push(format!("{}: {keys} changed, and the record was made with what stood there", monitor.id));
        }
    }
    lines
}

/// What the record lacks, a line each.
pub(super) fn not_in_record(report: &Report) -> Vec<String> {
    report.monitors.iter().flat_map(lacks).collect()
}

fn lacks(monitor: &MonitorReport) -> Vec<String> {
    let (id, replayed) = (&monitor.id, &monitor.replayed);
    let beats = |count: u64| counted(usize::try_from(count).unwrap_or(usize::MAX), "beat", "beats");
    let mut lines = Vec::new();
    match monitor.stretch {
        None => lines.push(format!("{id}: no beat that was seen is kept")),
        Some(stretch) => {
            let from = stretch.from.format("%Y-%m-%d %H:%M UTC");
            if replayed.unjudged > 0 {
                let count = beats(replayed.unjudged);
                lines.push(format!(
                    "{id}: {count} are of a Serin that did not record what it judged; compared from {from} on"
                ));
            }
        }
    }
    if !monitor.knows_file {
        lines.push(format!(
            "{id}: the file in force is not kept, or includes others that are not here, so that nothing is known of what changes in its canaries"
        ));
    }
    if replayed.untold > 0 {
        let count = usize::try_from(replayed.untold).unwrap_or(usize::MAX);
        lines.push(format!(
            "{id}: of {} the text is not kept, or not to where it shows whether it is right; they count as not asked",
            counted(count, "answer", "answers")
        ));
    }
    if replayed.without_file > 0 {
        let count = beats(replayed.without_file);
        lines.push(format!("{id}: {count} are of a file that cannot be read any more, and are weighed by this one"));
    }
    if replayed.other_lock > 0 {
        let count = beats(replayed.other_lock);
        lines.push(format!(
            "{id}: {count} were judged by another lock, which is not kept; what differs from a lock is not judged there"
        ));
    }
    if let Some(last) = monitor.edits.last().filter(|_| !monitor.differences.is_empty()) {
        let last = last.format("%Y-%m-%d %H:%M UTC");
        lines.push(format!(
            "{id}: its rules were edited until {last}; what happened before was judged by those of then"
        ));
    }
    for one in &monitor.not_reproduced {
        lines.push(format!("{id}: the rules of then come to another end ({}): {}", what(one), incident(one)));
    }
    lines
}

fn section(text: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        line(text, title);
        lines.iter().take(LINES_MAX).for_each(|one| line(text, &format!("  {one}")));
    }
}

fn list(text: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        line(text, &format!("\n{title}:\n"));
        lines.iter().take(LINES_MAX).for_each(|one| line(text, &format!("- {one}")));
    }
}

fn line(text: &mut String, line: &str) {
    let _infallible = writeln!(text, "{line}");
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

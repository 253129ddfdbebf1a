//! How each signal of a monitor stood at a moment, and who would have been told.

use chrono::{DateTime, Utc};

use crate::domain::paging::audience::judged;
use crate::domain::route::{Subject, fits};
use crate::domain::rule_text::{resolves, rule_text};
use crate::domain::rules::RulePlace;
use crate::domain::signal::{Phase, Signal};
use crate::domain::why::answer::{LookThen, SignalThen};
use crate::domain::why::sentence::moment;
use crate::hindsight::declared::{FileThen, FilesThen};
use crate::hindsight::record::{Story, listeners, silenced};
use crate::hindsight::replaying::{BeatLook, Retraced};

/// How each signal that is judged stood at a moment. `number`: the file in force then.
pub(crate) fn signals(
    retraced: &Retraced,
    (files, number): (&FilesThen, Option<i64>),
    story: &Story,
    at: DateTime<Utc>,
) -> Vec<SignalThen> {
    let Some((state, declared)) = &retraced.stood else { return Vec::new() };
    let monitor = &*declared.monitor;
    let file = number.and_then(|number| files.file(number));
    let of_signal = |signal: Signal| {
        let mut standing = state.standing(signal, monitor);
        let open = story.incidents.iter().find(|one| one.incident.signal == signal && one.is_open(at));
        if let Some(open) = open.filter(|_| !standing.phase.has_incident()) {
            // What is on record is what people saw.
            (standing.phase, standing.since) = (Phase::Open, open.incident.opened_at);
        }
        let text = rule_text(monitor, signal);
        let reason = open.map(|open| open.incident.reason).or(standing.reason);
        let subject = Subject {
            severity: open.map_or(standing.severity, |open| open.incident.severity),
            signal: Some(signal),
            reason,
            labels: &monitor.labels,
            monitor: monitor.id.as_str(),
        };
        let closes = match open {
            Some(open) => resolves(monitor, &open.incident),
            None => text.as_ref().map(|text| text.resolves.clone()),
        };
        SignalThen {
            signal,
            opens: text.map(|text| text.opens).unwrap_or_default(),
            closes: closes.unwrap_or_default(),
            rule: file.map_or_else(|| of_no_file(standing.line), |file| file.provenance.rule(standing.line)),
            listeners: file.map(|file| listeners(file, subject)).unwrap_or_default(),
            quiet: quiet(file, story, subject, at),
            looks: retraced.looks.iter().map(|look| look_then(look, signal)).collect(),
            standing,
        }
    };
    Signal::ALL.into_iter().filter(|signal| judged(monitor, *signal)).map(of_signal).collect()
}

/// Where a rule of a file that is not kept stood.
fn of_no_file(line: u32) -> RulePlace {
    RulePlace { file: "a file that is not kept".to_owned(), line, commit: None }
}

fn look_then(look: &BeatLook, signal: Signal) -> LookThen {
    let (reading, phase) = &look.signals[signal as usize];
    LookThen { at: look.at, level: reading.level, figure: reading.figure.clone().into_owned(), phase: *phase }
}

/// What would have had nobody told: silences that held then, and windows of the file of then.
fn quiet(file: Option<&FileThen>, story: &Story, subject: Subject<'_>, at: DateTime<Utc>) -> Vec<String> {
    let silences = story.silences.iter().filter(|silence| fits(&silence.matches, subject)).map(|silence| {
        let until = silence.until.map(|until| format!(", until {}", moment(until))).unwrap_or_default();
        format!("{}{until}", silenced(silence))
    });
    let windows = file.iter().flat_map(|file| {
        let fit = file.maintenance.iter().filter(|window| fits(&window.matches, subject));
        fit.filter_map(|window| {
            let run = window.run_at(at)?;
            let place = file.provenance.rule(window.line).written();
            Some(format!("in maintenance, {} ({place}), until {}", window.called(), window.shown(run.to)))
        })
    });
    silences.chain(windows).collect()
}

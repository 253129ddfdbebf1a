//! A back-test for machines.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use crate::cli::backtest::comparing::{Change, Difference};
use crate::cli::backtest::report::{MonitorReport, Report};
use crate::cli::backtest::saying::{not_comparable, not_in_record};
use crate::domain::monitor::MonitorId;
use crate::hindsight::replaying::ToldIncident;

/// Everything, as one object.
pub(crate) fn report(report: &Report) -> Value {
    let (then, now) = report.pages();
    json!({
        "file": report.provenance.file,
        "commit": report.provenance.commit,
        "from": moment(report.stretch.from),
        "until": moment(report.stretch.until),
        "beats": report.beats(),
        "monitor_months": report.monitor_months(),
        "pages": { "happened": then, "with_file": now },
        "differs": report.differences() > 0,
        "monitors": report.monitors.iter().map(monitor).collect::<Vec<_>>(),
        "not_comparable": not_comparable(report),
        "not_in_record": not_in_record(report),
    })
}

fn monitor(monitor: &MonitorReport) -> Value {
    let otherwise = monitor.otherwise().map(|(signal, beats)| (signal.slug().to_owned(), json!(beats)));
    let not = &monitor.not_comparable;
    let canary = |(id, why): &(String, String)| json!({ "id": id, "why": why });
    json!({
        "id": monitor.id.as_str(),
        "beats": monitor.replayed.beats,
        "from": monitor.stretch.map(|stretch| moment(stretch.from)),
        "pages": { "happened": monitor.pages.0, "with_file": monitor.pages.1 },
        "differences": monitor.differences.iter().map(difference).collect::<Vec<_>>(),
        "not_reproduced": monitor.not_reproduced.iter().map(difference).collect::<Vec<_>>(),
        "not_comparable": {
            "canaries": not.canaries.iter().map(canary).collect::<Vec<_>>(),
            "keys": not.keys,
            "original": not.original.as_ref().map(MonitorId::as_str),
        },
        "beats_judged_otherwise": otherwise.collect::<Map<_, _>>(),
    })
}

fn difference(one: &Difference) -> Value {
    json!({
        "changes": one.changes.iter().map(|change| self::change(*change)).collect::<Vec<_>>(),
        "then": one.then.as_ref().map(incident),
        "now": one.now.as_ref().map(incident),
    })
}

fn change(change: Change) -> Value {
    let by = |word: &str, by: Option<Duration>| json!({ "what": word, "seconds": by.map(|by| by.as_secs()) });
    match change {
        Change::Gone => by("gone", None),
        Change::New => by("new", None),
        Change::Sooner(length) => by("sooner", Some(length)),
        Change::Later(length) => by("later", Some(length)),
        Change::NowTold => by("now_told", None),
        Change::NoLongerTold => by("no_longer_told", None),
        Change::Louder => by("louder", None),
        Change::Quieter => by("quieter", None),
        Change::OtherReason => by("other_reason", None),
        Change::EndsSooner(length) => by("ends_sooner", Some(length)),
        Change::EndsLater(length) => by("ends_later", length),
    }
}

fn incident(told: &ToldIncident) -> Value {
    let incident = &told.incident;
    json!({
        "signal": incident.signal.slug(),
        "failure_reason": incident.reason.slug(),
        "severity": incident.severity.slug(),
        "opened_at": moment(incident.opened_at),
        "in_maintenance": told.in_maintenance,
        "told_at": told.told_at.map(moment),
        "resolved_at": incident.resolved_at.map(moment),
    })
}

fn moment(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

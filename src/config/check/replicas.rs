//! `replicas_of:`, once every monitor was read: that both are asked alike, so that their lists can be held side by side.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::config::check::checker::{Checker, similar};
use crate::config::check::definition;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::domain::monitor::{Canary, Likeness, Monitor, MonitorId, Original};

/// Keys of a search that decide how often and past which caches it is called, and how its text is read where it is no list:
/// two servers may differ in them and bring the same lists.
const MAY_DIFFER: [&str; 7] = [
    "search.per_beat",
    "search.fresh",
    "search.fresh_arguments",
    "search.harvest",
    "search.error",
    "search.empty",
    "search.fields.total",
];

/// Puts each replica and its original together, or says why they cannot be compared.
///
/// `ids`: the place of every id, also of a faulty monitor's; `written`: where each replica names its original.
pub(in crate::config) fn replicas(
    checker: &mut Checker<'_>,
    list: &mut [Arc<Monitor>],
    ids: &HashMap<String, TextSpan>,
    written: &HashMap<MonitorId, TextSpan>,
) {
    let mut found: Vec<(usize, usize, Original)> = Vec::new();
    let at: HashMap<&str, usize> = list.iter().enumerate().map(|(nth, one)| (one.id.as_str(), nth)).collect();
    for (nth, replica) in list.iter().enumerate() {
        let Some((original, place)) = replica.original().zip(written.get(&replica.id)) else { continue };
        let id = original.id.as_str();
        let Some(declared) = ids.get(id).filter(|_| original.id != replica.id) else {
            checker.report(unfit(replica, id, *place, ids));
            continue;
        };
        if let Some(again) = written.get(&original.id) {
            checker.report(chain(list, &at, replica, *place).note(*again, format!("'{id}' is a replica itself")));
            continue;
        }
        // One that is faulty itself has been told of.
        let Some(there) = at.get(id) else { continue };
        match compared(replica, &list[*there]) {
            Ok(original) => found.push((nth, *there, original)),
            Err((why, mend)) => {
                let diagnostic = Diagnostic::new(*place, format!("'{}' and '{id}' {why}", replica.id));
                checker.report(diagnostic.note(*declared, format!("'{id}' is declared here")).help(mend));
            }
        }
    }
    for (replica, there, original) in found {
        Arc::make_mut(&mut list[replica]).likeness = Likeness::ReplicaOf(Arc::new(original));
        Arc::make_mut(&mut list[there]).likeness = Likeness::Original;
    }
}

/// A replica of itself, or of nobody.
fn unfit(replica: &Monitor, id: &str, place: TextSpan, ids: &HashMap<String, TextSpan>) -> Diagnostic {
    if replica.id.as_str() == id {
        let diagnostic = Diagnostic::new(place, format!("monitor '{id}' is a replica of itself"));
        let diagnostic = ids.get(id).map_or(diagnostic.clone(), |at| diagnostic.note(*at, "its own id"));
        return diagnostic.help("name the monitor that it has to answer like");
    }
    let message = format!("monitor '{}' is a replica of {}, which no file declares", replica.id, quoted(id));
    let mend = match similar(id, ids.keys().map(String::as_str)) {
        Some(known) => format!("did you mean '{known}'?"),
        None => "name another monitor by its id".to_owned(),
    };
    let diagnostic = Diagnostic::new(place, message).help(mend);
    ids.get(replica.id.as_str()).map_or(diagnostic.clone(), |at| diagnostic.note(*at, "declared here"))
}

/// A replica of a replica: names the one that is none, where there is one.
fn chain(list: &[Arc<Monitor>], at: &HashMap<&str, usize>, replica: &Monitor, place: TextSpan) -> Diagnostic {
    let of = |id: &MonitorId| at.get(id.as_str()).and_then(|nth| list[*nth].original());
    let mut end = replica.original();
    // As many steps as there are monitors, and it is a circle.
    for _ in 0..list.len() {
        match end.and_then(|end| of(&end.id)) {
            Some(next) => end = Some(next),
            None => break,
        }
    }
    let named = replica.original().map(|named| named.id.as_str()).unwrap_or_default();
    let message = format!("monitor '{}' is a replica of a replica, '{named}'", replica.id);
    let mend = match end.filter(|end| of(&end.id).is_none()) {
        Some(end) => format!("name the one that is none: `replicas_of: {}`", end.id),
        None => "one of them has to be the original: leave its 'replicas_of' out".to_owned(),
    };
    Diagnostic::new(place, message).help(mend)
}

/// What both ask alike; else why nothing of it can be compared, and the mend.
fn compared(replica: &Monitor, original: &Monitor) -> Result<Original, (String, String)> {
    let keys = definition::of_monitor(replica).differing(&definition::of_monitor(original));
    let searches: Vec<&str> =
        keys.into_iter().filter(|key| key.starts_with("search.") && !MAY_DIFFER.contains(key)).collect();
    if !searches.is_empty() {
        let why = format!("search in different ways ({}), so that their lists cannot be compared", searches.join(", "));
        return Err((why, "give both the same, or leave 'replicas_of' out".to_owned()));
    }
    let there: HashMap<&str, &Canary> = original.canaries.iter().map(|one| (one.id.as_str(), one)).collect();
    let shared = |canary: &Canary| {
        let there = there.get(canary.id.as_str()).filter(|there| there.query == canary.query)?;
        // A text is one source: it is another with each word.
        let is_list = canary.text.is_none() && there.text.is_none();
        is_list.then(|| (canary.id.clone(), there.definition_hash.clone()))
    };
    let shared: BTreeMap<String, String> = replica.canaries.iter().filter_map(shared).collect();
    if shared.is_empty() {
        let why = "ask no canary alike, so that nothing can be compared".to_owned();
        let mend =
            "give both canaries of the same id and query that bring lists: an anchor, or a golden set by its file";
        return Err((why, mend.to_owned()));
    }
    Ok(Original { id: original.id.clone(), shared, round: round(replica).max(round(original)) })
}

/// The time in which each canary of a monitor is asked once.
fn round(monitor: &Monitor) -> Duration {
    let beats = monitor.canaries.len().div_ceil(monitor.per_beat().max(1) as usize);
    monitor.every.saturating_mul(u32::try_from(beats).unwrap_or(u32::MAX))
}

//! `caps:`: the most that probes may cost a server on a day.

use std::time::Duration;

use crate::config::check::checker::Checker;
use crate::config::check::layers::Layers;
use crate::config::read::diagnostic::{Diagnostic, quoted};
use crate::config::read::node::Node;
use crate::domain::monitor::{Caps, Monitor};
use crate::domain::wording::as_written;

const UNITS: [(&str, u64); 4] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];
const SIZE_MEND: &str = "a whole number with kB, MB or GB, such as `500MB`";

/// Reads a monitor's caps, the ones of `defaults` beneath them.
pub(in crate::config) fn caps(checker: &mut Checker<'_>, layers: Layers<'_, '_>) -> Caps {
    let requests = layers.get("requests_per_day");
    let requests = requests.and_then(|entry| checker.whole("'requests_per_day'", &entry.value, 1..=u32::MAX));
    let bytes = layers.get("bytes_per_day");
    Caps {
        requests_per_day: requests.map(u64::from),
        bytes_per_day: bytes.and_then(|entry| size(checker, "'bytes_per_day'", &entry.value)),
    }
}

/// Says where a cap and the rhythm do not go together. The cap holds all the same: beats are spaced.
pub(in crate::config) fn weigh(checker: &mut Checker<'_>, monitor: &Monitor, layers: Layers<'_, '_>) {
    let (Some(cap), Some(entry)) = (monitor.caps.requests_per_day, layers.get("requests_per_day")) else { return };
    let a_beat = monitor.calls_per_beat();
    if cap < a_beat * 24 {
        let message = format!(
            "monitor '{}' sends {a_beat} requests a beat, and {cap} a day are less than one beat an hour",
            monitor.id
        );
        let mend = format!("at least {}, or fewer canaries a beat (`search.per_beat`)", a_beat * 24);
        checker.report(Diagnostic::new(entry.value.place, message).help(mend));
    } else if cap < monitor.calls_per_day() {
        let spaced = Duration::from_secs(a_beat * 24 * 3600 / cap);
        let message = format!(
            "'requests_per_day' of monitor '{}' is less than its {} calls a day: beats come about every {}",
            monitor.id,
            monitor.calls_per_day(),
            as_written(spaced),
        );
        let mend = format!("raise `every` from {}, so that the file says what happens", as_written(monitor.every));
        checker.report(Diagnostic::warning(entry.value.place, message).help(mend));
    }
}

/// Bytes, as a whole number with its unit.
fn size(checker: &mut Checker<'_>, what: &str, node: &Node<'_>) -> Option<u64> {
    let written = checker.setting(what, node)?;
    let unit = UNITS.iter().find_map(|(unit, bytes)| Some((written.strip_suffix(unit)?, bytes)));
    let bytes = unit.and_then(|(number, unit)| number.trim_end().parse::<u64>().ok()?.checked_mul(*unit));
    if bytes.is_none_or(|bytes| bytes == 0) {
        let message = format!("{what} takes a size, and this is {}", quoted(&written));
        checker.report(Diagnostic::new(node.place, message).help(SIZE_MEND));
        return None;
    }
    bytes
}

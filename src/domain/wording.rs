//! How lengths of time and counts are said: one way in messages, on pages and in the terminal.
//!
//! A length is rounded down, whatever its unit, so that nothing is said to have lasted longer than it did. `ago` in
//! `web/assets/app.js` follows [`coarse`].

use std::fmt::Display;
use std::time::Duration;

const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];

/// A length in its two greatest units, such as `3 h 20 min`; below a second in milliseconds.
pub(crate) fn span(length: Duration) -> String {
    let seconds = length.as_secs();
    let Some(first) = UNITS.iter().position(|(unit, _)| seconds >= *unit) else {
        return if length.is_zero() { "0 s".to_owned() } else { format!("{} ms", length.as_millis()) };
    };
    let (unit, word) = UNITS[first];
    let greater = format!("{} {word}", seconds / unit);
    match UNITS.get(first + 1).map(|(small, word)| (seconds % unit / small, word)) {
        Some((rest, word)) if rest > 0 => format!("{greater} {rest} {word}"),
        _ => greater,
    }
}

/// A length in its greatest unit, such as `4 min`; in hours up to two days.
pub(crate) fn coarse(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A length exactly, as the file writes it, in the greatest unit that it is a multiple of: `20m`, `90s` or `800ms`.
pub(crate) fn as_written(length: Duration) -> String {
    let ms = length.as_millis();
    if ms == 0 {
        return "0s".to_owned();
    }
    for (unit, unit_ms) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)] {
        if ms >= unit_ms && ms.is_multiple_of(unit_ms) {
            return format!("{}{unit}", ms / unit_ms);
        }
    }
    format!("{ms}ms")
}

/// A count and what it counts, such as `1 canary` or `3 canaries`. The count is looked at as it is read, so that it may
/// be a number of any size, or one whose thousands stand apart.
pub(crate) fn counted(n: impl Display, one: &str, many: &str) -> String {
    let said = n.to_string();
    let word = if said == "1" { one } else { many };
    format!("{said} {word}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_rounded_down() {
        // Milliseconds; in two units, in one, and as the file writes them.
        let rows = [
            (0, "0 s", "0 s", "0s"),
            (640, "640 ms", "0 s", "640ms"),
            (999, "999 ms", "0 s", "999ms"),
            (1_999, "1 s", "1 s", "1999ms"),
            (45_000, "45 s", "45 s", "45s"),
            (59_999, "59 s", "59 s", "59999ms"),
            (60_000, "1 min", "1 min", "1m"),
            (119_000, "1 min 59 s", "1 min", "119s"),
            (1_200_000, "20 min", "20 min", "20m"),
            (3_599_000, "59 min 59 s", "59 min", "3599s"),
            (5_400_000, "1 h 30 min", "1 h", "90m"),
            (12_059_000, "3 h 20 min", "3 h", "12059s"),
            (86_400_000, "1 d", "24 h", "1d"),
            (172_799_000, "1 d 23 h", "47 h", "172799s"),
            (172_800_000, "2 d", "2 d", "2d"),
            (273_600_000, "3 d 4 h", "3 d", "76h"),
        ];
        for (ms, two, one, file) in rows {
            let length = Duration::from_millis(ms);
            assert_eq!(
                (span(length), coarse(length), as_written(length)),
                (two.into(), one.into(), file.into()),
                "{ms} ms"
            );
        }
    }

    #[test]
    fn one_is_not_several() {
        let said = |n: &str| counted(n, "canary", "canaries");
        for (n, expected) in [
            ("0", "0 canaries"),
            ("1", "1 canary"),
            ("2", "2 canaries"),
            ("11", "11 canaries"),
            ("1 001", "1 001 canaries"),
        ] {
            assert_eq!(said(n), expected);
        }
        assert_eq!(
            (counted(1_u64, "beat", "beats"), counted(3_usize, "beat", "beats")),
            ("1 beat".into(), "3 beats".into())
        );
    }
}

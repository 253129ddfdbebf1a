//! Figures as people read them: times, lengths, shares, sizes. Lengths are said as `wording` has it;
//! the script in `assets/app.js` says "ago" the same way: the greatest unit, rounded down, hours up to two days.

use std::fmt;
use std::time::Duration;

use askama::Template;
use askama::filters::HtmlSafe;
use chrono::{DateTime, SecondsFormat, Utc};

use crate::domain::wording;

/// A moment: relative in the text, absolute in the title.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(path = "part/moment.html")]
pub(crate) struct Timestamp {
    /// For machines and the script.
    pub iso: String,
    pub title: String,
    /// Relative, as of the drawing of the page.
    pub ago: String,
}

impl HtmlSafe for Timestamp {}

impl Timestamp {
    /// A moment as seen from now.
    pub(crate) fn new(at: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        Self { iso: at.to_rfc3339_opts(SecondsFormat::Secs, true), title: absolute(at), ago: ago(at, now) }
    }
}

/// A moment in full, such as `2026-11-21 09:14:03 UTC`.
pub(crate) fn absolute(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// How long ago, such as `12 s ago`; `in 30 s` for what is to come.
pub(crate) fn ago(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    match (now - at).to_std() {
        Ok(age) if age < Duration::from_secs(1) => "now".to_owned(),
        Ok(age) => format!("{} ago", wording::coarse(age)),
        Err(_) => {
            let ahead = (at - now).to_std().unwrap_or_default();
            if ahead < Duration::from_secs(1) { "now".to_owned() } else { format!("in {}", wording::coarse(ahead)) }
        }
    }
}

/// A length in its two greatest units, such as `3 h 20 min`; below a second as measured.
pub(crate) fn span(length: Duration) -> String {
    if length.as_secs() == 0 && !length.is_zero() {
        return millis(length.as_secs_f64() * 1e3);
    }
    wording::span(length)
}

/// Milliseconds, such as `640 ms` or `1.24 s`.
pub(crate) fn millis(ms: f64) -> String {
    match ms {
        _ if !ms.is_finite() => "–".to_owned(),
        _ if ms < 9.95 => format!("{ms:.1} ms"),
        _ if ms < 999.5 => format!("{ms:.0} ms"),
        _ if ms < 59_995.0 => format!("{:.2} s", ms / 1e3),
        _ => span(Duration::from_secs_f64(ms / 1e3)),
    }
}

/// A share as per cent, rounded down, so that only all is `100 %`.
pub(crate) fn share(share: f64) -> String {
    if share >= 1.0 {
        return "100 %".to_owned();
    }
    let hundredths = (share.max(0.0) * 1e4 + 1e-6).floor();
    format!("{:.2} %", hundredths / 1e2)
}

/// A size, such as `12.4 kB`.
pub(crate) fn bytes(size: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let exact = size as f64;
    match size {
        0..1_000 => format!("{size} B"),
        1_000..1_000_000 => format!("{:.1} kB", exact / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", exact / 1e6),
        _ => format!("{:.1} GB", exact / 1e9),
    }
}

/// A count with narrow spaces between thousands, such as `28 800`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// A word as people read it: `cold_start` becomes `cold start`.
pub(crate) fn spaced(slug: &str) -> String {
    slug.replace('_', " ")
}

/// What a line of a timeline is of, as people read it.
pub(crate) fn happened(kind: &str) -> &str {
    match kind {
        "told" => "notified",
        "held" => "held back",
        "let_go" => "released",
        "given_back" => "un-acknowledged",
        other => other,
    }
}

/// A key and a value of an address's query, escaped.
pub(crate) struct Query<'a>(pub &'a [(&'a str, &'a str)]);

impl fmt::Display for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        for (key, value) in self.0.iter().filter(|(_, value)| !value.is_empty()) {
            pairs.append_pair(key, value);
        }
        f.write_str(&pairs.finish())
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(10);
        let rows = [
            (TimeDelta::zero(), "now", "this very second"),
            (TimeDelta::seconds(12), "12 s ago", "seconds while they count"),
            (TimeDelta::minutes(4), "4 min ago", "then minutes"),
            (TimeDelta::hours(47), "47 h ago", "hours up to two days"),
            (TimeDelta::hours(49), "2 d ago", "then days"),
            (TimeDelta::seconds(-30), "in 30 s", "what is to come"),
        ];
        for (age, said, sentence) in rows {
            assert_eq!(ago(now - age, now), said, "{sentence}");
        }
    }

    #[test]
    fn lengths_keep_two_units() {
        let rows =
            [(0, "0 s"), (45, "45 s"), (60, "1 min"), (80, "1 min 20 s"), (12_000, "3 h 20 min"), (86_400, "1 d")];
        for (seconds, said) in rows {
            assert_eq!(span(Duration::from_secs(seconds)), said);
        }
    }

    #[test]
    fn shares_never_round_up_to_all() {
        let rows = [(1.0, "100 %"), (0.99999, "99.99 %"), (0.995, "99.50 %"), (0.0, "0.00 %"), (-0.1, "0.00 %")];
        for (value, said) in rows {
            assert_eq!(share(value), said);
        }
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(millis(0.04), "0.0 ms");
        assert_eq!(millis(640.2), "640 ms");
        assert_eq!(millis(1_240.0), "1.24 s");
        assert_eq!(millis(f64::NAN), "–");
        assert_eq!(count(28_800), "28\u{202f}800");
        assert_eq!(bytes(12_400), "12.4 kB");
    }
}

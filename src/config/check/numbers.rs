//! Values that are counted: whole numbers, decimals, durations, shares.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::checker::Checker;
use crate::config::check::scalars::Resolved;
use crate::config::check::shape::ValueShape;
use crate::config::read::diagnostic::{Diagnostic, quoted};
use crate::config::read::node::Node;
use crate::config::read::reference::is_reference;
use crate::domain::wording::as_written;

/// Beats or answers in a row; more would be hours of silence.
pub(in crate::config) const IN_A_ROW: RangeInclusive<u32> = 1..=1_000;
/// What leaves a number to us.
pub(in crate::config) const AUTO: &str = "auto";
const DURATION_MEND: &str = "a whole number and a unit: 500ms, 60s, 20m, 72h or 1d";

impl Checker<'_> {
    pub(in crate::config) fn whole(
        &mut self,
        what: impl Display + Copy,
        node: &Node<'_>,
        range: RangeInclusive<u32>,
    ) -> Option<u32> {
        self.ask(node.place, || ValueShape::Whole(range.clone()));
        self.whole_number(what, node, range, "")
    }

    /// A whole number, or none where `auto` leaves it to us.
    pub(in crate::config) fn whole_or_auto(
        &mut self,
        what: impl Display + Copy,
        node: &Node<'_>,
        range: RangeInclusive<u32>,
    ) -> Option<Option<u32>> {
        self.ask(node.place, || ValueShape::WholeOrAuto(range.clone()));
        if self.scalar(what, node)?.0 == AUTO {
            return Some(None);
        }
        self.whole_number(what, node, range, ", or auto").map(Some)
    }

    fn whole_number(
        &mut self,
        what: impl Display + Copy,
        node: &Node<'_>,
        range: RangeInclusive<u32>,
        or: &str,
    ) -> Option<u32> {
        let (written, value) = self.number_text(what, node)?;
        let diagnostic = match value.parse::<u64>() {
            Ok(number) => match u32::try_from(number).ok().filter(|number| range.contains(number)) {
                Some(number) => return Some(number),
                None => Diagnostic::new(node.place, format!("{what} is out of its range: {}", quoted(&written)))
                    .help(format!("between {} and {}{or}", range.start(), range.end())),
            },
            Err(_) => {
                Diagnostic::new(node.place, format!("{what} takes a whole number, and this is {}", quoted(&written)))
                    .help(format!("between {} and {}{or}", range.start(), range.end()))
            }
        };
        self.report(diagnostic);
        None
    }

    /// A number with a fraction.
    pub(in crate::config) fn decimal(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<f64> {
        self.ask(node.place, || ValueShape::Decimal);
        let (written, value) = self.number_text(what, node)?;
        match value.parse::<f64>().ok().filter(|number| number.is_finite()) {
            Some(number) => Some(number),
            None => {
                let message = format!("{what} takes a number, and this is {}", quoted(&written));
                self.report(Diagnostic::new(node.place, message).help("such as `0.3`"));
                None
            }
        }
    }

    /// A number's text as written and resolved. Quotes make a text, save around a reference, which needs them inside `{ }`.
    fn number_text(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<(String, String)> {
        let (text, plain) = self.scalar(what, node)?;
        if !plain && !is_reference(text) {
            let message = format!("{what} takes a number, and quotes make this a text");
            self.report(Diagnostic::new(node.place, message).help("leave the quotes out"));
            return None;
        }
        let Resolved { written, value } = self.resolved(what, node)?;
        Some((written, value?))
    }

    /// A duration: a whole number and `ms`, `s`, `m`, `h` or `d`.
    pub(in crate::config) fn duration(
        &mut self,
        what: impl Display + Copy,
        node: &Node<'_>,
        range: RangeInclusive<Duration>,
    ) -> Option<Duration> {
        self.ask(node.place, || ValueShape::Duration(range.clone()));
        let Resolved { written, value } = self.resolved(what, node)?;
        let value = value?;
        match duration_of(&value) {
            Ok(duration) if range.contains(&duration) => Some(duration),
            Ok(_) => {
                let mend = format!("between {} and {}", as_written(*range.start()), as_written(*range.end()));
                self.report(
                    Diagnostic::new(node.place, format!("{what} is out of its range: {}", quoted(&written))).help(mend),
                );
                None
            }
            Err(mend) => {
                // A mend repeats digits of the value, which may have been resolved from anywhere.
                let mend = if value == written { mend } else { DURATION_MEND.to_owned() };
                let message = format!("{what} takes a duration, and this is {}", quoted(&written));
                self.report(Diagnostic::new(node.place, message).help(mend));
                None
            }
        }
    }

    /// A share such as `5%`, as a number in 0–1; above 0 and below 100.
    pub(in crate::config) fn share(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<f64> {
        self.ask(node.place, || ValueShape::Share);
        let Resolved { written, value } = self.resolved(what, node)?;
        let value = value?;
        let percent = value.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
        let diagnostic = match percent {
            Some(percent) if percent > 0.0 && percent < 100.0 => return Some(percent / 100.0),
            Some(_) => {
                Diagnostic::new(node.place, format!("{what} can never be exceeded, or always is: {}", quoted(&written)))
                    .help("above 0% and below 100%")
            }
            None => {
                let number =
                    value.parse::<f64>().ok().filter(|number| *number > 0.0 && *number < 100.0 && value == written);
                let percent = number.map(|number| if number < 1.0 { number * 100.0 } else { number });
                let mend = percent.map_or("such as `5%`".to_owned(), |percent| {
                    format!("write `{}%`", (percent * 1000.0).round() / 1000.0)
                });
                Diagnostic::new(node.place, format!("{what} takes a share, and this is {}", quoted(&written)))
                    .help(mend)
            }
        };
        self.report(diagnostic);
        None
    }
}

/// Reads a duration; the error is the mend.
pub(crate) fn duration_of(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| DURATION_MEND.to_owned())?;
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" => return Err(format!("a duration needs its unit: '{number}s', or '{number}ms'?")),
        _ => {
            let known = match unit.trim().to_lowercase().as_str() {
                "sec" | "secs" | "second" | "seconds" | "s" => "s",
                "min" | "mins" | "minute" | "minutes" => "m",
                "hr" | "hrs" | "hour" | "hours" | "h" => "h",
                "day" | "days" | "d" => "d",
                "msec" | "millis" | "ms" => "ms",
                _ => return Err(DURATION_MEND.to_owned()),
            };
            return Err(format!("write '{number}{known}'"));
        }
    };
    number.checked_mul(unit_ms).map(Duration::from_millis).ok_or_else(|| DURATION_MEND.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        let rows = [
            ("60s", Ok(60_000), "seconds"),
            ("500ms", Ok(500), "milliseconds"),
            ("20m", Ok(1_200_000), "minutes"),
            ("72h", Ok(259_200_000), "hours"),
            ("1d", Ok(86_400_000), "days"),
            ("60", Err("a duration needs its unit: '60s', or '60ms'?"), "a bare number"),
            ("5min", Err("write '5m'"), "another word for it"),
            ("1h30m", Err("a whole number and a unit: 500ms, 60s, 20m, 72h or 1d"), "two units"),
            ("1.5h", Err("a whole number and a unit: 500ms, 60s, 20m, 72h or 1d"), "a fraction"),
            ("-5s", Err("a whole number and a unit: 500ms, 60s, 20m, 72h or 1d"), "negative"),
            ("99999999999999999999s", Err("a whole number and a unit: 500ms, 60s, 20m, 72h or 1d"), "beyond counting"),
            ("18446744073709551615d", Err("a whole number and a unit: 500ms, 60s, 20m, 72h or 1d"), "overflowing"),
        ];
        for (text, expected, sentence) in rows {
            let found = duration_of(text).map(|duration| duration.as_millis());
            assert_eq!(found, expected.map_err(str::to_owned), "{sentence}");
        }
    }

    #[test]
    fn a_duration_is_written_as_it_is_read() {
        for text in ["60s", "90s", "500ms", "20m", "72h", "1d", "1500ms"] {
            let duration = duration_of(text).expect("it is one");
            assert_eq!(duration_of(&as_written(duration)), Ok(duration), "{text}");
        }
    }
}

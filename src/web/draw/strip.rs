//! The last beats as a strip, small enough for a hundred of them on one page.
//!
//! One path for each verdict, each with a shape of its own: a bar, a broken bar, a full block, a dot. Good beats in a row are
//! one dashed line, a dash a beat, since most are.

use std::fmt::Write as _;

use askama::Template;
use askama::filters::HtmlSafe;

use crate::domain::outcome::Verdict;
use crate::live::monitor_view::{BeatMark, STRIP_LEN};

const STEP: usize = 4;
/// Runs that carry a title of their own, the latest first; a strip of many short runs stays small all the same.
const TITLES_MAX: usize = 2;

/// A strip, ready to be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(path = "part/strip.html")]
pub(crate) struct Strip {
    /// The whole in words.
    pub summary: String,
    /// A path for each verdict that occurs: class and outline.
    pub paths: Vec<(&'static str, String)>,
    /// Runs of beats that were not good.
    pub runs: Vec<StripRun>,
}

impl HtmlSafe for Strip {}

/// Neighbouring beats with one verdict and one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StripRun {
    pub x: usize,
    pub width: usize,
    pub title: String,
}

impl Strip {
    /// The strip of some beats, the oldest first; the newest stands at the right edge.
    pub(crate) fn new(marks: &[BeatMark]) -> Self {
        let marks = &marks[marks.len().saturating_sub(STRIP_LEN)..];
        let paths = [Verdict::Good, Verdict::Degraded, Verdict::Down, Verdict::Unknown]
            .into_iter()
            .filter_map(|verdict| outline(marks, verdict).map(|path| (verdict.slug(), path)))
            .collect();
        Self { summary: summary(marks), paths, runs: runs(marks) }
    }
}

impl Strip {
    /// About how large it is on a page.
    pub(crate) fn bytes(&self) -> usize {
        let paths: usize = self.paths.iter().map(|(class, path)| class.len() + path.len() + 21).sum();
        let runs: usize = self.runs.iter().map(|run| run.title.len() + 60).sum();
        100 + self.summary.len() + paths + runs
    }

    /// The counts in words, and each run that was not good, the latest first: what titles say without a pointer.
    pub(crate) fn around(&self) -> String {
        let counts = self.summary.trim_start_matches("last ");
        std::iter::once(counts).chain(self.runs.iter().map(|run| &*run.title)).collect::<Vec<_>>().join("; ")
    }
}

fn x_of(marks: &[BeatMark], at: usize) -> usize {
    (STRIP_LEN - marks.len() + at) * STEP
}

/// The good ones: a line for each run of neighbours.
fn good(marks: &[BeatMark]) -> Option<String> {
    let mut path = String::new();
    let mut at = 0;
    for run in marks.chunk_by(|one, other| one.verdict == other.verdict) {
        if run[0].verdict == Verdict::Good {
            let written = write!(path, "M{} 10h{}", x_of(marks, at), run.len() * STEP);
            debug_assert!(written.is_ok(), "a string takes every text");
        }
        at += run.len();
    }
    (!path.is_empty()).then_some(path)
}

fn outline(marks: &[BeatMark], verdict: Verdict) -> Option<String> {
    let mut path = String::new();
    if verdict == Verdict::Good {
        return good(marks);
    }
    for (at, _) in marks.iter().enumerate().filter(|(_, mark)| mark.verdict == verdict) {
        let x = x_of(marks, at) + STEP / 2;
        let written = match verdict {
            Verdict::Good => Ok(()),
            Verdict::Degraded => write!(path, "M{x} 3v5m0 5v5"),
            Verdict::Down => write!(path, "M{x} 0v20"),
            Verdict::Unknown => write!(path, "M{x} 10h0"),
        };
        debug_assert!(written.is_ok(), "a string takes every text");
    }
    (!path.is_empty()).then_some(path)
}

fn summary(marks: &[BeatMark]) -> String {
    if marks.is_empty() {
        return "no beat yet".to_owned();
    }
    let counts = [Verdict::Good, Verdict::Degraded, Verdict::Down, Verdict::Unknown]
        .map(|verdict| (marks.iter().filter(|mark| mark.verdict == verdict).count(), verdict.slug()));
    let said: Vec<_> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    format!("last {} beats: {}", marks.len(), said.join(", "))
}

fn runs(marks: &[BeatMark]) -> Vec<StripRun> {
    let mut runs = Vec::new();
    let mut end = marks.len();
    while end > 0 && runs.len() < TITLES_MAX {
        let last = marks[end - 1];
        let same = |mark: &&BeatMark| mark.verdict == last.verdict && mark.reason == last.reason;
        let length = marks[..end].iter().rev().take_while(same).count();
        let start = end - length;
        if last.verdict != Verdict::Good {
            let why = last.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let title = format!(
                "{}{why}, {}–{} UTC, {length} {}",
                last.verdict.slug(),
                marks[start].at.format("%H:%M:%S"),
                last.at.format("%H:%M:%S"),
                if length == 1 { "beat" } else { "beats" },
            );
            runs.push(StripRun { x: x_of(marks, start), width: length * STEP, title });
        }
        end = start;
    }
    runs
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;
    use crate::domain::reason::FailureReason;

    fn marks(verdicts: &[Verdict]) -> Vec<BeatMark> {
        let at = |n: usize| DateTime::UNIX_EPOCH + TimeDelta::seconds(i64::try_from(n).unwrap());
        let reason = |verdict| (verdict == Verdict::Down).then_some(FailureReason::ConnectionRefused);
        let mark = |(n, verdict): (usize, &Verdict)| BeatMark {
            at: at(n),
            verdict: *verdict,
            reason: reason(*verdict),
            elapsed_ms: 1.0,
        };
        verdicts.iter().enumerate().map(mark).collect()
    }

    #[test]
    fn every_verdict_has_a_shape_of_its_own() {
        let strip =
            Strip::new(&marks(&[Verdict::Good, Verdict::Degraded, Verdict::Down, Verdict::Down, Verdict::Unknown]));
        let classes: Vec<_> = strip.paths.iter().map(|(class, _)| *class).collect();
        assert_eq!(classes, ["good", "degraded", "down", "unknown"]);
        assert_eq!(strip.paths[0].1, "M220 10h4", "a dash a beat");
        assert_eq!(strip.summary, "last 5 beats: 1 good, 1 degraded, 2 down, 1 unknown");
        assert_eq!(strip.runs[1].title, "down: connection_refused, 00:00:02–00:00:03 UTC, 2 beats");
        assert_eq!((strip.runs[1].x, strip.runs[1].width), (57 * STEP, 2 * STEP), "the newest stands at the right");
    }

    #[test]
    fn a_strip_stays_small() {
        let restless: Vec<_> =
            (0..STRIP_LEN).map(|n| if n % 2 == 0 { Verdict::Down } else { Verdict::Degraded }).collect();
        let drawn = Strip::new(&marks(&restless)).render().unwrap();
        assert!(drawn.len() < 1_800, "{} bytes", drawn.len());
        let calm = Strip::new(&marks(&[Verdict::Good; STRIP_LEN]));
        let drawn = calm.render().unwrap();
        assert!(drawn.len() < 180 && calm.bytes().abs_diff(drawn.len()) < 20, "{} bytes: {drawn}", drawn.len());
        assert_eq!(Strip::new(&[]).summary, "no beat yet");
    }
}

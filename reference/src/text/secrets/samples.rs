//! Texts with secrets in them, drawn from a seed: every kind of value in every carrier it can stand in.
//!
//! Values and carriers are ours, after the vendors' descriptions. One seed is held back: rules are made on
//! others, so its figures say what happens to secrets that nobody has looked at.

use std::collections::BTreeMap;

use crate::text::secrets::carriers::{CARRIERS, Carrier, Fits, blocks};
use crate::text::secrets::draw::{Draw, Sample};
use crate::text::secrets::kinds::{KINDS, Kind};
use crate::text::secrets::redact::redact;

/// The seed that no rule was made on. Its runs are counted here, with what they showed.
///
/// 2026-11-23, run 1: 99.48 % of 5,422, the least kind 86.0 % (passwords that people choose). Then names got
/// prefixes and texts were dressed, which the rules were mended for on other seeds.
/// 2026-11-23, run 2: 99.61 % of 5,422, the least kind 90.0 %, the same; every other kind 98.7 % or more.
/// 2026-11-23, run 3: after a value within quotes was made to end before `&name=`; the same figures.
const SEED_HELD_BACK: u64 = 7_340_913;
/// Draws of each kind in each carrier.
const ROUNDS: usize = 2;
/// Characters of a secret that may not be left in one piece.
const LEFT_MAX: usize = 8;

impl Sample {
    /// Whether no run of eight of the secret's characters is left, nor a shorter one as a whole.
    fn is_taken_out(&self) -> bool {
        let clean = redact(&self.text).text.into_owned();
        self.pieces.iter().all(|piece| {
            let signs: Vec<char> = piece.chars().collect();
            let mut runs = signs.windows(LEFT_MAX.min(signs.len()));
            !runs.any(|run| clean.contains(&run.iter().collect::<String>()))
        })
    }
}

/// Every kind in every carrier that can hold it, and the blocks that are their own carriers.
fn samples(seed: u64) -> Vec<Sample> {
    let mut draw = Draw::new(seed);
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        for kind in KINDS {
            all.extend(
                CARRIERS.iter().filter(|carrier| fits(kind, carrier)).map(|carrier| sample(&mut draw, kind, carrier)),
            );
        }
        all.extend(blocks(&mut draw));
    }
    all
}

fn fits(kind: &Kind, carrier: &Carrier) -> bool {
    match carrier.fits {
        Fits::Any => true,
        Fits::Password => kind.is_password,
        Fits::Token => !kind.is_password,
    }
}

fn sample(draw: &mut Draw, kind: &Kind, carrier: &Carrier) -> Sample {
    let value = (kind.value)(draw);
    let name = draw.one(&["", "", "", "PROD_", "ACME_", "MY_"]).to_owned() + draw.one(kind.names);
    let (text, piece) = carrier.fill(&name, &value);
    let text = dressed(draw, &text);
    // The public part of an address is no secret.
    let piece = piece.rsplit_once(".com").map_or(piece.as_str(), |(_, path)| path).to_owned();
    Sample { kind: kind.name, carrier: carrier.name, text, pieces: vec![piece] }
}

/// A text as files have it: with line ends of Windows, indented, quoted, in the middle of other lines.
fn dressed(draw: &mut Draw, text: &str) -> String {
    let each_line = |before: &str| text.lines().map(|line| format!("{before}{line}\n")).collect::<String>();
    match draw.number(10) {
        0 => text.replace('\n', "\r\n"),
        1 => each_line("    "),
        2 => each_line("\t"),
        3 => each_line("> "),
        4 => format!("# Staging\n\nAs agreed on {} March:\n\n{text}\nDone.\n", 1 + draw.number(28)),
        5 => text.trim_end().to_owned(),
        _ => text.to_owned(),
    }
}

/// What was taken out, of how many.
#[derive(Default, Clone, Copy)]
struct Share {
    taken: usize,
    all: usize,
}

impl Share {
    fn percent(self) -> f64 {
        100.0 * self.taken as f64 / self.all.max(1) as f64
    }
}

/// The shares by kind, and a report with every miss by kind and carrier.
fn measured(seed: u64) -> (BTreeMap<&'static str, Share>, String) {
    let mut kinds: BTreeMap<&'static str, Share> = BTreeMap::new();
    let mut misses: BTreeMap<(&str, &str), (usize, String)> = BTreeMap::new();
    for sample in samples(seed) {
        let share = kinds.entry(sample.kind).or_default();
        let is_taken_out = sample.is_taken_out();
        share.all += 1;
        share.taken += usize::from(is_taken_out);
        if !is_taken_out {
            let miss = misses.entry((sample.kind, sample.carrier)).or_default();
            *miss = (miss.0 + 1, sample.text.clone());
        }
    }
    let mut report = String::new();
    for (kind, share) in &kinds {
        report += &format!("{:6.1} % of {:4}  {kind}\n", share.percent(), share.all);
    }
    for ((kind, carrier), (count, text)) in misses {
        report += &format!("missed {count}: {kind} in {carrier}: {text:?}\n");
    }
    (kinds, report)
}

fn check(seed: u64) {
    let (kinds, report) = measured(seed);
    let all = kinds
        .values()
        .fold(Share::default(), |sum, share| Share { taken: sum.taken + share.taken, all: sum.all + share.all });
    println!("{:.2} % of {}\n{report}", all.percent(), all.all);
    assert!(all.percent() >= 95.0, "{:.2} % of {} secrets were taken out\n{report}", all.percent(), all.all);
    for (kind, share) in &kinds {
        assert!(share.percent() >= 80.0, "{:.2} % of {kind} were taken out\n{report}", share.percent());
    }
}

#[test]
fn of_secrets_nobody_looked_at_nineteen_in_twenty_go() {
    check(SEED_HELD_BACK);
}

#[test]
fn and_so_of_those_the_rules_were_made_on() {
    for seed in 1..=4 {
        check(seed);
    }
}

#[test]
fn what_stands_beside_a_secret_stays() {
    let all = samples(1);
    let lost = all.iter().filter(|sample| {
        let clean = redact(&sample.text).text;
        ["eu-west-1", "8080"].iter().any(|beside| sample.text.contains(beside) && !clean.contains(beside))
    });
    let lost: Vec<&str> = lost.map(|sample| sample.carrier).collect();
    assert!(lost.is_empty(), "{} of {} lost a neighbour: {lost:?}", lost.len(), all.len());
}

//! A warm-up told from a regression, by how slowness goes on from beat to beat (RETRIEVAL.md §4).
//!
//! From its onset two courses are held against each other: it stays as slow as it is, or it falls back to what was usual,
//! as `1 + a·e^(−t/τ)`. Each is fitted for least absolute deviations, which is what is likeliest under Laplace's
//! distribution (a beat that hiccups counts once and not by its square), and Akaike's criterion says which is better:
//! 2·(parameters) + 2·n·ln(mean deviation) (H. Akaike, "A new look at the statistical model identification", 1974).
//!
//! It never opens anything: it holds the page back, or lets it go. A baseline that this process has not seen, or one that
//! is too noisy to tell, says nothing.

use std::collections::VecDeque;
use std::time::Duration;

/// Calm beats of which the usual duration is the median.
const CALM_MAX: usize = 30;
/// As few are enough.
const CALM_MIN: usize = 10;
/// Where calm beats differ by more than this part of their median, a course cannot be told from noise.
const NOISE_MAX: f64 = 0.1;
/// Beats whose median is looked at: one that hiccups is no onset, and one that does not is no return.
const TOGETHER: usize = 3;
/// So many times the usual is slow, where it is also three deviations away from it.
const SLOW: f64 = 1.25;
const DEVIATIONS: f64 = 3.0;
/// Beats after which whatever is still slow is no warm-up.
const BEATS_MAX: usize = 30;
/// With fewer, nothing is said.
const FIT_MIN: usize = 4;
/// From here on a course that does not fall speaks against it.
const AGAINST_FROM: usize = 8;
/// So often it has to.
const AGAINST: u8 = 2;
/// By so much a falling course has to be better.
const BETTER_BY: f64 = 2.0;
/// Deviations below this part of the usual are none: durations are kept to 0.4 %.
const DEVIATION_MIN: f64 = 0.01;
/// How slowly it may fall, in beats; each is tried.
const TAUS: [f64; 12] = [0.5, 0.8, 1.2, 1.8, 2.5, 3.5, 5.0, 7.0, 10.0, 14.0, 20.0, 30.0];

/// How slowness goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Trend {
    /// Nothing: it is not slow, or not for long enough, or what is usual is not known.
    #[default]
    Unsaid,
    /// It falls back, and will be back within [`BEATS_MAX`] beats.
    FallsBack,
    /// It does not.
    Stays,
}

/// The beats of a monitor as far as that takes: at most some 300 bytes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct WarmUp {
    /// Calm beats, in milliseconds, the oldest first.
    calm: VecDeque<f32>,
    /// The last beats, not yet counted as calm.
    last: VecDeque<f32>,
    /// Slow beats since the onset, as multiples of what was usual then.
    slow: Vec<f32>,
    usual: f32,
    against: u8,
    trend: Trend,
}

impl WarmUp {
    /// What is said now.
    pub(crate) const fn trend(&self) -> Trend {
        self.trend
    }

    /// Takes in a beat by the median of its searches; one without any says nothing.
    pub(crate) fn take(&mut self, searches: &mut [Duration]) {
        searches.sort_unstable();
        if let Some(last) = searches.len().checked_sub(1) {
            self.take_beat(searches[last / 2].as_secs_f64() * 1_000.0);
        }
    }

    fn take_beat(&mut self, milliseconds: f64) {
        self.last.push_back(milliseconds as f32);
        let left = if self.last.len() > TOGETHER { self.last.pop_front() } else { None };
        if self.slow.is_empty() {
            if let Some(calm) = left {
                if self.calm.len() == CALM_MAX {
                    self.calm.pop_front();
                }
                self.calm.push_back(calm);
            }
            self.notice_onset();
        } else {
            self.slow.push(milliseconds as f32 / self.usual);
            self.follow();
        }
    }

    fn notice_onset(&mut self) {
        let Some((usual, deviation)) = self.usual() else { return };
        let slow_from = (SLOW * usual).max(usual + DEVIATIONS * deviation);
        if self.last.len() < TOGETHER || median(self.last.iter().map(|ms| f64::from(*ms))) <= slow_from {
            return;
        }
        self.usual = usual as f32;
        let is_slow = |ms: &&f32| f64::from(**ms) > slow_from;
        self.slow = self.last.iter().skip_while(|ms| !is_slow(ms)).map(|ms| ms / self.usual).collect();
    }

    fn follow(&mut self) {
        if median(self.slow.iter().rev().take(TOGETHER).map(|times| f64::from(*times))) <= SLOW {
            // It is back: what was slow never becomes usual.
            *self = Self { calm: std::mem::take(&mut self.calm), ..Self::default() };
            return;
        }
        if self.trend == Trend::Stays {
            return;
        }
        let falls = self.slow.len() <= BEATS_MAX && falls_back(&self.slow);
        self.against = if falls { 0 } else { self.against + u8::from(self.slow.len() >= AGAINST_FROM) };
        self.trend = match falls {
            true => Trend::FallsBack,
            false if self.against >= AGAINST || self.slow.len() > BEATS_MAX => Trend::Stays,
            false => Trend::Unsaid,
        };
        if self.trend == Trend::Stays {
            // Whether it is back is all that is asked from here on.
            let kept = self.slow.len() - TOGETHER;
            self.slow.drain(..kept);
        }
    }

    /// What a calm beat takes, and how much that moves, in milliseconds; none where it is not known well enough.
    fn usual(&self) -> Option<(f64, f64)> {
        if self.calm.len() < CALM_MIN {
            return None;
        }
        let usual = median(self.calm.iter().map(|ms| f64::from(*ms)));
        let deviation = median(self.calm.iter().map(|ms| (f64::from(*ms) - usual).abs()));
        (usual > 0.0 && deviation <= NOISE_MAX * usual).then_some((usual, deviation))
    }
}

/// Whether beats, as multiples of what is usual, fall back to it soon rather than stay where they are.
fn falls_back(beats: &[f32]) -> bool {
    if beats.len() < FIT_MIN {
        return false;
    }
    let excess: Vec<f64> = beats.iter().map(|times| f64::from(*times) - 1.0).collect();
    let count = excess.len() as f64;
    let stays = median(excess.iter().copied());
    let criterion =
        |parameters: f64, deviation: f64| 2.0 * parameters + 2.0 * count * (deviation / count).max(DEVIATION_MIN).ln();
    let staying = criterion(2.0, excess.iter().map(|at| (at - stays).abs()).sum());
    let falling = TAUS.iter().map(|tau| {
        let shape: Vec<f64> = (0..excess.len()).map(|beat| (-(beat as f64) / tau).exp()).collect();
        let height = height(&excess, &shape);
        let deviation = excess.iter().zip(&shape).map(|(at, shape)| (at - height * shape).abs()).sum();
        (criterion(3.0, deviation), height, *tau)
    });
    let Some((best, height, tau)) = falling.min_by(|one, other| one.0.total_cmp(&other.0)) else { return false };
    let back_after = tau * (height / (SLOW - 1.0)).max(1.0).ln();
    height > 0.0 && staying - best > BETTER_BY && back_after <= BEATS_MAX as f64
}

/// How high a course of this shape begins, for least absolute deviations: the median of what each beat says of it, each
/// weighed by its shape.
fn height(excess: &[f64], shape: &[f64]) -> f64 {
    let mut said: Vec<(f64, f64)> = excess.iter().zip(shape).map(|(at, shape)| (at / shape, *shape)).collect();
    said.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let half = shape.iter().sum::<f64>() / 2.0;
    let mut weight = 0.0;
    let at_half = said.iter().find(|(_, shape)| {
        weight += shape;
        weight >= half
    });
    at_half.map_or(0.0, |(height, _)| *height)
}

/// The middle of some figures, the lower one of two; 0 of none.
fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    figures.len().checked_sub(1).map_or(0.0, |last| figures[last / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look drawn and are the same each time, about normal: 12 of a linear congruence added up.
    struct Noise(u64);

    impl Noise {
        fn next(&mut self) -> f64 {
            let mut uniform = || {
                self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (self.0 >> 11) as f64 / (1_u64 << 53) as f64
            };
            (0..12).map(|_| uniform()).sum::<f64>() - 6.0
        }
    }

    /// What is said on each beat of a course, after twenty usual ones of 100 ms with 5 % of noise.
    fn said(seed: u64, beats: usize, times: impl Fn(f64) -> f64) -> Vec<Trend> {
        let (mut noise, mut warm_up) = (Noise(seed), WarmUp::default());
        for _ in 0..20 {
            warm_up.take_beat(100.0 * (0.05 * noise.next()).exp());
        }
        let mut say = |beat: usize| {
            warm_up.take_beat(100.0 * times(beat as f64) * (0.05 * noise.next()).exp());
            warm_up.trend()
        };
        (0..beats).map(&mut say).collect()
    }

    #[test]
    fn warm_ups_and_steps_are_told_apart() {
        // Of 200 seeds each: how many were ever called a regression, and how many were so on the fifteenth beat.
        type Row<'r> = (&'r str, fn(f64) -> f64, [std::ops::RangeInclusive<usize>; 2]);
        let rows: [Row<'_>; 8] = [
            ("usual", |_| 1.0, [0..=0, 0..=0]),
            ("a warm-up of two beats", |beat| 1.0 + 9.0 * (-beat / 2.0).exp(), [0..=2, 0..=0]),
            ("one of four", |beat| 1.0 + 5.0 * (-beat / 4.0).exp(), [0..=2, 0..=2]),
            ("one of six", |beat| 1.0 + 5.0 * (-beat / 6.0).exp(), [0..=2, 0..=2]),
            ("twice as slow", |_| 2.0, [200..=200, 200..=200]),
            ("four times", |_| 4.0, [200..=200, 200..=200]),
            ("half as slow again", |_| 1.5, [190..=200, 190..=200]),
            ("slower and slower", |beat| 1.5 + beat / 10.0, [200..=200, 200..=200]),
        ];
        for (sentence, times, [ever, at_fifteen]) in rows {
            let courses: Vec<Vec<Trend>> = (0..200).map(|seed| said(seed, 25, times)).collect();
            let is_regressed = |course: &Trend| *course == Trend::Stays;
            let count = courses.iter().filter(|courses| courses.iter().any(is_regressed)).count();
            assert!(ever.contains(&count), "{sentence}: {count} of 200 ever called a regression");
            let count = courses.iter().filter(|courses| is_regressed(&courses[14])).count();
            assert!(at_fifteen.contains(&count), "{sentence}: {count} of 200 so on beat 15");
        }
    }

    #[test]
    fn it_says_nothing_of_what_it_does_not_know() {
        let after = |beats: &[f64]| {
            let mut warm_up = WarmUp::default();
            beats.iter().for_each(|ms| warm_up.take_beat(*ms));
            warm_up.trend()
        };
        let [steady, slow] = [[100.0; 20], [300.0; 20]];
        let noisy: Vec<f64> = [100.0, 130.0, 160.0].repeat(7);
        let rows: [(&str, &[&[f64]], Trend); 6] = [
            ("no beats", &[], Trend::Unsaid),
            ("slow from the first beat on: that is what is usual", &[&slow], Trend::Unsaid),
            ("what is usual is too noisy", &[&noisy, &slow], Trend::Unsaid),
            ("one beat that hiccups", &[&steady, &[900.0], &steady], Trend::Unsaid),
            ("a step", &[&steady, &slow], Trend::Stays),
            ("over when it is back", &[&steady, &slow, &[100.0; 3]], Trend::Unsaid),
        ];
        for (sentence, beats, course) in rows {
            assert_eq!(after(&beats.concat()), course, "{sentence}");
        }
        assert_eq!(after(&[&steady[..], &slow, &[100.0; 3], &steady, &slow].concat()), Trend::Stays, "and again");
    }
}

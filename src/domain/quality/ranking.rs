//! Lists of sources, and how alike two of them are (RETRIEVAL.md §3, check 5).
//!
//! Distinct sources are compared, never chunks: renumbered chunks are harmless. A source stands here as 32 bits, so that
//! a list takes 40 bytes at most: a fleet remembers two for each of its canaries.

use std::collections::BTreeSet;

/// Sources of a list that are compared; users read no further, and models hardly.
pub(crate) const DEPTH: usize = 10;
/// How far down a reader goes: the first ten ranks carry 86 % of the weight.
const PERSISTENCE: f64 = 0.9;

/// The first [`DEPTH`] distinct sources of an answer, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranking(Box<[u32]>);

impl Ranking {
    /// Of sources in the order of the answer; those without a name are left out, and a `#fragment` does not count.
    pub(crate) fn of<'s>(sources: impl Iterator<Item = &'s str>) -> Self {
        let mut distinct: Vec<u32> = Vec::new();
        for source in sources.filter(|source| !source.is_empty()).map(fingerprint) {
            if distinct.len() < DEPTH && !distinct.contains(&source) {
                distinct.push(source);
            }
        }
        Self(distinct.into())
    }

    /// Of sources by their [`fingerprint`]s, as [`Ranking::sources`] gave them; no more than are compared.
    pub fn of_sources(sources: impl IntoIterator<Item = u32>) -> Self {
        Self(sources.into_iter().take(DEPTH).collect())
    }

    /// Its sources by their [`fingerprint`]s, in order.
    pub fn sources(&self) -> &[u32] {
        &self.0
    }

    /// Whether it names no source.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first source, by its [`fingerprint`]; none where the list is empty.
    pub(crate) fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// Whether a source is in it, by its [`fingerprint`].
    pub(crate) fn holds(&self, source: u32) -> bool {
        self.0.contains(&source)
    }

    /// Rank-biased overlap, extrapolated (RBO_ext, p = .9), 0 to 1: how alike two lists are, the first ranks counting most.
    ///
    /// Webber, Moffat, Zobel: A similarity measure for indefinite rankings. ACM TOIS 28(4), 2010, equation 32, which takes
    /// lists of unequal lengths s ≤ l; X_d is the number of sources that the first d of both share:
    /// (1−p)/p · (Σ_{d=1..l} X_d/d · p^d + Σ_{d=s+1..l} X_s·(d−s)/(s·d) · p^d) + ((X_l − X_s)/l + X_s/s) · p^l.
    /// Two empty lists are alike; an empty one and another are not.
    pub(crate) fn rbo(&self, other: &Self) -> f64 {
        let (short, long) = if self.0.len() <= other.0.len() { (&self.0, &other.0) } else { (&other.0, &self.0) };
        if short.is_empty() {
            return if long.is_empty() { 1.0 } else { 0.0 };
        }
        let (s, l) = (short.len() as f64, long.len() as f64);
        let shared = |depth: usize| {
            let of_short = &short[..depth.min(short.len())];
            long[..depth].iter().filter(|source| of_short.contains(source)).count() as f64
        };
        let at_short = shared(short.len());
        let mut sum = 0.0;
        let mut weight = 1.0;
        for depth in 1..=long.len() {
            weight *= PERSISTENCE;
            let d = depth as f64;
            let beyond = if d > s { at_short * (d - s) / (s * d) } else { 0.0 };
            sum += (shared(depth) / d + beyond) * weight;
        }
        (1.0 - PERSISTENCE) / PERSISTENCE * sum + ((shared(long.len()) - at_short) / l + at_short / s) * weight
    }

    /// Shared sources ÷ all sources of both lists, 0 to 1, whatever their order (Jaccard@10); 1 for two empty ones.
    pub(crate) fn jaccard(&self, other: &Self) -> f64 {
        let shared = self.0.iter().filter(|source| other.holds(**source)).count();
        let all = self.0.iter().chain(&other.0).collect::<BTreeSet<_>>().len();
        if all == 0 { 1.0 } else { shared as f64 / all as f64 }
    }
}

/// The first distinct sources of a list by name, so many at most; those without a name are left out, and a `#fragment`
/// does not count.
pub(crate) fn distinct<'s>(sources: impl Iterator<Item = &'s str>, most: usize) -> Vec<&'s str> {
    let mut distinct: Vec<&str> = Vec::new();
    let names = sources.map(|source| source.split('#').next().unwrap_or(source));
    for name in names.filter(|name| !name.is_empty()) {
        if distinct.len() < most && !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// FNV-1a over a source's name without its `#fragment`: the same on every machine.
pub(crate) fn fingerprint(source: &str) -> u32 {
    let name = source.split('#').next().unwrap_or(source);
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(sources: &str) -> Ranking {
        Ranking::of(sources.split_whitespace())
    }

    #[test]
    fn lists_are_as_alike_as_the_formula_says() {
        // Two lists, their RBO_ext and their Jaccard, worked out by hand from the formula.
        let rows = [
            ("a b c", "a b c", 1.0, 1.0, "the same"),
            ("a b c", "d e f", 0.0, 0.0, "nothing shared"),
            ("", "", 1.0, 1.0, "nothing twice is the same"),
            ("", "a", 0.0, 0.0, "nothing is not something"),
            // d=1: 0; d=2: 2/2 · .81; (.1/.9)·.81 + .81.
            ("a b", "b a", 0.9, 1.0, "the first two swapped"),
            // X = 1 at each depth: (.1/.9)·(.9 + .81/2) + .81/2.
            ("a b", "a c", 0.55, 1.0 / 3.0, "only the first is kept"),
            // s = 1, l = 2, X = 1: (.1/.9)·(.9 + .81/2 + .81·1/2) + 1 · .81.
            ("a", "a b", 1.0, 0.5, "a list that is cut says nothing against the rest"),
            // s = 1, l = 2, X_1 = 0, X_2 = 1: (.1/.9)·(.81/2) + .81/2.
            ("b", "a b", 0.45, 0.5, "cut, and what is left stood second"),
            ("a#1 a#2 b", "a#3 b#9", 1.0, 1.0, "chunks that were renumbered"),
            ("a b c d e f g h i j k", "a b c d e f g h i j l", 1.0, 1.0, "beyond the tenth nobody looks"),
        ];
        for (one, other, rbo, jaccard, sentence) in rows {
            let (one, other) = (list(one), list(other));
            for (one, other) in [(&one, &other), (&other, &one)] {
                assert!((one.rbo(other) - rbo).abs() < 1e-12, "{sentence}: {}", one.rbo(other));
                assert!((one.jaccard(other) - jaccard).abs() < 1e-12, "{sentence}: {}", one.jaccard(other));
            }
        }
    }
}

//! Reciprocal rank fusion: two lists become one without their scores having to be compared.
//!
//! A chunk's final score is the sum of 1/(60 + rank) over the lists it stands in, ranks from 1
//! (Cormack, Clarke and Büttcher, 2009): first in both is 2/61, first in one is 1/61.

use std::collections::BTreeMap;

use crate::rag::store::scan::Near;

/// The constant of the published method.
pub const K: f64 = 60.0;

/// A chunk in the merged list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fused {
    /// The chunk's key.
    pub id: i64,
    /// Sum of reciprocal ranks.
    pub score: f64,
    /// Its rank in the vector arm, from 1; `None` where that arm did not bring it.
    pub near: Option<Near>,
}

/// Merges both arms; the best first, equal ones by key.
pub fn merge(keyword: &[i64], near: &[Near], k: f64) -> Vec<Fused> {
    let mut merged = BTreeMap::<i64, Fused>::new();
    for (rank, id) in (1_u32..).zip(keyword) {
        let entry = merged.entry(*id).or_insert(Fused { id: *id, score: 0.0, near: None });
        entry.score += 1.0 / (k + f64::from(rank));
    }
    for (rank, found) in (1_u32..).zip(near) {
        let entry = merged.entry(found.id).or_insert(Fused { id: found.id, score: 0.0, near: None });
        entry.score += 1.0 / (k + f64::from(rank));
        entry.near = Some(*found);
    }
    let mut list: Vec<Fused> = merged.into_values().collect();
    list.sort_by(|left, right| right.score.total_cmp(&left.score).then(left.id.cmp(&right.id)));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, keyword: &[i64], near: &[i64], expected: &[(i64, f64)]) {
        let near: Vec<Near> = near.iter().map(|id| Near { id: *id, cosine: 0.5 }).collect();
        let got: Vec<(i64, f64)> = merge(keyword, &near, K).iter().map(|fused| (fused.id, fused.score)).collect();
        assert_eq!(got, expected, "{says}");
    }

    #[test]
    fn lists_merge() {
        check("nothing and nothing", &[], &[], &[]);
        check("first in both", &[7], &[7], &[(7, 2.0 / 61.0)]);
        check("first in one", &[7], &[], &[(7, 1.0 / 61.0)]);
        check("a tie goes to the smaller key", &[9], &[4], &[(4, 1.0 / 61.0), (9, 1.0 / 61.0)]);
        check(
            "second in both beats first in one",
            &[1, 2],
            &[3, 2],
            &[(2, 2.0 / 62.0), (1, 1.0 / 61.0), (3, 1.0 / 61.0)],
        );
    }
}

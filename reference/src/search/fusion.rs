//! Reciprocal rank fusion: several lists become one without their scores having to be compared.
//!
//! The sum of 1 / (k + rank) over the lists, ranks from 1 (Cormack, Clarke and Büttcher, 2009, with k = 60). A small k keeps
//! their heads: with 60, on documents of others, it was hardly better than words alone.

use std::collections::BTreeMap;

/// The constant.
pub const K: f64 = 3.0;
/// The first rank of the published method.
pub const FIRST_RANK: u32 = 1;

/// Merges ranked lists; the best first. Of equal ones that of the earlier list, then in their own order: with the keyword
/// retriever's list first, a chunk that alone holds a code is not behind whatever is near to a code in meaning.
pub fn merge<T: Ord>(lists: Vec<Vec<T>>, k: f64, first_rank: u32) -> Vec<(T, f64)> {
    let mut merged = BTreeMap::<T, (f64, usize)>::new();
    for (place, list) in lists.into_iter().enumerate() {
        for (rank, one) in (first_rank..).zip(list) {
            merged.entry(one).or_insert((0.0, place)).0 += 1.0 / (k + f64::from(rank));
        }
    }
    let mut list: Vec<(T, (f64, usize))> = merged.into_iter().collect();
    list.sort_by(|(left, (worth, from)), (right, (other, beside))| {
        other.total_cmp(worth).then_with(|| (from, left).cmp(&(beside, right)))
    });
    list.into_iter().map(|(one, (worth, _))| (one, worth)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, keyword: &[i64], near: &[i64], expected: &[(i64, f64)]) {
        let got = merge(vec![keyword.to_vec(), near.to_vec()], K, FIRST_RANK);
        assert_eq!(got, expected, "{says}");
    }

    #[test]
    fn lists_merge() {
        check("nothing and nothing", &[], &[], &[]);
        check("first in both", &[7], &[7], &[(7, 2.0 / 4.0)]);
        check("first in one", &[7], &[], &[(7, 1.0 / 4.0)]);
        check("a tie goes to the words", &[9], &[4], &[(9, 1.0 / 4.0), (4, 1.0 / 4.0)]);
        check("second in both beats first in one", &[1, 2], &[3, 2], &[(2, 2.0 / 5.0), (1, 1.0 / 4.0), (3, 1.0 / 4.0)]);
    }
}

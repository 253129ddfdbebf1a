//! Cosine and BM25 together, for the weights that they were fitted to: on documents of others a better order than any
//! fusion of ranks, and than either retriever.

use crate::search::asked::Asked;
use crate::search::question::RetrievalError;
use crate::store::contract::Connection;
use crate::store::records::ChunkPlace;

/// The revision of all-MiniLM-L6-v2, as the folder embedder tells it.
pub const REVISION: &str = "73dc9043b614471d-mean";
/// What BM25 counts beside the cosine.
const BM25_WEIGHT: f64 = 0.04;

/// Candidates in the order of their worth, each with the most it has for one of the questions; those that are worth the same
/// by place.
///
/// # Errors
/// The store's.
pub async fn by_worth(
    connection: &mut dyn Connection,
    asked: &[Asked<'_>],
    mut places: Vec<ChunkPlace>,
) -> Result<Vec<(i64, f64)>, RetrievalError> {
    places.sort_unstable();
    places.dedup();
    let ids: Vec<i64> = places.iter().map(|place| place.id).collect();
    let mut worth = vec![0.0_f64; ids.len()];
    for one in asked {
        let cosines = connection.cosines(one.vector, &ids).await?;
        for (id, worth) in ids.iter().zip(&mut worth) {
            *worth = worth.max(self::worth(cosines.get(id), one.bm25(*id)));
        }
    }
    let mut list: Vec<(i64, f64)> = ids.into_iter().zip(worth).collect();
    list.sort_by(|left, right| right.1.total_cmp(&left.1));
    Ok(list)
}

fn worth(cosine: Option<&f32>, bm25: f64) -> f64 {
    f64::from(cosine.copied().unwrap_or(0.0)) + BM25_WEIGHT * bm25
}

/// The logits of the chance that chunks answer, in their order.
///
/// # Errors
/// The store's.
pub async fn logits(
    connection: &mut dyn Connection,
    asked: &Asked<'_>,
    ids: &[i64],
) -> Result<Vec<f64>, RetrievalError> {
    let cosines = connection.cosines(asked.vector, ids).await?;
    let of = |id: &i64| -6.54 + 5.86 * worth(cosines.get(id), asked.bm25(*id));
    Ok(ids.iter().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_name_outweighs_what_is_near() {
        let near = worth(Some(&0.55), 0.0);
        assert!(worth(Some(&0.10), 15.0) > near, "a name that stands there");
        assert!(worth(Some(&0.10), 4.0) < near, "a word that stands everywhere");
    }
}

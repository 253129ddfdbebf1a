//! What the score of a hit says: the chance that it answers.
//!
//! Fitted by logistic regression on the tuning halves of `bench/others`, each corpus in turn held back; how often it is
//! right is in `docs/reference-server.md`. It is of question and chunk alone, however many hits are wanted.

use crate::embed::Model;
use crate::search::asked::Asked;
use crate::search::question::RetrievalError;
#[cfg(feature = "local-models")]
use crate::search::worth;
use crate::store::contract::Connection;
use crate::store::records::Holding;
use crate::text::terms;

/// By what a score is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// By words alone.
    Words,
    /// By words and the cosine of weights that were fitted to.
    Weights,
    /// The cosine itself, of a model that nothing was fitted to.
    Cosine,
}

impl Scale {
    /// The scale of a model's scores.
    pub fn of(model: &Model) -> Self {
        match model.dimensions {
            0 => Self::Words,
            #[cfg(feature = "local-models")]
            _ if model.revision == worth::REVISION => Self::Weights,
            _ => Self::Cosine,
        }
    }
}

/// The scores of candidates, 0 to 1, in their order.
///
/// # Errors
/// The store's.
pub async fn scores(
    connection: &mut dyn Connection,
    scale: Scale,
    asked: &Asked<'_>,
    fused: &[(i64, f64)],
) -> Result<Vec<f64>, RetrievalError> {
    let ids: Vec<i64> = fused.iter().map(|(id, _)| *id).collect();
    if scale == Scale::Words {
        let holding = connection.holding(&terms::of(asked.question), &ids).await?;
        let of =
            |id: &i64| chance(-10.91 + 3.02 * asked.bm25(*id, holding.chunks).ln_1p() + 4.11 * covered(&holding, *id));
        return Ok(ids.iter().map(of).collect());
    }
    #[cfg(feature = "local-models")]
    if scale == Scale::Weights {
        return Ok(worth::logits(connection, asked, &ids).await?.into_iter().map(chance).collect());
    }
    let cosines = connection.cosines(asked.vector, &ids).await?;
    Ok(ids.iter().map(|id| f64::from(cosines.get(id).copied().unwrap_or(0.0))).collect())
}

fn chance(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

/// How much of a question a chunk holds: the share of its terms, each by how rare it is.
fn covered(holding: &Holding, id: i64) -> f64 {
    let weight = |holders: i64| {
        let (all, holders) = (holding.chunks as f64, holders as f64);
        (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln()
    };
    let whole: f64 = holding.terms.iter().map(|term| weight(term.chunks)).sum();
    let held = holding.terms.iter().filter(|term| term.ids.contains(&id));
    if whole > 0.0 { held.map(|term| weight(term.chunks)).sum::<f64>() / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::records::Holders;

    fn holding(chunks: i64, terms: &[(i64, &[i64])]) -> Holding {
        let holders = |(chunks, ids): &(i64, &[i64])| Holders { chunks: *chunks, ids: ids.to_vec() };
        Holding { chunks, terms: terms.iter().map(holders).collect() }
    }

    #[test]
    fn a_rare_word_covers_more_of_a_question() {
        let held = holding(1_000, &[(900, &[1]), (2, &[2]), (0, &[])]);
        assert!(covered(&held, 2) > covered(&held, 1) && covered(&held, 2) < 0.6, "one word stands nowhere");
        assert_eq!((covered(&held, 3), covered(&holding(5, &[]), 1)), (0.0, 0.0), "nothing held, nothing asked");
        assert!((covered(&holding(10, &[(1, &[7])]), 7) - 1.0).abs() < 1e-9, "all of it");
    }
}

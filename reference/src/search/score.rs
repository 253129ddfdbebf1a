//! What the score of a hit says: the chance that it answers.
//!
//! Fitted by logistic regression on the tuning halves of `bench/others`, whole and in parts of 8 chunks on, each corpus in
//! turn held back; how often it is right is in `docs/reference-server.md`. It is of question and chunk alone, however many hits are wanted.

use crate::embed::Model;
use crate::search::asked::Asked;
use crate::search::question::RetrievalError;
#[cfg(feature = "local-models")]
use crate::search::worth;
use crate::store::contract::Connection;

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
        let of = |id: &i64| chance(-13.75 + 3.81 * asked.bm25(*id).ln_1p() + 5.04 * asked.covered(*id));
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
